"""Steps of conditional gradients over a ball of coefficients: `boosting._conditional_gradients`.

A step towards the best of the columns, away from the worst active one, or from the worst to the
best, and its best length: on rows of a Gram matrix (`GramSteps`), or on rows of scores under a loss
with second derivatives (`RowSteps`). What they cannot do they leave to the caller, who goes on from
the place at which they stopped.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.math cimport INFINITY, fabs

import numpy as np

from .arrays cimport require
from .losses cimport HUBER, KINK, MULTINOMIAL, Loss, LossRows, second_derivatives, sum_losses

cdef extern from "balls.h" nogil:
    double dot(const double*, const double*, Py_ssize_t)
    double sum_of_sizes(const double*, Py_ssize_t)
    Py_ssize_t largest_size(const double*, Py_ssize_t)
    void add_row(double*, const double*, double, Py_ssize_t)
    void move_towards(double*, const double*, double, Py_ssize_t)
    void multiply(double*, double, Py_ssize_t)
    void scores_along(
        const double*, const double*, double, double, Py_ssize_t, double*)
    void sums_over_rows(
        const double*, const double*, const double*, Py_ssize_t, double*)
    void slopes_and_curvatures(
        const double*, const double*, const double*, const double*, Py_ssize_t, double*)
    double products_of_columns(
        const double*, const double*, const double*, double, Py_ssize_t, Py_ssize_t, double*)
    void add_column(
        double*, const double*, Py_ssize_t, Py_ssize_t, double, double, double)

# What a step does, and how long it is: numbers of `VARIANTS` and `STEP_RULES`.
cdef enum:
    PLAIN, AWAY, PAIRWISE
cdef enum:
    LINE_SEARCH, OPEN_LOOP, SHORT

# Why steps end, or wait for the caller.
ROUNDS, TOL, STALLED, ROW, REFRESH, STEP, UPDATE = range(7)
cdef enum:
    AT_ROUNDS, AT_TOL, AT_STALLED, NEEDS_ROW, NEEDS_REFRESH, NEEDS_STEP, NEEDS_UPDATE, MOVED

cdef enum:
    # Correlations are computed from the start again after so many steps: rounding must not add up.
    STEPS_BEFORE_REFRESH = 500
    NEWTON_STEPS = 30

# As in `_conditional_gradients` and `_norm_balls`.
cdef double TIE_SHARE = 1e-9, TIE_OF_GAP = 1e-3, SMALLEST_SHARE = 1e-14
cdef double CLOSE_STEP = 1e-7, CLOSE_INTERCEPT = 1e-14
cdef double ROUNDING_OF_RISK = 1e-14, LEAST_CURVATURE_SHARE = 1e-10
# A sum of gradients below this share of the sum of their sizes is rounding.
cdef double ROUNDING_OF_SLOPE = 1e-15


ctypedef const double* Row


# See `Direction` of `_conditional_gradients`.
cdef struct Direction:
    double shrink
    int n_atoms
    Py_ssize_t[2] atoms
    double[2] values
    double longest, gain


def direction_of(
    const double[::1] c, const double[::1] beta, double radius, Py_ssize_t k, double gap,
    int variant
):
    """The step to the best atom k: shrink, atoms, values, longest and gain of `Direction`. O(d).

    Parameters
    ----------
    c, beta : float64 arrays of shape (d,)
        The correlations and the point.
    radius, gap : float
        Of the ball; the dual gap.
    k : int
    variant : int
        The number of one of "plain", "away", "pairwise".
    """
    cdef Direction to
    require(c.shape[0] == beta.shape[0] and 0 <= k < c.shape[0] and PLAIN <= variant <= PAIRWISE)
    choose(&c[0], &beta[0], c.shape[0], radius, k, gap, variant, &to)
    atoms = tuple(to.atoms[i] for i in range(to.n_atoms))
    values = tuple(to.values[i] for i in range(to.n_atoms))
    return to.shrink, atoms, values, to.longest, to.gain


def settle(
    double[::1] beta, double radius, Py_ssize_t last, double gamma, double longest
):
    """Undo what rounding does to the atom that leaves, and to the norm. O(d).

    Parameters
    ----------
    beta : float64 array of shape (d,)
        Changed in place.
    radius, gamma, longest : float
    last : int
        The last atom of the direction; -1 for none.
    """
    require(-1 <= last < beta.shape[0] and beta.shape[0] > 0)
    settle_point(&beta[0], beta.shape[0], radius, last, gamma, longest)


cdef void choose(
    const double* c, const double* beta, Py_ssize_t d, double radius, Py_ssize_t k, double gap,
    int variant, Direction* to
) noexcept nogil:
    cdef double top = fabs(c[k]), bound
    cdef Py_ssize_t j
    to.shrink, to.n_atoms, to.longest, to.gain = 1.0, 1, 1.0, gap
    if variant != PLAIN:
        # After an exact pairwise step its two atoms are equally good, and rounding must not choose
        # between them: the first atom that ties wins, whose correlation is smaller by a little.
        bound = top - min(TIE_SHARE * top, TIE_OF_GAP * (gap / radius))
        for j in range(d):
            if fabs(c[j]) >= bound:
                k = j
                break
        to.gain = gap - radius * (top - fabs(c[k]))
    to.atoms[0] = k
    to.values[0] = radius if c[k] > 0 else -radius
    if variant != PLAIN:
        turn_from_worst_atom(c, beta, d, radius, variant, to)


cdef void turn_from_worst_atom(
    const double* c, const double* beta, Py_ssize_t d, double radius, int variant, Direction* to
) noexcept nogil:
    """Turn the direction towards the best atom into that of an away step or of a pairwise step."""
    # The worst active atom has the least merit, D sign(beta_j) c_j; the point 0 has merit 0 and the
    # weight that the atoms leave. Of atoms that tie up to rounding the first is taken.
    cdef double gap = to.gain, inside = 0.0, size = 0.0, lowest = INFINITY, merit, slack, share, away
    cdef double at_zero
    cdef Py_ssize_t j, worst = -1
    for j in range(d):
        if beta[j] != 0.0:
            merit = radius * c[j] if beta[j] > 0 else -radius * c[j]
            lowest = min(lowest, merit)
            inside += c[j] * beta[j]
            size += fabs(beta[j])
    if size == 0.0:
        return
    slack = min(TIE_SHARE * (gap + inside), TIE_OF_GAP * (gap + inside - lowest))
    for j in range(d):
        if beta[j] != 0.0:
            merit = radius * c[j] if beta[j] > 0 else -radius * c[j]
            if worst < 0 or merit <= lowest + slack:
                worst = j
                if merit <= lowest + slack:
                    break
    merit = radius * c[worst] if beta[worst] > 0 else -radius * c[worst]
    share, away = fabs(beta[worst]) / radius, -radius if beta[worst] > 0 else radius
    at_zero = 1 - size / radius
    if at_zero > SMALLEST_SHARE and merit > -slack:
        worst, share, merit = -1, at_zero, 0.0
    if variant == PAIRWISE:
        to.shrink, to.longest, to.gain = 0.0, share, gap + inside - merit
        if worst == to.atoms[0]:  # from -D e_k to D e_k: the same coordinate twice
            to.values[0] *= 2
        elif worst >= 0:
            to.n_atoms, to.atoms[1], to.values[1] = 2, worst, away
        return
    # After an exact step away from 0, opposite atoms are equally good: the step towards one wins.
    if gap >= (inside - merit) * (1 - TIE_SHARE) or share >= 1:
        return
    to.shrink, to.longest, to.gain = -1.0, share / (1 - share), inside - merit
    to.n_atoms = 1 if worst >= 0 else 0
    to.atoms[0], to.values[0] = worst, away


cdef void settle_point(
    double* beta, Py_ssize_t d, double radius, Py_ssize_t last, double gamma, double longest
) noexcept nogil:
    cdef double norm
    if gamma == longest and last >= 0 and fabs(beta[last]) <= 1e-14 * radius:
        beta[last] = 0.0
    norm = sum_of_sizes(beta, d)
    if norm > radius:
        multiply(beta, radius / norm * (1 - 1e-16), d)


cdef inline double within(double gamma, double longest) noexcept nogil:
    """From 0 to the longest step; NaN stays."""
    gamma = 0.0 if gamma < 0.0 else gamma
    return longest if gamma > longest else gamma


cdef class Steps:
    """The rounds, whatever the risk is made of."""

    cdef double[::1] beta, c
    cdef Py_ssize_t d, n_steps
    cdef bint is_started
    cdef readonly Py_ssize_t needed  # the row of the Gram matrix that is

    cdef double inside(self):
        return dot(&self.c[0], &self.beta[0], self.d)

    cdef double risk(self):
        return 0.0

    cdef int take(self, const Direction* to, int rule, double eta, double* gamma) except -1:
        """Make a step; `MOVED`, or what is needed. No step is made where gamma is 0."""
        return MOVED

    def run(
        self, double radius, double end, int variant, int rule, Py_ssize_t t, Py_ssize_t n_most,
        double[::1] gaps or None, double[::1] risks or None,
        const Py_ssize_t[::1] allowed or None
    ):
        """Make steps until there are `n_most` of them; the code of why they ended, and their number.

        Parameters
        ----------
        radius : float
        end : float
            A dual gap of at most this ends the steps.
        variant, rule : int
            Numbers of `VARIANTS` and `STEP_RULES`.
        t, n_most : int
            Steps made before, and with these.
        gaps, risks : float64 arrays of more than n_most numbers, or None
            Output: number t is the dual gap, at least 0, and the risk after t steps.
        allowed : intp array, or None
            The gap is that of these columns, in increasing order.
        """
        cdef Direction to
        cdef Py_ssize_t k, i, last
        cdef double gap, gamma
        cdef int code
        require(self.is_started)
        require(0 <= t <= n_most and PLAIN <= variant <= PAIRWISE and radius > 0)
        require(gaps is None or (gaps.shape[0] > n_most and risks.shape[0] > n_most))
        if allowed is not None:
            require(allowed.shape[0] > 0)
            for i in range(allowed.shape[0]):
                require(0 <= allowed[i] < self.d)
        while True:
            if self.n_steps >= STEPS_BEFORE_REFRESH:
                return NEEDS_REFRESH, t
            if allowed is None:
                k = largest_size(&self.c[0], self.d)
            else:
                k = allowed[0]
                for i in range(1, allowed.shape[0]):
                    k = allowed[i] if fabs(self.c[allowed[i]]) > fabs(self.c[k]) else k
            gap = radius * fabs(self.c[k]) - self.inside()
            if gaps is not None:
                gaps[t], risks[t] = max(gap, 0.0), self.risk()
            if gap <= end:
                return AT_TOL, t
            if t == n_most:
                return AT_ROUNDS, t
            choose(&self.c[0], &self.beta[0], self.d, radius, k, gap, variant, &to)
            code = self.take(&to, rule, 2.0 / (t + 2), &gamma)
            if code == NEEDS_ROW or code == NEEDS_STEP:
                return code, t
            if gamma == 0.0:
                return AT_STALLED, t
            last = to.atoms[to.n_atoms - 1] if to.n_atoms else -1
            settle_point(&self.beta[0], self.d, radius, last, gamma, to.longest)
            t += 1
            if code == NEEDS_UPDATE:
                return code, t
            PyErr_CheckSignals()


cdef class GramSteps(Steps):
    """F(u) = mean of (y - u)²/2, by rows of the Gram matrix: a step costs O(d).

    Parameters
    ----------
    at_zero : float64 array of shape (d,)
        psi_j'Wy.
    square : float
        y'Wy.
    views : list of d float64 arrays of shape (d,), or None
        The rows of the Gram matrix, of which there may be more at the next call of `run`.
    """

    cdef double[::1] at_zero
    cdef double square, with_c, with_zero
    cdef bint is_known
    cdef list views
    cdef const double** known  # the rows, as far as this call has needed them
    cdef Py_ssize_t[::1] used
    cdef Py_ssize_t n_used

    def __cinit__(self, double[::1] at_zero, double square, list views):
        self.d = at_zero.shape[0]
        require(self.d > 0 and len(views) == self.d)
        self.known = <const double**>PyMem_RawCalloc(self.d, sizeof(double*))
        if self.known == NULL:
            raise MemoryError
        self.at_zero, self.square, self.views = at_zero, square, views
        self.used, self.n_used = np.empty(self.d, dtype=np.intp), 0

    def __dealloc__(self):
        PyMem_RawFree(self.known)

    def start(self, double[::1] beta, double[::1] c):
        """Go on from the point beta, with the correlations c: arrays that are changed in place."""
        require(beta.shape[0] == self.d and c.shape[0] == self.d)
        self.beta, self.c, self.n_steps, self.is_known = beta, c, 0, False
        self.is_started = True
        self.forget_rows()

    def forget_rows(self):
        """Rows of the list may have been replaced."""
        cdef Py_ssize_t i
        for i in range(self.n_used):
            self.known[self.used[i]] = NULL
        self.n_used = 0

    cdef const double* row(self, Py_ssize_t j) except? NULL:
        """Row j, which the list keeps; NULL, and j is `needed`, where it is not there."""
        cdef const double[::1] row
        if self.known[j] == NULL:
            found = self.views[j]
            if found is None:
                self.needed = j
                return NULL
            row = found
            require(row.shape[0] == self.d)
            self.known[j] = &row[0]
            self.used[self.n_used] = j
            self.n_used += 1
        return self.known[j]

    cdef void find_products(self):
        if not self.is_known:
            self.with_c = dot(&self.c[0], &self.beta[0], self.d)
            self.with_zero = dot(&self.at_zero[0], &self.beta[0], self.d)
            self.is_known = True

    cdef double inside(self):
        self.find_products()
        return self.with_c

    cdef double risk(self):
        self.find_products()
        return max((self.square - self.with_c - self.with_zero) / 2, 0.0)

    cdef int take(self, const Direction* to, int rule, double eta, double* gamma) except -1:
        cdef Row[2] rows
        cdef double curvature = 0.0, a, share
        cdef int i, l
        cdef Py_ssize_t j
        for i in range(to.n_atoms):
            rows[i] = self.row(to.atoms[i])
            if rows[i] == NULL:
                return NEEDS_ROW
        if rule == OPEN_LOOP:
            gamma[0] = eta
        else:  # the quadratic upper bound is the risk itself
            if to.shrink:
                self.find_products()
                curvature = to.shrink * to.shrink * (self.with_zero - self.with_c)
            for i in range(to.n_atoms):
                j, a = to.atoms[i], to.values[i]
                curvature -= 2 * to.shrink * a * (self.at_zero[j] - self.c[j])
                for l in range(to.n_atoms):
                    curvature += a * to.values[l] * rows[i][to.atoms[l]]
            gamma[0] = within(to.gain / curvature if curvature > 0 else INFINITY, to.longest)
        if gamma[0] == 0.0:
            return MOVED
        if to.shrink:
            share = gamma[0] * to.shrink
            move_towards(&self.c[0], &self.at_zero[0], share, self.d)
            multiply(&self.beta[0], 1 - share, self.d)
        for i in range(to.n_atoms):
            add_row(&self.c[0], rows[i], -gamma[0] * to.values[i], self.d)
            self.beta[to.atoms[i]] += gamma[0] * to.values[i]
        self.is_known = False
        self.n_steps += 1
        return MOVED


cdef class RowSteps(Steps):
    """Any loss with one score and second derivatives, by the scores of the rows: O(n d) a step.

    Parameters
    ----------
    X : float64 array of shape (n, d)
    offset, scale : float64 arrays of shape (d,)
        The atoms are (x_j - offset_j) / scale_j.
    usable : uint8 array of shape (d,)
        0 for columns that are 0 instead.
    loss : Loss
    y, weight
        As for `Loss.value`; weights of sum 1.
    smoothness : float
        The bound on the second derivatives, for short steps.
    has_intercept : bool
        Whether a constant is added to the scores, the best one.
    """

    cdef const double[:, ::1] X
    cdef const double[::1] offset, scale, weight, y
    cdef const unsigned char[::1] usable
    cdef Loss loss
    cdef double smoothness
    cdef bint has_intercept
    cdef Py_ssize_t n
    cdef double[::1] u, target, change, scores, trial, second
    cdef readonly double intercept, value

    def __init__(
        self, const double[:, ::1] X, const double[::1] offset, const double[::1] scale,
        const unsigned char[::1] usable, Loss loss not None, const double[::1] y,
        const double[::1] weight, double smoothness, bint has_intercept
    ):
        self.n, self.d = X.shape[0], X.shape[1]
        require(self.n > 0 and self.d > 0 and offset.shape[0] == self.d and y.shape[0] == self.n)
        require(scale.shape[0] == self.d and usable.shape[0] == self.d)
        require(weight.shape[0] == self.n or weight.shape[0] == 1)
        require(loss.options.kind not in (HUBER, KINK, MULTINOMIAL))
        self.X, self.offset, self.scale, self.usable = X, offset, scale, usable
        self.loss, self.y, self.weight = loss, y, weight
        self.smoothness, self.has_intercept = smoothness, has_intercept
        self.change, self.scores, self.trial, self.second = np.empty((4, self.n))

    def start(
        self, double[::1] beta, double[::1] c, double[::1] u, double[::1] target, double intercept
    ):
        """Go on from the point beta, whose scores are u: arrays that are changed in place.

        False where Newton's method does not find the best intercept.
        """
        self.go_on(beta, c, u, target, 0.0, intercept)
        return self.find_state()

    def go_on(
        self, double[::1] beta, double[::1] c, double[::1] u, double[::1] target, double value,
        double intercept
    ):
        """Go on from a point at which the risk, its gradient and the correlations are known."""
        require(beta.shape[0] == self.d and c.shape[0] == self.d)
        require(u.shape[0] == self.n and target.shape[0] == self.n)
        self.beta, self.c, self.u, self.target = beta, c, u, target
        self.value, self.intercept, self.is_started = value, intercept, True

    cdef double risk(self):
        return self.value

    cdef LossRows rows_at(self, const double* scores) noexcept nogil:
        cdef LossRows rows
        rows.options, rows.y, rows.u, rows.n, rows.K = (
            &self.loss.options, <const void*>&self.y[0], scores, self.n, 1)
        rows.each = self.each()
        rows.same, rows.n_threads = self.weight[0], 1
        return rows

    cdef const double* each(self) noexcept nogil:
        return &self.weight[0] if self.weight.shape[0] > 1 else NULL

    cdef bint find_state(self) except -1:
        """The risk, its gradient and the best intercept at u; False where Newton's method fails."""
        cdef double b = self.intercept, size = INFINITY, change, slope
        cdef double[3] sums
        cdef LossRows rows = self.rows_at(&self.scores[0])
        cdef bint is_found = not self.has_intercept
        cdef int step
        with nogil:
            for step in range(NEWTON_STEPS):
                scores_along(&self.u[0], &self.u[0], 0.0, b, self.n, &self.scores[0])
                self.value = sum_losses(&rows, &self.target[0])
                if not self.has_intercept:
                    break
                second_derivatives(&rows, &self.target[0], &self.second[0])
                sums_over_rows(self.each(), &self.target[0], &self.second[0], self.n, sums)
                if not sums[1] > 0:
                    break
                slope, change = fabs(sums[0]), sums[0] / sums[1]
                # A slope that no longer falls is rounding, or too far away for Newton's method.
                if (slope <= ROUNDING_OF_SLOPE * sums[2]
                        or fabs(change) <= CLOSE_INTERCEPT * fabs(b)
                        or (slope >= size and slope <= 1e-9 * sums[2])):
                    self.intercept, is_found = b, True
                    break
                if slope >= size:
                    break
                size = slope
                b += change
            if is_found:
                self.find_correlations()
        return is_found

    cdef void find_correlations(self) noexcept nogil:
        cdef double total = products_of_columns(
            &self.X[0, 0], &self.target[0], self.each(), self.weight[0], self.n, self.d,
            &self.c[0])
        cdef Py_ssize_t j
        for j in range(self.d):
            self.c[j] = (self.c[j] - total * self.offset[j]) / self.scale[j] if (
                self.usable[j]) else 0.0

    cdef int take(self, const Direction* to, int rule, double eta, double* gamma) except -1:
        cdef double* change = &self.change[0]
        cdef double curvature
        cdef Py_ssize_t i, j
        cdef bint is_found = True
        with nogil:
            for i in range(self.n):
                change[i] = -to.shrink * self.u[i]
            for i in range(to.n_atoms):
                j = to.atoms[i]
                if self.usable[j]:
                    add_column(
                        change, &self.X[0, j], self.d, self.n, self.offset[j], self.scale[j],
                        to.values[i])
            if rule == OPEN_LOOP:
                gamma[0] = eta
            elif rule == SHORT:
                curvature = self.smoothness * self.mean_square(change)
                gamma[0] = within(to.gain / curvature if curvature > 0 else INFINITY, to.longest)
            else:
                is_found = self.search(to.longest, gamma)
                gamma[0] = within(gamma[0], to.longest)
            if is_found and gamma[0] != 0.0:
                add_row(&self.u[0], change, gamma[0], self.n)
                multiply(&self.beta[0], 1 - gamma[0] * to.shrink, self.d)
                for i in range(to.n_atoms):
                    self.beta[to.atoms[i]] += gamma[0] * to.values[i]
        if not is_found:
            return NEEDS_STEP
        if gamma[0] == 0.0 or self.find_state():
            return MOVED
        return NEEDS_UPDATE

    cdef double mean_square(self, const double* psi) noexcept nogil:
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n):
            total += psi[i] * psi[i] * (self.weight[i] if self.weight.shape[0] > 1 else 1.0)
        return total * self.weight[0] if self.weight.shape[0] == 1 else total

    cdef bint search(self, double longest, double* found) except -1 nogil:
        """Newton's method for the length along `change` and the intercept together.

        From 0 and the last intercept. False, and nothing is changed, unless it converges.
        """
        cdef double length = 0.0, b = self.intercept, value = self.value, before, along, by
        cdef double profiled
        cdef double* target = &self.target[0]
        cdef double[5] sums
        cdef LossRows rows = self.rows_at(&self.scores[0])
        cdef int step
        found[0] = 0.0
        scores_along(&self.u[0], &self.u[0], 0.0, b, self.n, &self.scores[0])
        for step in range(NEWTON_STEPS):
            second_derivatives(&rows, target, &self.second[0])
            slopes_and_curvatures(
                self.each(), target, &self.second[0], &self.change[0], self.n, sums)
            by = 0.0
            if not self.has_intercept:
                if not sums[1] > 0:
                    return False
                along = min(sums[0] / sums[1], longest - length)
            else:
                if not sums[4] > 0:
                    return False
                # The curvature of the risk at the best intercept.
                profiled = sums[1] - sums[3] * sums[3] / sums[4]
                if not profiled > LEAST_CURVATURE_SHARE * sums[1]:
                    return False
                along = min((sums[0] - sums[3] / sums[4] * sums[2]) / profiled, longest - length)
                by = (sums[2] - sums[3] * along) / sums[4]
            # At the end of the range, beyond which the risk falls, the intercept follows later.
            if length == longest and along == 0.0:
                self.intercept, found[0] = b + by, length
                return True
            length += along
            b += by
            if fabs(along) <= CLOSE_STEP * fabs(length) and fabs(by) <= CLOSE_STEP * fabs(b):
                self.intercept, found[0] = b, length
                return True
            scores_along(&self.u[0], &self.change[0], length, b, self.n, &self.scores[0])
            before = value
            target = &self.trial[0]
            value = sum_losses(&rows, target)
            if not value <= before + ROUNDING_OF_RISK * fabs(before):
                return False
        return False
