"""The public trees, and their use as weak learners and as members of ensembles."""
