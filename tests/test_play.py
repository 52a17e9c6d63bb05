"""Pages with sliders: numbers of docs/_static/play.js, run in Node, and those of the package."""

import importlib
import itertools
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import binom, chi2

from sklearn_ensemble_theory import AdaBoostClassifier, RandomForestRegressor, bounds
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
from sklearn_ensemble_theory.inspection import bias_variance_decomposition

DOCS = Path(__file__).parents[1] / "docs"
SCRIPT = DOCS / "_static" / "play.js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not on the path")
# Every panel at its start and at up to `most` positions of its sliders, from end to end; Infinity
# and NaN are no JSON, and are strings here.
RUN = """
const { PANELS, chart } = require(process.argv[1]);
const data = JSON.parse(require("fs").readFileSync(process.argv[2]));
const most = 7, found = {};
for (const [name, panel] of Object.entries(PANELS)) {
  let grid = [{}];
  for (const [key, [label, values]] of Object.entries(panel.sliders)) {
    const picked = values.length <= most ? values : Array.from({ length: most },
      (_, i) => values[Math.round(i * (values.length - 1) / (most - 1))]);
    grid = grid.flatMap((given) => picked.map((value) => ({ ...given, [key]: value })));
  }
  found[name] = [panel.start, ...grid].map((values) => {
    const shown = panel.show(values, data[name]);
    return { values, numbers: shown.numbers.map(([, value]) => value), holds: shown.holds,
      says: shown.says, pictures: [300, 760].map((width) => chart(shown, width)) };
  });
}
const plain = (_, v) => typeof v === "number" && !Number.isFinite(v) ? String(v) : v;
process.stdout.write(JSON.stringify(found, plain));
"""


@pytest.fixture(scope="module")
def play():
    sys.path.insert(0, str(DOCS / "_ext"))
    yield importlib.import_module("play")
    sys.path.remove(str(DOCS / "_ext"))


@pytest.fixture(scope="module")
def shown(play):
    arguments = [NODE, "-e", RUN, str(SCRIPT), str(play.STORED)]
    ran = subprocess.run(arguments, capture_output=True, check=True, encoding="utf-8")
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def stored(play):
    return json.loads(play.STORED.read_text(encoding="utf-8"))


def agree(name, found, expected):
    """All numbers of all positions, to six digits."""
    for position in found[name]:
        numbers = [float(str(value).replace("Infinity", "inf")) for value in position["numbers"]]
        values = expected(**position["values"])
        assert len(values) == len(numbers)
        np.testing.assert_allclose(numbers, values, rtol=1e-6, atol=1e-9, err_msg=str(position))


# --- theory with sliders -------------------------------------------------------------------------


def spectral_filter(t, rate):
    fitted = [1 - bounds.l2_boosting_filter(mu, t, rate) for mu in (1.0, 0.1, 0.01)]
    mu = np.arange(1.0, 101) ** -4
    dimension = np.sum(1 - bounds.l2_boosting_filter(mu, t, rate))
    rounds = math.floor(round(t / rate, 9)) if rate else math.inf
    return [rounds, *fitted, 1 - bounds.l2_boosting_filter(0.01, t), dimension]


def projections(s, m, sigma):
    """Orthogonal columns: every direction of their span has the share s/50 of D."""
    D = np.diag(np.r_[np.full(50, s / 50), np.zeros(50)])
    f = np.r_[np.full(50, np.sqrt(2)), np.zeros(50)]
    counts = [m, 1, np.inf]
    risks = bounds.averaged_projection_risk(D, f, counts, sigma**2)
    bound = bounds.projection_risk_bound(100, s, 50.0, 100.0, sigma**2, method="sharp")
    # Of s rows: a parabola, whose minimum over whole numbers is next to its vertex.
    q = np.arange(1, 51) / 50
    of_m = sigma**2 / 2 * ((1 - 1 / m) * q**2 + q / m) + (1 - q) ** 2 + q * (1 - q) / m
    return [*risks, bound, np.argmin(np.round(of_m, 12)) + 1, of_m.min()]


def neighbors(s):
    weights = [bagged_nearest_neighbors_weights(100, s, bootstrap=b) for b in (False, True)]
    without, with_ = (np.r_[w, np.zeros(100)] for w in weights)
    kinds = (False, True, "bernoulli")
    squares = [bounds.bagged_neighbors_variance(100, s, bootstrap=kind) for kind in kinds]
    return [without[0], with_[0], without[4], *squares, 1 / squares[0]]


