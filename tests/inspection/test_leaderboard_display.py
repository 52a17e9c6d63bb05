"""The leaderboard draws what the model has kept of its members."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    StackingClassifier,
    StackingRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
)
from sklearn_ensemble_theory.combining import BestMember
from sklearn_ensemble_theory.inspection import LeaderboardDisplay

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3))
Y = X[:, 0] + np.abs(X[:, 1]) + 0.3 * RNG.standard_normal(150)
LABELS = np.where(np.median(Y) < Y, "big", "small")
MEMBERS = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=3))]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def names_of(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def column(display, end):
    """The texts of a column beside the axes, from the top to the bottom."""
    texts = [each for each in display.ax_.texts if each.xyann == (end, 0)]
    return [each.get_text() for each in sorted(texts, key=lambda each: each.xy[1])]


@pytest.mark.parametrize("cls", [SuperLearnerRegressor, SuperLearnerClassifier])
def test_points_are_the_leaderboard(cls):
    y = LABELS if cls is SuperLearnerClassifier else Y
    model = cls(["linear", "additive", "neighbors"], random_state=0).fit(X, y)
    display = LeaderboardDisplay.from_estimator(model)
    board = model.leaderboard_
    assert names_of(display) == board["name"].tolist()
    at, places = display.points_.get_offsets().T
    np.testing.assert_array_equal(at, board["loss"])
    np.testing.assert_array_equal(places, [0, 1, 2])
    top, bottom = display.ax_.get_ylim()
    assert top > bottom  # the best one is at the top
    ends = np.array([segment[:, 0] for segment in display.errors_.get_segments()])
    np.testing.assert_allclose(ends.mean(axis=1), board["loss"], rtol=1e-12)
    half = np.diff(ends)[:, 0] / 2
    np.testing.assert_allclose(half, board["standard_error"], rtol=1e-9)
    head, *weights = column(display, 44)
    assert head == "weight"
    np.testing.assert_allclose([float(x) for x in weights], board["weight"], rtol=0, atol=0.005)
    head, *seconds = column(display, 92)
    assert head == "seconds"
    step = board["seconds"].max() / 100  # three digits of the largest
    np.testing.assert_allclose([float(x) for x in seconds], board["seconds"], rtol=0, atol=step)
    (line,) = (each for each in display.ax_.lines if each.get_label() == "combination")
    assert line.get_xdata()[0] == model.held_out_loss_
    # Members that are not asked are grey.
    colors = display.points_.get_facecolors()
    used = board["weight"] > 0
    for mask in (used, ~used):
        assert len(np.unique(colors[mask], axis=0)) <= 1
    if used.any() and not used.all():
        assert (colors[used][0] != colors[~used][0]).any()


def test_title_says_what_the_combination_gains():
    board = {
        "name": ["best", "worst"],
        "loss": np.array([2.0, 3.0]),
        "standard_error": np.array([0.1, 0.2]),
        "weight": np.array([1.0, 0.0]),
    }
    _, ax = plt.subplots()
    cases = {
        1.9: "The combination loses 5.0 % less\nthan its best member, best",
        1.5: "The combination loses 25 % less\nthan its best member, best",
        2.1: "The combination is about as good\nas its best member, best",
        None: "The best member is best",
    }
    for held_out_loss, title in cases.items():
        ax.clear()
        display = LeaderboardDisplay(board, held_out_loss).plot(ax)
        assert display.ax_ is ax
        assert ax.get_title(loc="left") == title
        assert column(display, 92) == []  # no seconds are known
    assert ax.get_xscale() == "linear"
    far = LeaderboardDisplay({**board, "loss": np.array([2.0, 300.0])}).plot()
    assert far.ax_.get_xscale() == "log"


@pytest.mark.parametrize("scoring", ["loss", "r2"])
def test_stacks_with_learned_weights(scoring):
    stack = StackingRegressor(MEMBERS, BestMember(scoring), cv=3).fit(X, Y)
    display = LeaderboardDisplay.from_estimator(stack)
    table = stack.cv_results_
    sign = 1 if scoring == "loss" else -1
    order = np.argsort(sign * table["mean_score"])
    assert names_of(display) == [table["name"][j] for j in order]
    np.testing.assert_array_equal(display.points_.get_offsets()[:, 0], table["mean_score"][order])
    assert display.greater_is_better == (scoring == "r2")
    assert display.ax_.get_xlabel().split()[0] == ("loss" if scoring == "loss" else "score")
    assert display.held_out_loss is None
    assert column(display, 44)[1] == "1.00"  # the best one has all of the weight


def test_the_board_may_be_a_data_frame():
    pd = pytest.importorskip("pandas")
    model = SuperLearnerRegressor(["linear", "neighbors"], random_state=0).fit(X, Y)
    table = pd.DataFrame(model.leaderboard_)
    drawn = [LeaderboardDisplay(each).plot() for each in (table, model.leaderboard_)]
    offsets = [display.points_.get_offsets() for display in drawn]
    np.testing.assert_array_equal(*offsets)
    assert names_of(drawn[0]) == names_of(drawn[1])


def test_what_has_no_leaderboard_is_refused():
    stack = StackingRegressor(MEMBERS, Ridge(), cv=3).fit(X, Y)
    message = "weights that are learned, .*; {} has neither"
    for model in (stack, LinearRegression().fit(X, Y)):
        with pytest.raises(TypeError, match=message.format(type(model).__name__)):
            LeaderboardDisplay.from_estimator(model)
    indicators = np.column_stack([Y > 0, Y > 1]).astype(int)
    trees = [(f"tree{d}", DecisionTreeClassifier(max_depth=d)) for d in (1, 2)]
    several = StackingClassifier(trees, "simplex", cv=3).fit(X, indicators)
    with pytest.raises(ValueError, match="StackingClassifier has several outputs"):
        LeaderboardDisplay.from_estimator(several)
    with pytest.raises(ValueError, match="it has no name and no weight"):
        LeaderboardDisplay({"loss": [1.0], "standard_error": [0.1]}).plot()
