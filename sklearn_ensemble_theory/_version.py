"""The version of the package, and of what it runs on."""

__version__ = "0.1.0.dev0"
# Where the site of `docs` is published.
DOCUMENTATION = "https://sklearn-ensemble-theory.github.io/sklearn-ensemble-theory"

# What the reference lists; setuptools reads __version__ without importing this file.
__all__ = ["show_versions"]


def show_versions() -> None:
    """Print the versions of the package and of its dependencies, and how its loops are run.

    The output belongs in a bug report. Its last line says whether the loops over all rows are
    compiled by numba, an optional dependency, or run in NumPy and scikit-learn, and why. Both give
    the same results up to rounding and ties; compiled loops are faster.

    Returns
    -------
    None
        The text is printed.

    Notes
    -----
    Imports numba where it is installed, in about 0.3 s. numba is not imported where the environment
    variable ``SKLEARN_ENSEMBLE_THEORY_NUMBA`` is 0, which switches compilation off.

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
                      numba: ...
                      loops: ...
    """
    import importlib.metadata
    import platform

    from sklearn_ensemble_theory._hot_loops.compilation import why_not_compiled

    lines = {
        "sklearn_ensemble_theory": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "numba"):
        try:
            lines[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            lines[name] = "not installed"
    reason = why_not_compiled()
    lines["loops"] = f"NumPy and scikit-learn ({reason})" if reason else "compiled by numba"
    width = max(map(len, lines))
    print("\n".join(f"{name.rjust(width)}: {text}" for name, text in lines.items()))
