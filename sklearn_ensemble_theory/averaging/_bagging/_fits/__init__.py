"""The fit of all members: in memory, and where the chunks of Dask collections are."""
