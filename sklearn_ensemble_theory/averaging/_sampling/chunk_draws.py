"""What stands for the training rows and their draws after a fit of Dask collections."""

from typing import NoReturn

__all__ = ["RowsInChunks", "RowsNotKeptError"]


class RowsNotKeptError(ValueError, AttributeError):
    """The rows are needed; an AttributeError too, so that properties of them count as absent."""


class RowsInChunks:
    """In place of a `SamplingScheme` or of `TrainingRows`: every use is an error."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # such as those that copies and pickles ask for
            raise AttributeError(name)
        raise RowsNotKeptError(
            "This requires the training rows and the draws of the members, which a fit of Dask "
            "collections does not keep: there are no out-of-bag predictions, standard errors, "
            "intervals or importances of training rows. Fit arrays in memory for them."
        )