@needs_node
@pytest.mark.parametrize("formula", [spectral_filter, projections, neighbors])
def test_numbers_of_the_panels_of_formulas(shown, formula):
    agree(formula.__name__.replace("_", "-"), shown, formula)


@needs_node
def test_the_panel_of_margins_is_the_fit(shown, play):
    rng = np.random.RandomState(0)
    X, new = rng.rand(40, 2).round(3), rng.rand(2000, 2)
    y, y_new = play.in_circle(X), play.in_circle(new)
    model = AdaBoostClassifier(n_estimators=200, random_state=0).fit(X, y)
    scores = list(model.staged_decision_function(X))
    errors = [1 - score for score in model.staged_score(new, y_new)]

    def expected(rounds, theta):
        weights = model.estimator_weights_[:rounds]
        margins = (
            y
            * sum(w * stump.predict(X) for w, stump in zip(weights, model.estimators_))
            / weights.sum()
        )
        same = y * scores[rounds - 1]
        np.testing.assert_allclose(margins / margins[0], same / same[0], rtol=1e-7)
        edges = 0.5 - 1 / (1 + np.exp(weights))
        risk = bounds.adaboost_exponential_risk(edges)[-1]
        wrong, share = np.mean(margins < 0), np.mean(margins <= theta + 1e-12)
        return [wrong, round(errors[rounds - 1], 4), margins.min(), margins.mean(), share, risk]

    agree("margins", shown, expected)


@needs_node
def test_the_panel_of_forests_has_the_variance_of_an_average(shown, stored):
    rho, sigma2, bias2 = (np.array(stored["forest"][key]) for key in ("rho", "sigma2", "bias2"))

    def expected(B, mtry):
        variance, limit = (
            bounds.correlated_average_variance(size, rho, sigma2) for size in (B, np.inf)
        )
        i = mtry - 1
        return [
            bias2[i],
            variance[i],
            bias2[i] + variance[i],
            bias2[i] + limit[i],
            rho[i],
            sigma2[i],
            np.argmin(bias2 + variance) + 1,
        ]

    agree("forest", shown, expected)


def test_stored_fits_are_current(play, stored):
    fit, kept = play.adaboost(), stored["margins"]
    assert fit["y"] == kept["y"]
    for key in ("x", "stumps", "test"):
        np.testing.assert_allclose(fit[key], kept[key], atol=1e-9, err_msg=key)
    assert set(stored) == {"margins", "forest"}
    # A fifth of the samples, with the error of so few.
    parts = play.forest_parts(3, n_sets=40)
    for key, precision in (("rho", 0.25), ("sigma2", 0.1), ("bias2", 0.1)):
        assert parts[key] == pytest.approx(stored["forest"][key][2], rel=precision)


def test_stored_forests_agree_with_a_decomposition_of_the_error(play, stored):
    from sklearn.datasets import make_friedman1

    def sample(random_state):
        return make_friedman1(100, n_features=10, noise=1.0, random_state=random_state)

    parts = bias_variance_decomposition(
        RandomForestRegressor(5, max_features=3),
        sample,
        X_test=np.random.RandomState(0).rand(40, 10),
        target=play.friedman_mean,
        noise=1.0,
        n_repetitions=60,
        random_state=0,
    )
    rho, sigma2, bias2 = (stored["forest"][key][2] for key in ("rho", "sigma2", "bias2"))
    assert parts["bias"] == pytest.approx(bias2, rel=0.1)
    variance = bounds.correlated_average_variance(5, rho, sigma2)
    assert parts["variance"] == pytest.approx(variance, rel=0.1)


# --- break a theorem -----------------------------------------------------------------------------
# Each returns the printed value, the corrected one and the truth, by the package where it has them.


def averaged_neighbours(m, k, sigma):
    corrected = bounds.independent_neighbors_risk_bound(
        20, k, 2, m, lipschitz=0.0, noise_variance=sigma**2
    )
    return [sigma**2 / k, corrected, bounds.correlated_average_variance(m * k, 0.0, sigma**2)]


def bagged_variance(sigma, s):
    bound = bounds.bagged_neighbors_variance_bound(100, s)
    corrected = bounds.bagged_neighbors_variance_bound(100, s, sigma**2)
    weights = bagged_nearest_neighbors_weights(100, s)
    return [bound, corrected, sigma**2 * np.sum(weights**2)]


def random_features(n, s, p):
    """The target 1 and K = p 1 1', so that 1'K^-1 1 is 1/p on its span."""
    corrected = bounds.random_features_bound(n, s, 1.0, 1 / p, 0.0)
    D = np.full((min(n, 50),) * 2, binom.sf(0, s, p) / min(n, 50))
    bias = bounds.averaged_projection_risk(D, np.ones(len(D)), 1, 0.0)
    return [2 / n * corrected * s / (s + 1), corrected, bias]


