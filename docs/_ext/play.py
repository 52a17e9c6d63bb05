"""Pages with sliders: the directive `play`, and the numbers of fits that two panels read.

    ```{play} spectral-filter
    What a reader without JavaScript reads instead.
    ```

The panels are in docs/_static/play.js, which only pages with a panel load. What follows from a
formula is computed there. `play.json` has the rest: the stumps of an AdaBoost fit, and the
variances and biases of forests. Run `python docs/_ext/play.py` after a change of `stored`; it takes
a minute.
"""

import json
from pathlib import Path

import numpy as np

STORED = Path(__file__).with_suffix(".json")
N_ROUNDS, N_SETS, N_TREES = 200, 200, 16


def in_circle(X):
    return np.where(((X - 0.5) ** 2).sum(axis=1) < 0.12, 1, -1)


def adaboost():
    """The rows, the stumps and the error on new rows of AdaBoost, which the panel `margins` reads.

    A stump is (feature, threshold, label up to it, half of the log-odds of its error). JSON has no
    infinity: the threshold of a constant is 2, as all features are at most 1.
    """
    from sklearn_ensemble_theory import AdaBoostClassifier

    rng = np.random.RandomState(0)
    X, new = rng.rand(40, 2).round(3), rng.rand(2000, 2)
    y = in_circle(X)
    model = AdaBoostClassifier(n_estimators=N_ROUNDS, random_state=0).fit(X, y)
    stumps = [
        [s.feature_, round(min(s.threshold_, 2.0), 6), 2 * s.left_class_ - 1, round(w / 2, 10)]
        for s, w in zip(model.estimators_, model.estimator_weights_.tolist())
    ]
    test = [round(1 - score, 4) for score in model.staged_score(new, in_circle(new))]
    return {"x": X.tolist(), "y": y.tolist(), "stumps": stumps, "test": test}


def friedman_mean(X):
    waves = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return waves + 10 * X[:, 3] + 5 * X[:, 4]


def forest_parts(max_features, n_sets=N_SETS):
    """Correlation and variance of trees, and the squared bias, on average over 40 points."""
    from sklearn.datasets import make_friedman1

    from sklearn_ensemble_theory import RandomForestRegressor

    points = np.random.RandomState(0).rand(40, 10)
    predicted = np.empty((n_sets, N_TREES, len(points)))
    for seed in range(n_sets):
        X, y = make_friedman1(100, n_features=10, noise=1.0, random_state=seed)
        forest = RandomForestRegressor(N_TREES, max_features=max_features, random_state=seed)
        forest.fit(X, y)
        predicted[seed] = [tree.predict(points) for tree in forest.estimators_]
    mean = predicted.mean(axis=(0, 1))
    of_sets = predicted.sum(axis=1) - N_TREES * mean
    of_trees = np.sum((predicted - mean) ** 2, axis=1)
    sigma2 = of_trees.sum(axis=0).mean() / (n_sets - 1) / N_TREES
    pairs = (of_sets**2 - of_trees).sum(axis=0).mean()
    pairs /= (n_sets - 1) * N_TREES * (N_TREES - 1)
    of_mean = (of_sets**2).sum(axis=0).mean() / N_TREES**2 / (n_sets - 1) / n_sets
    bias2 = np.mean((mean - friedman_mean(points)) ** 2) - of_mean
    return {"rho": pairs / sigma2, "sigma2": sigma2, "bias2": bias2}


def stored():
    parts = [forest_parts(max_features) for max_features in range(1, 11)]
    forest = {key: [round(float(part[key]), 5) for part in parts] for key in parts[0]}
    return {"margins": adaboost(), "forest": forest}


def directive():
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Play(SphinxDirective):
        """A panel of docs/_static/play.js; the content is for readers without JavaScript."""

        required_arguments = 1
        has_content = True

        def run(self):
            name = self.arguments[0]
            data = json.loads(STORED.read_text(encoding="utf-8")).get(name)
            self.env.note_dependency(str(STORED))
            opening = f'<div class="play" data-panel="{name}" role="group" aria-label="{name}">'
            if data:
                text = json.dumps(data, separators=(",", ":"))
                opening += f'<script type="application/json">{text}</script>'
            without = nodes.container(classes=["play-without"])
            without += self.parse_content_to_nodes()
            start, end = (nodes.raw("", text, format="html") for text in (opening, "</div>"))
            return [start, without, end]

    return Play


def load_script(app, page, template, context, doctree):
    if doctree is not None and '<div class="play"' in context.get("body", ""):
        app.add_js_file("play.js", loading_method="defer")


def setup(app):
    app.add_directive("play", directive())
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    text = json.dumps(stored(), separators=(",", ":"), allow_nan=False)
    STORED.write_text(f"{text}\n", encoding="utf-8")
