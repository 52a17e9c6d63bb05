"""Every loss against finite differences, sampled suprema and dense grids."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtr, ndtri
from sklearn.base import clone

from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting.losses import as_loss

from ..surroundings import root_of_increasing, root_of_jumps
from .engine import REGISTRY, loss_names, lower_quantile, make_loss
from .loss_cases import ONE_SCORE, ROWS, targets

each_loss = pytest.mark.parametrize(("loss", "kind"), ONE_SCORE, ids=lambda c: str(c))


class Cosh:
    """A user's own loss: nothing but a value and a gradient."""

    def value(self, y, u):
        return np.cosh(np.clip(y - u, -300, 300)) - 1

    def gradient(self, y, u):
        return np.sinh(np.clip(u - y, -300, 300))


@each_loss
def test_gradient_is_the_finite_difference_of_the_value(loss, kind):
    rng = np.random.default_rng(0)
    y, u = targets(kind, 500, rng), 2 * rng.standard_normal(500)
    h = 1e-6
    difference = (loss.value(y, u + h) - loss.value(y, u - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(y, u), difference, rtol=1e-6, atol=1e-6)
    second = loss.hessian(y, u)
    if second is not None:
        difference = (loss.gradient(y, u + h) - loss.gradient(y, u - h)) / (2 * h)
        np.testing.assert_allclose(second, difference, rtol=1e-6, atol=1e-6)


def test_multinomial_gradient_and_hessian():
    rng = np.random.default_rng(0)
    loss, y, u = losses.MultinomialLoss(), rng.integers(0, 4, 200), rng.standard_normal((200, 4))
    h = 1e-6
    for k in range(4):
        e = h * np.eye(4)[k]
        difference = (loss.value(y, u + e) - loss.value(y, u - e)) / (2 * h)
        np.testing.assert_allclose(loss.gradient(y, u)[:, k], difference, rtol=1e-6, atol=1e-8)
        difference = (loss.gradient(y, u + e) - loss.gradient(y, u - e))[:, k] / (2 * h)
        np.testing.assert_allclose(loss.hessian(y, u)[:, k], difference, rtol=1e-6, atol=1e-8)


@each_loss
def test_constants_are_the_sampled_suprema(loss, kind):
    """G1 and G2 hold everywhere and are reached: neither too small nor too large."""
    rng = np.random.default_rng(1)
    y = np.repeat(targets(kind, 20, rng), 4001)
    u = np.tile(np.linspace(-8, 8, 4001), 20)
    slopes = np.abs(loss.gradient(y, u)).reshape(20, -1)
    rise = np.abs(np.diff(loss.gradient(y, u).reshape(20, -1), axis=1)) / (16 / 4000)
    if np.isfinite(loss.lipschitz):
        assert 0.99 * loss.lipschitz <= slopes.max() <= loss.lipschitz * (1 + 1e-12)
    else:
        assert slopes.max() > 5
    if np.isfinite(loss.smoothness):
        assert 0.99 * loss.smoothness <= rise.max() <= loss.smoothness * (1 + 1e-9)
    else:
        assert rise.max() > 50


def test_multinomial_constants_are_the_sampled_suprema():
    rng = np.random.default_rng(0)
    loss, K = losses.MultinomialLoss(), 5
    # Scores between flat, two classes of equal weight, and one class that is certain and wrong.
    u = rng.standard_normal((4000, K)) * rng.uniform(0, 30, (4000, 1))
    u[:1000, :2] += 40
    y = rng.integers(0, K, 4000)
    norms = np.linalg.norm(loss.gradient(y, u), axis=1)
    assert 0.99 * loss.lipschitz < norms.max() <= loss.lipschitz + 1e-12
    flat = np.zeros((1, K))
    flat[0, :2] = 40
    p = loss.inverse_link(np.vstack([u, flat]))
    curvature = [np.linalg.eigvalsh(np.diag(q) - np.outer(q, q))[-1] for q in p]
    assert 0.99 * loss.smoothness < max(curvature) <= loss.smoothness + 1e-12


@pytest.mark.slow
@each_loss
def test_line_search_against_a_dense_grid(loss, kind):
    rng = np.random.default_rng(2)
    for trial in range(20):
        n = rng.integers(3, 40)
        y, u, w = targets(kind, n, rng), rng.standard_normal(n), rng.uniform(0.1, 2, n)
        psi = rng.choice([-1.0, 1.0], n) if trial % 2 else rng.standard_normal(n)
        b = loss.line_search(y, u, psi, w)[0]
        grid = np.concatenate([[b], np.linspace(-6, 6, 4001)])
        values = [w @ loss.value(y, u + c * psi) for c in grid]
        assert values[0] <= min(values) + 1e-7 * abs(min(values)) + 1e-9


def test_multinomial_line_search_against_a_dense_grid():
    rng = np.random.default_rng(2)
    loss = losses.MultinomialLoss()
    for _ in range(5):
        y, u = rng.integers(0, 3, 30), rng.standard_normal((30, 3))
        psi, w = rng.standard_normal((30, 3)), rng.uniform(0.1, 2, 30)
        b = loss.line_search(y, u, psi, w)[0]
        values = [w @ loss.value(y, u + c * psi) for c in [b, *np.linspace(-6, 6, 2001)]]
        assert values[0] <= min(values) + 1e-9


@each_loss
def test_grouped_line_search_equals_one_search_a_group(loss, kind):
    rng = np.random.default_rng(3)
    y, u, psi = targets(kind, 200, rng), rng.standard_normal(200), rng.standard_normal(200)
    w, group = rng.uniform(0.1, 2, 200), rng.integers(0, 7, 200)
    together = loss.line_search(y, u, psi, w, group, 7)
    for g in range(7):
        rows = group == g
        alone = loss.line_search(y[rows], u[rows], psi[rows], w[rows])[0]
        assert together[g] == pytest.approx(alone, rel=1e-8, abs=1e-10)


@each_loss
def test_optimal_constant_minimises_and_counts_weights(loss, kind):
    rng = np.random.default_rng(4)
    y, w = targets(kind, 51, rng), rng.integers(0, 4, 51)
    c = loss.optimal_constant(y, w.astype(float))
    assert c == pytest.approx(loss.optimal_constant(np.repeat(y, w)), rel=1e-9, abs=1e-9)
    best = minimize_scalar(lambda a: w @ loss.value(y, np.full(51, a)), bounds=(-5, 5))
    assert w @ loss.value(y, np.full(51, c)) <= best.fun + 1e-6
    numeric = losses.Loss.line_search(loss, y, np.zeros(51), np.ones(51), w.astype(float))[0]
    assert w @ loss.value(y, np.full(51, numeric)) <= best.fun + 1e-6


def test_optimal_constants_worked_out_by_hand():
    y = np.array([1.0, 2.0, 4.0, 9.0])
    assert losses.SquaredLoss().optimal_constant(y) == 4
    assert losses.AbsoluteLoss().optimal_constant(y) == 3
    assert losses.AbsoluteLoss().optimal_constant(y, np.array([1.0, 5.0, 1.0, 1.0])) == 2
    assert losses.QuantileLoss(0.75).optimal_constant(y) == 6.5
    assert losses.QuantileLoss(0.9).optimal_constant(y) == 9
    assert losses.PoissonLoss().optimal_constant(y) == pytest.approx(np.log(4))
    signs = np.array([1.0, 1.0, 1.0, -1.0])
    assert losses.LogisticLoss().optimal_constant(signs) == pytest.approx(np.log(3))
    assert losses.ExponentialLoss().optimal_constant(signs) == pytest.approx(np.log(3) / 2)
    classes = losses.MultinomialLoss().optimal_constant(np.array([0, 0, 1, 2]))
    np.testing.assert_allclose(
        losses.MultinomialLoss().inverse_link(classes[None])[0], [0.5, 0.25, 0.25]
    )


@each_loss
def test_link_is_the_inverse_of_inverse_link(loss, kind):
    u = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(loss.link(loss.inverse_link(u)), u, atol=1e-12)


@each_loss
def test_leaf_values_lower_the_risk_in_every_leaf(loss, kind):
    rng = np.random.default_rng(5)
    y, u = targets(kind, 300, rng), 0.5 * rng.standard_normal(300)
    w, leaf = rng.uniform(0.1, 2, 300), rng.integers(0, 6, 300)
    shift = loss.leaf_values(y, u, w, leaf, 6)
    before = np.bincount(leaf, w * loss.value(y, u))
    after = np.bincount(leaf, w * loss.value(y, u + shift[leaf]))
    assert (after <= before).all()
    assert after.sum() < 0.999 * before.sum()


def test_leaves_without_a_finite_minimum_take_a_finite_step():
    y, u, w = np.ones(4), np.zeros(4), np.ones(4)
    leaf = np.array([0, 0, 1, 1])
    assert losses.LogisticLoss().leaf_values(y, u, w, leaf, 2) == pytest.approx([2, 2])
    assert losses.PoissonLoss().leaf_values(np.zeros(4), u, w, leaf, 2) == pytest.approx([-1, -1])
    certain = losses.LogisticLoss().leaf_values(y, np.full(4, 800.0), w, leaf, 2)
    assert (certain == 0).all()


@pytest.mark.parametrize("loss", [losses.LogisticLoss(), losses.ExponentialLoss()])
def test_separating_direction_gives_a_long_finite_step(loss):
    y = np.array([-1.0, 1.0, 1.0])
    b = loss.line_search(y, np.zeros(3), y.copy(), np.ones(3))[0]
    assert 10 < b < 100
    assert loss.line_search(y, np.zeros(3), -y, np.ones(3))[0] == pytest.approx(-b)
    assert loss.line_search(y, np.zeros(3), np.zeros(3), np.ones(3))[0] == 0


def test_samme_step_is_the_exact_line_search_over_two_values():
    """SAMME's log((1-eps)/eps) + log(K-1) is the minimum over outputs 1/(K-1) and -1/(K-1)^2."""
    rng = np.random.default_rng(0)
    for K in (2, 3, 7):
        wrong, w = rng.random(50) < 0.3, rng.uniform(0.5, 1, 50)
        psi = np.where(wrong, -1 / (K - 1) ** 2, 1 / (K - 1))
        eps = w[wrong].sum() / w.sum()
        b = losses.ExponentialLoss().line_search(np.ones(50), np.zeros(50), psi, w)[0]
        alpha = np.log((1 - eps) / eps) + np.log(K - 1)
        assert b == pytest.approx(alpha * (K - 1) ** 2 / K, rel=1e-12)


def test_exponential_line_search_survives_scores_that_overflow():
    y, psi = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, -1.0, -1.0])
    u = np.array([-2000.0, -2000.0, 2000.0, 2000.0])
    b = losses.ExponentialLoss().line_search(y, u, psi, np.ones(4))[0]
    assert b == pytest.approx(np.log(3) / 2)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_extreme_scales(scale):
    y = scale * np.array([1.0, 2.0, 4.0, 9.0])
    assert losses.SquaredLoss().optimal_constant(y) == pytest.approx(4 * scale, rel=1e-12)
    assert losses.AbsoluteLoss().optimal_constant(y) == pytest.approx(3 * scale, rel=1e-12)
    huber = losses.HuberLoss(delta=100 * scale).optimal_constant(y)
    assert huber == pytest.approx(4 * scale, rel=1e-9)