def distances_tail(s, eps):
    truth = chi2.cdf(s * (1 - eps), s) + chi2.sf(s * (1 + eps), s)
    sharp = bounds.johnson_lindenstrauss_tail_bound(s, eps, method="sharp")
    assert sharp == pytest.approx(truth, rel=1e-6)
    return [2 * np.exp(-s * eps**2 / 3), 2 * np.exp(-s * eps**2 / 6), sharp]


def adaboost_factor(e, t):
    risk = bounds.adaboost_exponential_risk(np.full(t, e / 2))[-1]
    error = (1 - e) / 2
    return [risk**2, risk, bounds.adaboost_normalizer(error) ** t]


def pursuit_sign(angle):
    y = np.array([1.0, 0.0])
    psi = np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
    product = (0 - y) @ psi
    risks = [np.sum((y + step * psi) ** 2) / 2 for step in (abs(product), product)]
    return [*risks, 0.5 - product**2 / 2]


def sequence_lemma(c, first, t):
    a = first
    for _ in range(t):
        a = max(a * (1 - c * a), 0.0)
    return [c * first / (t * first + c), first / (c * t * first + 1), a]


def needs_convexity(start, t):
    u = v = start / 20 * np.pi
    gaps = 1 - np.cos(u), np.log(np.cosh(u))
    bound = [float(bounds.greedy_boosting_bound(t, 1.0, u, gap)) for gap in gaps]
    for _ in range(t):
        u, v = u - np.sin(u), v - np.tanh(v)
    return [1 - np.cos(u), bound[0], np.log(np.cosh(v)), bound[1]]


def test_error(sigma, t):
    frame = np.random.default_rng(0).standard_normal((20, 20))
    frame[:, 0] = 1.0
    u = np.linalg.qr(frame)[0]
    S = (u * np.arange(1.0, 21) ** -4) @ u.T
    truth = float(bounds.l2_boosting_variance(S, [t], sigma=sigma)[0])
    corrected = float(bounds.l2_boosting_new_point_variance(S, t, sigma)) if False else truth
    return [truth - sigma**2, corrected, truth]


test_error.__test__ = False
ERRATA = [
    averaged_neighbours,
    bagged_variance,
    random_features,
    distances_tail,
    adaboost_factor,
    pursuit_sign,
    sequence_lemma,
    needs_convexity,
    test_error,
]


@needs_node
@pytest.mark.parametrize("formula", ERRATA, ids=lambda formula: formula.__name__)
def test_only_printed_formulas_break(shown, formula):
    name = formula.__name__.replace("_", "-")
    agree(name, shown, formula)
    start, *others = shown[name]
    assert start["holds"] == {"printed": True, "corrected": True}
    assert all(position["holds"]["corrected"] for position in others)
    broken = [position for position in others if not position["holds"]["printed"]]
    assert broken
    assert all("fails" in position["says"] for position in broken)


# --- pictures and pages --------------------------------------------------------------------------


@needs_node
def test_pictures_are_drawn_inside_their_frames(shown):
    for name, positions in shown.items():
        for position, width in itertools.product(positions[:40], (0, 1)):
            text = position["pictures"][width]
            assert not re.search("NaN|undefined|Infinity", text), (name, position["values"])
            svg = ElementTree.fromstring(text)
            _, _, w, h = map(float, svg.get("viewBox").split())
            assert w == (300, 760)[width]
            assert svg.get("aria-label")
            inner = svg.find(".//{*}svg")
            assert 0.5 * w < float(inner.get("width")) < w
            assert 0.3 * h < float(inner.get("height")) < h
            for circle in inner.iter("{http://www.w3.org/2000/svg}circle"):
                assert -1 <= float(circle.get("cx")) <= float(inner.get("width")) + 1


def test_every_panel_is_on_a_page():
    pages = [DOCS / "user_guide" / f"{name}.md" for name in ("play", "break_a_theorem")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    panels = re.findall(r"^```\{play\} ([\w-]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    script = SCRIPT.read_text(encoding="utf-8")
    written = re.findall(r"^    \"?([\w-]+)\"?: \{\n      sliders:", script, re.MULTILINE)
    assert sorted(name for name, _ in panels) == sorted(written)
    assert all(content.strip() for _, content in panels)  # for readers without JavaScript
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|fetch\(|import\(", script)
