"""The boosting loop, written once (000 section 10.3.2).

    u_t = u_{t-1} + b_t psi(w_t)                                                   (10.5)

A weak learner, prepared with the rows beforehand, is an object with

    best(target, weight) -> (predictor, psi)

that fits `target` by least squares under `weight`: psi holds the predictor's outputs on the rows.
For outputs of fixed weighted norm, such as -1 and +1, that is the same as maximising the inner
product of psi with weight * target = -F'(u), the weak learner of section 10.3.1. It returns None
where it has nothing to offer, and the loop ends.

A step rule chooses b_t and makes the move; Frank-Wolfe's also shrinks what was there before.

The loop knows no algorithm: AdaBoost, gradient boosting and matching pursuit are choices of the
risk, the learner and the step rule.
"""

from itertools import count
from typing import Any, NamedTuple


class Round(NamedTuple):
    """One round of boosting.

    Attributes
    ----------
    index : int
        t, counted from 0 over all fits of a warm-started model.
    predictor : object
        What the weak learner returned.
    step : float
        b_t.
    risk : float
        F(u_t), after the step.
    certificate : float
        -F'(u_{t-1})' psi(w_t) over the risk's scale: the first-order gain. With an exact weak
        learner over a symmetric dictionary it is the polar gauge gamma*(F'(u_{t-1})), which
        bounds what is left (10.11); for AdaBoost it is e_t = 2 gamma_t, twice the edge.
    outputs : ndarray
        psi(w_t) on the training rows.
    """

    index: int
    predictor: Any
    step: float
    risk: float
    certificate: float
    outputs: Any


def boost(risk, learner, step, u, start=0):
    """Rounds of boosting without end; stop by ceasing to ask.

    Parameters
    ----------
    risk : EmpiricalRisk
        Or any object with ``at(u)`` that returns a `Point`.
    learner : object with ``best(target, weight)``
    step : callable ``step(t, risk, u, psi, here, slope)`` with a method ``move(u, psi, b)``
    u : float array of shape (n,) or (n, K)
        Scores on the training rows to start from; changed in place, so that it holds u_t when the
        t-th record is yielded.
    start : int, default=0
        Index of the first round.

    Yields
    ------
    Round
    """
    here = risk.at(u)
    for t in count(start):
        found = learner.best(here.target, here.weight)
        if found is None:
            return
        predictor, psi = found
        certificate = here.slope(psi)
        b = step(t, risk, u, psi, here, certificate)
        if b is None:
            return
        step.move(u, psi, b)
        here = risk.at(u)
        yield Round(t, predictor, b, here.value, certificate, psi)