def test_a_user_s_object_needs_only_value_and_gradient():
    rng = np.random.default_rng(0)
    loss, y = as_loss(Cosh()), rng.standard_normal(50)
    assert loss.smoothness == loss.lipschitz == np.inf
    c = loss.optimal_constant(y)
    assert np.sum(np.sinh(c - y)) == pytest.approx(0, abs=1e-9)
    with pytest.raises(TypeError, match="value"):
        as_loss(object())

    class Wrong(Cosh):
        def gradient(self, y, u):
            return 0.0

    with pytest.raises(ValueError, match=r"Wrong.gradient\(y, u\) must have shape \(50,\)"):
        as_loss(Wrong()).gradient(y, y)


def test_losses_are_cloneable_with_parameters():
    copy = clone(losses.HuberLoss(delta=3.0)).set_params(delta=4.0)
    assert copy.lipschitz == 4.0
    assert repr(losses.QuantileLoss(quantile=0.9)) == "QuantileLoss(quantile=0.9)"


def test_parameters_and_targets_outside_the_domain_are_refused():
    y = np.array([-1.0, 1.0])
    for loss, name in [
        (losses.HuberLoss(delta=0.0), "delta"),
        (losses.QuantileLoss(quantile=1.0), "quantile"),
        (losses.PoissonLoss(), "non-negative"),
    ]:
        with pytest.raises(ValueError, match=name):
            loss.check_target(y)
    with pytest.raises(ValueError, match=r"-1 or \+1"):
        losses.LogisticLoss().check_target(np.array([0.0, 1.0]))


