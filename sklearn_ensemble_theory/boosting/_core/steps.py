"""Step rules: how far to go along the weak learner's outputs.

A rule is a callable ``rule(t, risk, u, psi, here, slope)`` with `here` the risk's `Point` at u and
`slope` that of psi there; it gives the coefficient b of u + b psi, or None to end the loop without
taking the step, which its method ``move(u, psi, b)`` then takes. Each is shrunk by `learning_rate`,
a float or a callable of the round t = 0, 1, ...
"""

import numpy as np


class FixedStep:
    """b = learning_rate: plain gradient boosting (003 section 4.3)."""

    def __init__(self, learning_rate=1.0):
        self.learning_rate = learning_rate

    def check(self, risk):
        """Raise a ValueError where the rule cannot serve this risk."""
        return

    def rate(self, t):
        return self.learning_rate(t) if callable(self.learning_rate) else self.learning_rate

    def length(self, risk, u, psi, here, slope):
        return 1.0

    def __call__(self, t, risk, u, psi, here, slope):
        return self.rate(t) * self.length(risk, u, psi, here, slope)

    def move(self, u, psi, b):
        """Change u in place: u <- u + b psi (10.5)."""
        u += b * psi


class ExactLineSearch(FixedStep):
    """b minimises F(u + b psi): forward stagewise additive modelling (10.7)."""

    def length(self, risk, u, psi, here, slope):
        return risk.line_search(u, psi, here)


class SmoothStep(FixedStep):
    """b = -F'(u)'psi / (L C²), the minimum of the quadratic upper bound (10.8), as in (10.9).

    The source prints (10.9) without the factor psi at its end; see the errata. With `radius=None`
    C² is |psi|² of the round itself, the tightest that (10.8) allows; a number is a bound R on
    the weak learner's outputs, and C² = n R² as in section 10.3.1.
    """

    def __init__(self, learning_rate=1.0, radius=None):
        super().__init__(learning_rate)
        self.radius = radius

    def check(self, risk):
        if not np.isfinite(risk.loss.smoothness):
            raise ValueError(
                f"step='smooth' needs a loss with a finite smoothness constant; "
                f"{type(risk.loss).__name__} has none. Use step='line_search' or step='fixed'."
            )

    def length(self, risk, u, psi, here, slope):
        reach = psi if self.radius is None else np.full_like(psi, self.radius)
        bound = risk.curvature(reach)
        return 0.0 if bound == 0 else here.scale * slope / bound


STEP_RULES = {"fixed": FixedStep, "line_search": ExactLineSearch, "smooth": SmoothStep}
