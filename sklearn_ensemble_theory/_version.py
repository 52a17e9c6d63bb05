"""The version of the package, and of what it runs on."""

__version__ = "0.1.0.dev0"
# Where the site of `docs` is published.
DOCUMENTATION = "https://sklearn-ensemble-theory.github.io/sklearn-ensemble-theory"

# What the reference lists; setuptools reads __version__ without importing this file.
__all__ = ["show_versions"]


def show_versions() -> None:
    """Print the versions of the package and of its dependencies, for a bug report.

    Returns
    -------
    None
        The text is printed.

    Examples
    --------
    >>> from sklearn_ensemble_theory import show_versions
    >>> show_versions()  # doctest: +ELLIPSIS
    sklearn_ensemble_theory: ...
                     python: ...
                      numpy: ...
                      scipy: ...
               scikit-learn: ...
                     joblib: ...
    """
    import importlib.metadata
    import platform

    lines = {
        "sklearn_ensemble_theory": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }
    for name in ("numpy", "scipy", "scikit-learn", "joblib"):
        lines[name] = importlib.metadata.version(name)
    width = max(map(len, lines))
    print("\n".join(f"{name.rjust(width)}: {text}" for name, text in lines.items()))