def test_roots_of_many_functions_at_once():
    centre = np.array([-3.0, 0.0, 1e-5, 7.0, 1e8])
    np.testing.assert_allclose(
        root_of_increasing(lambda b: np.arctan(b - centre), 5), centre, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        root_of_increasing(lambda b: (b - centre) ** 3, 5), centre, rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("centre", [-3.0, 0.0, 1e-5, 7.0, 1e8, 1e120])
@pytest.mark.parametrize(
    "function",
    [
        np.arctan,
        np.cbrt,
        lambda x: x * np.abs(x),
        lambda x: np.sign(x) * np.exp(-1 / np.abs(x + (x == 0))),
        lambda x: np.maximum(x, -1.0),
        lambda x: np.minimum(np.exp(np.minimum(x, 700.0)) - 1, 5.0),
        lambda x: -np.exp(np.minimum(-x, 700.0)),  # it vanishes and has no root
        lambda x: np.full_like(x, -2.0),  # it never turns
    ],
)
def test_root_of_one_function_is_that_of_many(function, centre):
    def slope(b):
        asked.append(b[0])
        return function(b - centre)

    low, high = np.array([centre - 2.0]), np.array([centre + 3.0 + abs(centre)])
    for options in (
        {},
        {"first": 1e-3},
        {"bracket": (low, high)},
        {"bracket": (high, high)},
        {"bracket": (low, low + 1)},
    ):
        points = []
        for n_groups in (1, 2):
            asked = []
            twice = options
            if "bracket" in options:
                twice = {"bracket": [np.repeat(end, n_groups) for end in options["bracket"]]}
            found = root_of_increasing(slope, n_groups, **twice)
            assert found.shape == (n_groups,)
            points.append([*dict.fromkeys(asked), found[0]])
        assert points[0] == points[1]  # to the bit, and by the same points


def test_jumps_of_empty_groups_and_flat_intervals():
    position, jump = np.array([1.0, 3.0, 5.0]), np.array([2.0, 2.0, 1.0])
    group = np.array([0, 0, 2])
    roots = root_of_jumps(position, jump, np.array([-2.0, 0.0, -0.5]), group, 3)
    np.testing.assert_array_equal(roots, [2.0, 0.0, 5.0])


def test_every_name_has_a_row_of_tests_and_an_export():
    assert {(name, type(loss)) for name, loss, _ in ROWS} == {
        (name, cls) for name, _, cls in REGISTRY
    }
    for name, _, cls in REGISTRY:
        assert getattr(losses, cls.__name__) is cls
        assert cls.__name__ in losses.__all__
        assert f'``"{name}"``' in losses.__doc__


def test_one_registry_answers_for_every_estimator():
    for name, target, cls in REGISTRY:
        n_classes = {"real": 0, "two classes": 2, "many classes": 4}[target]
        assert type(make_loss(name, n_classes)) is cls
        assert name in loss_names(target)
        assert (name in loss_names(target, differentiable=True)) == cls.differentiable
        assert make_loss(name, n_classes).n_scores(n_classes) == max(1, n_classes * (n_classes > 2))
        given = cls()
        assert make_loss(given, n_classes) is given
    with pytest.raises(ValueError, match="not one of"):
        make_loss("log_loss")
    with pytest.raises(ValueError, match="two classes, but y has 3 classes"):
        make_loss("exponential", 3)
    with pytest.raises(ValueError, match="two classes, but y has 3 classes"):
        make_loss(Cosh(), 3)
    for n_classes in (0, 2):
        with pytest.raises(ValueError, match="MultinomialLoss has one score for each class"):
            make_loss(losses.MultinomialLoss(), n_classes)


@each_loss
def test_quadratic_and_differentiable_losses_are_what_they_state(loss, kind):
    rng = np.random.default_rng(0)
    y, u = targets(kind, 200, rng), rng.standard_normal(200)
    assert loss.is_quadratic == np.allclose(loss.value(y, u), (y - u) ** 2 / 2)
    at, t, h = np.r_[y, u], np.r_[y, y], 1e-9  # kinks are at the targets
    jumps = np.abs(loss.gradient(t, at + h) - loss.gradient(t, at - h))
    assert loss.differentiable == (jumps.max() < 0.5)


@each_loss
def test_scores_from_predictions_are_finite_and_inverse(loss, kind):
    inside = loss.inverse_link(np.linspace(-2, 2, 9))
    np.testing.assert_allclose(loss.inverse_link(loss.scores_from(inside)), inside, rtol=1e-12)
    assert np.isfinite(loss.scores_from(np.array([0.0, 1.0]))).all()


def test_class_probabilities_and_leaves_of_several_scores():
    rng = np.random.default_rng(0)
    u = rng.standard_normal(20)
    two = losses.LogisticLoss().class_probabilities(u)
    np.testing.assert_allclose(two, np.column_stack([1 / (1 + np.exp(u)), 1 / (1 + np.exp(-u))]))
    loss, y, u = losses.MultinomialLoss(), rng.integers(0, 3, 20), rng.standard_normal((20, 3))
    np.testing.assert_allclose(loss.class_probabilities(u).sum(axis=1), 1)
    leaf, w = rng.integers(0, 4, 20), rng.uniform(0.5, 2, 20)
    for k in range(3):
        g, h = loss.gradient(y, u)[:, k], loss.hessian(y, u)[:, k]
        by_hand = [-2 / 3 * (w * g)[leaf == j].sum() / (w * h)[leaf == j].sum() for j in range(4)]
        np.testing.assert_allclose(loss.leaf_values(y, u, w, leaf, 4, score=k), by_hand)
    with pytest.raises(ValueError, match="index of a class"):
        loss.leaf_values(y, u, w, leaf, 4)


def test_what_a_user_s_object_has_is_used():
    class Probit(Cosh):
        probability = margin = True
        differentiable = False
        smoothness = 3.0

        def inverse_link(self, u):
            return ndtr(u)

        def check_target(self, y):
            raise ValueError("mine")

    loss = as_loss(Probit())
    assert (loss.probability, loss.margin, loss.differentiable) == (True, True, False)
    assert (loss.smoothness, loss.lipschitz) == (3.0, np.inf)
    np.testing.assert_allclose(loss.class_probabilities(np.zeros(2)), 0.5)
    with pytest.raises(ValueError, match="mine"):
        loss.check_target(np.zeros(2))
    with pytest.raises(ValueError, match="needs a method link"):
        loss.scores_from(np.array([0.5]))
    Probit.link = staticmethod(ndtri)
    np.testing.assert_allclose(loss.scores_from(np.array([0.5])), 0)
    assert as_loss(Cosh()).differentiable
    Probit.inverse_link = None
    with pytest.raises(TypeError, match="needs a method inverse_link"):
        as_loss(Probit())


def test_a_subclass_with_probabilities_needs_its_link():
    class Mine(losses.Loss):
        probability = True

        def value(self, y, u):
            return np.logaddexp(0, -y * u)

        def gradient(self, y, u):
            return -y / (1 + np.exp(y * u))

    with pytest.raises(TypeError, match="needs a method inverse_link"):
        as_loss(Mine())
    Mine.inverse_link = staticmethod(expit)
    assert isinstance(as_loss(Mine()), Mine)


def test_every_part_of_a_user_s_object_is_used():
    class Own(Cosh):
        is_quadratic = True

        def line_search(self, y, u, psi, weight, group=None, n_groups=1):
            return np.full(n_groups, 7.0)

        def leaf_values(self, y, u, weight, leaf, n_leaves, score=None):
            return np.full(n_leaves, 5.0)

        def class_probabilities(self, u):
            return np.full((len(u), 2), 0.5)

    loss, y = as_loss(Own()), np.zeros(3)
    assert loss.is_quadratic
    assert not as_loss(Cosh()).is_quadratic
    np.testing.assert_array_equal(loss.line_search(y, y, y, y), [7.0])
    np.testing.assert_array_equal(loss.leaf_values(y, y, y, y, 2), [5.0, 5.0])
    np.testing.assert_array_equal(loss.class_probabilities(y), np.full((3, 2), 0.5))


@pytest.mark.parametrize("with_hessian", [False, True])
def test_leaves_of_a_user_s_loss_with_several_scores(with_hessian):
    parent = losses.MultinomialLoss()

    class Own(losses.Loss):
        value, gradient = parent.value, parent.gradient
        if with_hessian:
            hessian = parent.hessian

    rng = np.random.default_rng(0)
    y, u, w = rng.integers(0, 3, 40), rng.standard_normal((40, 3)), rng.uniform(0.5, 2, 40)
    leaf = rng.integers(0, 2, 40)
    for k in range(3):
        values = Own().leaf_values(y, u, w, leaf, 2, score=k)
        for j in range(2):
            rows = leaf == j

            def slope(b, y=y[rows], u=u[rows], w=w[rows], k=k):
                return w @ parent.gradient(y, u + b * np.eye(3)[k])[:, k]

            if with_hessian:
                curvature = w[rows] @ parent.hessian(y[rows], u[rows])[:, k]
                newton = -slope(0.0) / curvature
                assert values[j] == pytest.approx(newton, rel=0.25)
                # Not further from the minimum: a step that is too short has been lengthened.
                assert abs(slope(values[j])) <= abs(slope(newton)) * (1 + 1e-9)
            else:
                assert slope(values[j]) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 0.95])
def test_lower_quantile(q):
    rng = np.random.default_rng(0)
    for n in (1, 2, 10, 101):
        values, w = rng.standard_normal(n), rng.integers(1, 5, n)
        repeated = np.sort(np.repeat(values, w))
        assert lower_quantile(values, q, None) == np.quantile(values, q, method="inverted_cdf")
        found = lower_quantile(values, q, w.astype(float))
        assert found == np.quantile(repeated, q, method="inverted_cdf")
