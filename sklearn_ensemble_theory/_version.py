"""The version of the package, and of what it runs on."""

__version__ = "0.1.0.dev0"
# Where the site of `docs` is published.
DOCUMENTATION = "https://sklearn-ensemble-theory.github.io/sklearn-ensemble-theory"

# What the reference lists; setuptools reads __version__ without importing this file.
__all__ = ["show_versions"]


def show_versions() -> None:
    """Print the versions of the package and of its dependencies, and which route its loops take.

    The output belongs in a bug report. Its last line says whether the loops over all rows run in
    code that was compiled when the package was installed, or in NumPy and scikit-learn, and why.
    Both give the same results up to rounding and ties; compiled code is faster.

    Returns
    -------
    None
        The text is printed.

    Notes
    -----
    The environment variable ``SKLEARN_ENSEMBLE_THEORY_NATIVE=0``, set before Python starts,
    switches compiled code off. ``sklearn_ensemble_theory.native_code`` is its name, or None.

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
                      loops: ...
    """
    import importlib.metadata
    import platform

    from sklearn_ensemble_theory._native import native_code, why_not_native

    lines = {
        "sklearn_ensemble_theory": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }
    for name in ("numpy", "scipy", "scikit-learn", "joblib"):
        lines[name] = importlib.metadata.version(name)
    reason = why_not_native()
    compiled = f"compiled ({native_code})"
    lines["loops"] = f"NumPy and scikit-learn: {reason}" if reason else compiled
    width = max(map(len, lines))
    print("\n".join(f"{name.rjust(width)}: {text}" for name, text in lines.items()))
