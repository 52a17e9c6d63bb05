"""The searches for a stump, as tests choose them."""

from sklearn_ensemble_theory.erm._stumps import stump_rounds


def without_side_search(monkeypatch):
    """Let stumps be searched by masses, as with more bins than the search by sides has."""
    monkeypatch.setattr(stump_rounds, "side_index", lambda *given: None)
