/* Pages with sliders. Each panel of PANELS has sliders, and `show`, which turns their values into
   curves, marks and numbers; `chart` draws these as the text of an SVG element. The directive
   `play` of docs/_ext/play.py places a panel on a page. tests/test_play.py runs this file in Node
   and compares every number with the functions of the package. */
(function () {
  "use strict";

  const range = (low, high, step = 1) => {
    const count = Math.round((high - low) / step);
    return Array.from({ length: count + 1 }, (_, i) => Number((low + i * step).toPrecision(12)));
  };
  /* 1, 1.5, 2, 3, 5 and 7 times the powers of ten from 10^low up to 10^high. */
  const decades = (low, high) =>
    range(low, high).flatMap((k) =>
      (k === high ? [1] : [1, 1.5, 2, 3, 5, 7]).map((m) => Number((m * 10 ** k).toPrecision(2))));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const along = (xs, f) => xs.map((x) => [x, f(x)]);
  const geometric = (low, high, n) => range(0, n).map((i) => low * (high / low) ** (i / n));

  // --- formulas -------------------------------------------------------------------------------

  /* floor(t / rate), where a quotient that is whole but for rounding counts as whole. */
  const rounds = (t, rate) => Math.floor((t / rate) * (1 + 4e-16) + 1e-12 * Math.min(t / rate, 1));
  const residual = (mu, t, rate) =>
    rate ? (1 - rate * mu) ** rounds(t, rate) : Math.exp(-mu * t);
  const EIGENVALUES = range(1, 100).map((i) => i ** -4);

  /* s of d directions of equal length; y has the mean square 1 in them. */
  const projectionRisk = (s, m, noise, n = 100, d = 50) => {
    const q = s / d;
    return (noise / n) * ((1 - 1 / m) * d * q * q + s / m) + (1 - q) ** 2 + (q * (1 - q)) / m;
  };
  const projectionBound = (s, noise, n = 100, d = 50) => (noise * s) / n + (2 * d) / (s + 2);

  const neighborWeights = {
    without(n, s) { // C(n - i, s - 1) / C(n, s), each from the one before it
      const weights = [s / n];
      for (let i = 1; i < n; i += 1) {
        weights.push(weights[i - 1] * Math.max(0, (n - i - s + 1) / (n - i)));
      }
      return weights;
    },
    with: (n, s) => range(1, n).map((i) => (1 - (i - 1) / n) ** s - (1 - i / n) ** s),
    bernoulli: (n, s) => range(1, n).map((i) => (s / n) * (1 - s / n) ** (i - 1)),
  };
  const squares = (weights) => sum(weights.map((w) => w * w));

  /* P(X > 2 x) and P(X < 2 x) for a chi-square variable X with 2 a degrees of freedom, a whole. */
  const above = (a, x) => {
    let term = Math.exp(-x), total = term;
    for (let k = 1; k < a; k += 1) total += term *= x / k;
    return total;
  };
  const below = (a, x) => {
    let term = Math.exp(-x), total = 0;
    for (let k = 1; k <= a; k += 1) term *= x / k;
    for (let k = a + 1; term > 1e-18 * total; k += 1) {
      total += term;
      term *= x / k;
    }
    return total;
  };
  const distortion = (s, eps) =>
    above(s / 2, (s / 2) * (1 + eps)) + below(s / 2, (s / 2) * (1 - eps));

  /* Members of a vote: the labels that stumps give, and their normalised margins. */
  const marginsAfter = ({ x, y, stumps }, count) => {
    const used = stumps.slice(0, count), total = sum(used.map((stump) => stump[3]));
    return y.map((label, i) =>
      (label * sum(used.map(([j, threshold, left, alpha]) =>
        alpha * (x[i][j] <= threshold ? left : -left)))) / total);
  };
  const exponentialRisk = ({ stumps }, count) =>
    stumps.slice(0, count).reduce((risk, stump) => risk / Math.cosh(stump[3]), 1);

  const averageVariance = (B, rho, sigma2) => rho * sigma2 + ((1 - rho) * sigma2) / B;

  const sequence = (c, first, count) => {
    const values = [first];
    for (let t = 1; t <= count; t += 1) {
      const a = values[t - 1];
      values.push(Math.max(a - c * a * a, 0));
    }
    return values;
  };
  const descent = (slope, u, count) => {
    const values = [u];
    for (let t = 1; t <= count; t += 1) values.push(values[t - 1] - slope(values[t - 1]));
    return values;
  };
  const greedyBound = (gauge, excess, t) =>
    Math.min(excess, ((2 * gauge ** 2 * excess ** 4) / t) ** 0.2);
  const noisePart = (t, sigma, n = 20) => {
    const filters = range(2, n).map((i) => (1 - Math.exp(-t * i ** -4)) ** 2);
    return (sigma ** 2 / n) * (1 + sum(filters));
  };

  // --- panels ---------------------------------------------------------------------------------

  const line = (name, points, color = 0, dash = "") => ({ name, points, color, dash });
  const PRINTED = 2, CORRECTED = 0, TRUTH = 1;

  /* A panel of an erratum: what is true, and what the printed and the corrected formula say of it.
     `relation` is "equal" for an identity, and "most" for a bound. */
  const erratum = (relation, what, find) => (values, data) => {
    const found = find(values, data);
    const { printed, corrected, truth, x, y, at } = found;
    const is = (claim) => relation === "most"
      ? truth <= claim * (1 + 1e-9) + 1e-12
      : Math.abs(truth - claim) <= 1e-9 * Math.max(Math.abs(truth), Math.abs(claim));
    const verb = relation === "most" ? "at most" : "equal to";
    const named = [["printed formula", printed], ["corrected formula", corrected], [what, truth]];
    const curves = [
      line("corrected", found.curves[1], CORRECTED),
      line("printed", found.curves[0], PRINTED, "7 4"),
    ];
    if (found.curves[2]) curves.push(line(found.third || what, found.curves[2], TRUTH, "2 3"));
    return {
      x, y, curves,
      marks: [[at, truth, TRUTH], [at, printed, PRINTED], [at, corrected, CORRECTED]],
      numbers: named,
      holds: { printed: is(printed), corrected: is(corrected) },
      says: is(printed)
        ? "Here the printed formula holds as well."
        : `The printed formula fails: ${what}, ${say(truth)}, is not ${verb} ${say(printed)}.`,
    };
  };

  const PANELS = {
    "spectral-filter": {
      sliders: {
        t: ["time t", decades(-1, 4)],
        rate: ["learning rate λ, 0 for the limit", range(0, 1, 0.05)],
      },
      start: { t: 3, rate: 0.5 },
      show({ t, rate }) {
        const share = (mu, speed) => 1 - residual(mu, t, speed);
        const grid = geometric(1e-4, 1, 240);
        const df = sum(EIGENVALUES.map((mu) => share(mu, rate)));
        return {
          x: { label: "eigenvalue μ of the learner", range: [1e-4, 1], log: true },
          y: { label: "share that is fitted", range: [0, 1] },
          curves: [
            line("limit of small rates, 1 - exp(-tμ)", along(grid, (mu) => share(mu, 0)), 1, "2 3"),
            line(`λ = ${say(rate)}`, along(grid, (mu) => share(mu, rate)), 0),
          ],
          marks: [1, 0.1, 0.01].map((mu) => [mu, share(mu, rate), 0]),
          numbers: [
            ["rounds t/λ", rate ? rounds(t, rate) : Infinity],
            ["fitted at μ = 1", share(1, rate)],
            ["at μ = 0.1", share(0.1, rate)],
            ["at μ = 0.01", share(0.01, rate)],
            ["at μ = 0.01 in the limit", share(0.01, 0)],
            ["degrees of freedom for μ = i⁻⁴, i ≤ 100", df],
          ],
        };
      },
    },
    projections: {
      sliders: {
        s: ["dimension s of a projection", range(1, 50)],
        m: ["projections m in the average", decades(0, 3).filter(Number.isInteger)],
        sigma: ["standard deviation σ of the noise", [0.5, 1, 1.5, 2, 3]],
      },
      start: { s: 20, m: 5, sigma: 1 },
      show({ s, m, sigma }) {
        const sizes = range(1, 50), noise = sigma ** 2;
        const risk = (size) => projectionRisk(size, m, noise);
        const best = sizes.reduce((a, b) => (risk(b) < risk(a) ? b : a));
        return {
          x: { label: "dimension s", range: [1, 50] },
          y: { label: "excess risk", range: [0, 1.15 * Math.max(1, noise / 2)] },
          curves: [
            line("one projection", along(sizes, (size) => projectionRisk(size, 1, noise)), 2, "7 4"),
            line(`mean of ${m}`, along(sizes, risk), 0),
            line("limit", along(sizes, (size) => projectionRisk(size, Infinity, noise)), 1, "2 3"),
          ],
          marks: [[s, risk(s), 0]],
          numbers: [
            ["risk", risk(s)],
            ["of one projection", projectionRisk(s, 1, noise)],
            ["in the limit of many", projectionRisk(s, Infinity, noise)],
            ["bound for any columns and signal", projectionBound(s, noise)],
            ["best s for this m", best],
            ["its risk", risk(best)],
          ],
        };
      },
    },
    neighbors: {
      sliders: { s: ["rows drawn s, of n = 100", range(1, 100)] },
      start: { s: 10 },
      show({ s }) {
        const shown = Math.min(100, Math.max(10, Math.ceil(400 / s)));
        const names = { without: "without replacement", with: "with replacement" };
        const all = Object.fromEntries(
          Object.keys(neighborWeights).map((kind) => [kind, neighborWeights[kind](100, s)]));
        const points = (kind) => all[kind].slice(0, shown).map((w, i) => [i + 1, w]);
        return {
          x: { label: "rank of the row by its distance", range: [0.5, shown + 0.5] },
          y: { label: "weight", range: [0, 1.08 * Math.max(all.without[0], all.with[0])] },
          curves: [
            { ...line(names.without, points("without"), 0), bars: true },
            line(names.with, points("with"), 2, "7 4"),
            line("Bernoulli draws, q = s/n", points("bernoulli"), 1, "2 3"),
          ],
          marks: [],
          numbers: [
            ["weight of the nearest row, without replacement", all.without[0]],
            ["with replacement", all.with[0]],
            ["of the fifth row, without", all.without[4]],
            ["sum of squares, without", squares(all.without)],
            ["with", squares(all.with)],
            ["Bernoulli", squares(all.bernoulli)],
            ["as many equal weights, without", 1 / squares(all.without)],
          ],
        };
      },
    },
    margins: {
      sliders: {
        rounds: ["rounds of AdaBoost", [...range(1, 20), ...range(25, 200, 5)]],
        theta: ["margin θ", range(-0.2, 0.6, 0.02)],
      },
      start: { rounds: 10, theta: 0.1 },
      show({ rounds: count, theta }, data) {
        const margins = marginsAfter(data, count).sort((a, b) => a - b), n = margins.length;
        const share = (level, strict) =>
          margins.filter((m) => (strict ? m < level : m <= level)).length / n;
        const steps = [[-1, 0]];
        margins.forEach((m, i) => steps.push([m, i / n], [m, (i + 1) / n]));
        steps.push([1, 1]);
        return {
          x: { label: "margin", range: [-1, 1] },
          y: { label: "share of rows up to it", range: [0, 1] },
          curves: [
            line("0", [[0, 0], [0, 1]], 3, "1 4"),
            line("θ", [[theta, 0], [theta, 1]], 2, "7 4"),
            line(`after ${count} rounds`, steps, 0),
          ],
          marks: [[theta, share(theta), 0]],
          numbers: [
            ["training error", share(0, true)],
            ["error on new rows", data.test[count - 1]],
            ["least margin", margins[0]],
            ["mean margin", sum(margins) / n],
            ["share of rows up to θ", share(theta)],
            ["exponential risk, a bound on the training error", exponentialRisk(data, count)],
          ],
        };
      },
    },
    forest: {
      sliders: {
        B: ["trees B", decades(0, 3).filter(Number.isInteger)],
        mtry: ["tried variables m_try, of 10", range(1, 10)],
      },
      start: { B: 5, mtry: 3 },
      show({ B, mtry }, { rho, sigma2, bias2 }) {
        const tried = range(1, 10);
        const variance = (m, size) => averageVariance(size, rho[m - 1], sigma2[m - 1]);
        const total = (m, size) => bias2[m - 1] + variance(m, size);
        return {
          x: { label: "tried variables m_try", range: [0.7, 10.3] },
          y: { label: "expected squared error", range: [0, 38] },
          curves: [
            line("squared bias", along(tried, (m) => bias2[m - 1]), 2, "7 4"),
            line(`variance of ${B} trees`, along(tried, (m) => variance(m, B)), 1, "2 3"),
            line("both", along(tried, (m) => total(m, B)), 0),
            line("both, infinitely many trees", along(tried, (m) => total(m, Infinity)), 3, "1 4"),
          ],
          marks: [[mtry, bias2[mtry - 1], 2], [mtry, variance(mtry, B), 1], [mtry, total(mtry, B), 0]],
          numbers: [
            ["squared bias", bias2[mtry - 1]],
            ["variance", variance(mtry, B)],
            ["both", total(mtry, B)],
            ["infinitely many trees", total(mtry, Infinity)],
            ["correlation of two trees", rho[mtry - 1]],
            ["variance of one tree", sigma2[mtry - 1]],
            ["best m_try for this B", tried.reduce((a, b) => (total(b, B) < total(a, B) ? b : a))],
          ],
        };
      },
    },

    // --- errata ---
    "averaged-neighbours": {
      sliders: {
        m: ["data sets m", range(1, 20)],
        k: ["neighbours k", range(1, 20)],
        sigma: ["standard deviation σ of the noise", [0.5, 1, 2, 5]],
      },
      start: { m: 1, k: 3, sigma: 1 },
      show: erratum("equal", "the variance", ({ m, k, sigma }) => {
        const grid = range(1, 20), noise = sigma ** 2;
        return {
          printed: noise / k, corrected: noise / (m * k), truth: noise / (m * k), at: m,
          x: { label: "data sets m", range: [1, 20] },
          y: { label: "variance", range: [0, (1.15 * noise) / k] },
          curves: [along(grid, () => noise / k), along(grid, (j) => noise / (j * k))],
        };
      }),
    },
    "bagged-variance": {
      sliders: {
        sigma: ["standard deviation σ of the noise", range(0.5, 5, 0.25)],
        s: ["rows drawn s, of n = 100", range(1, 60)],
      },
      start: { sigma: 1, s: 10 },
      show: erratum("most", "the variance", ({ sigma, s }) => {
        const bound = (size) => size / 100 / (1 + 1 / 100 - size / 100) ** 2;
        const truth = (size) => sigma ** 2 * squares(neighborWeights.without(100, size));
        const grid = range(1, 60);
        return {
          printed: bound(s), corrected: sigma ** 2 * bound(s), truth: truth(s), at: s,
          x: { label: "rows drawn s", range: [1, 60] },
          y: { label: "variance", range: [0, 1.3 * Math.max(1, sigma ** 2) * bound(Math.max(s, 10))] },
          curves: [along(grid, bound), along(grid, (j) => sigma ** 2 * bound(j)), along(grid, truth)],
        };
      }),
    },
    "random-features": {
      sliders: {
        n: ["rows n", [1, 2, 3, 4, 5, 7, 10, 20, 50, 100, 1000]],
        s: ["features s", range(1, 50)],
        p: ["probability p that a feature is not 0", range(0.02, 0.5, 0.02)],
      },
      start: { n: 2, s: 10, p: 0.1 },
      show: erratum("most", "the bias", ({ n, s, p }) => {
        const printed = (size) => 2 / (n * p * (size + 1)), corrected = (size) => 1 / (p * size);
        const truth = (size) => (1 - p) ** size, grid = range(1, 50);
        return {
          printed: printed(s), corrected: corrected(s), truth: truth(s), at: s,
          x: { label: "features s", range: [1, 50] },
          y: { label: "squared bias", range: [0, 2] },
          curves: [along(grid, printed), along(grid, corrected), along(grid, truth)],
        };
      }),
    },
    "distances-tail": {
      sliders: {
        s: ["dimension s of the projection", range(2, 400, 2)],
        eps: ["relative change ε of a squared distance", range(0.05, 0.5, 0.05)],
      },
      start: { s: 10, eps: 0.3 },
      show: erratum("most", "the probability", ({ s, eps }) => {
        const tail = (divisor) => (size) => 2 * Math.exp((-size * eps ** 2) / divisor);
        const grid = range(2, 400, 6), truth = (size) => distortion(size, eps);
        return {
          printed: tail(3)(s), corrected: tail(6)(s), truth: truth(s), at: s,
          x: { label: "dimension s", range: [2, 400] },
          y: { label: "probability", range: [1e-8, 2], log: true },
          curves: [along(grid, tail(3)), along(grid, tail(6)), along(grid, truth)],
        };
      }),
    },
    "adaboost-factor": {
      sliders: { e: ["edge e of every round", range(0, 0.9, 0.05)], t: ["rounds t", range(1, 30)] },
      start: { e: 0, t: 5 },
      show: erratum("equal", "the risk", ({ e, t }) => {
        const grid = range(0, 30), risk = (count) => (1 - e * e) ** (count / 2);
        return {
          printed: (1 - e * e) ** t, corrected: risk(t), truth: risk(t), at: t,
          x: { label: "rounds t", range: [0, 30] },
          y: { label: "exponential risk", range: [0, 1.05] },
          curves: [along(grid, (count) => (1 - e * e) ** count), along(grid, risk)],
        };
      }),
    },
    "pursuit-sign": {
      sliders: { angle: ["angle between y and ψ, in degrees", range(0, 180, 5)] },
      start: { angle: 120 },
      show: erratum("equal", "the promised risk", ({ angle }) => {
        const c = Math.cos((angle * Math.PI) / 180), grid = range(0, 180, 2);
        const after = (degrees, printed) => {
          const cos = Math.cos((degrees * Math.PI) / 180), step = printed ? -Math.abs(cos) : cos;
          return 0.5 - step * cos + step ** 2 / 2;
        };
        return {
          printed: after(angle, true), corrected: after(angle, false), truth: (1 - c * c) / 2,
          at: angle, third: "before the step",
          x: { label: "angle between y and ψ, in degrees", range: [0, 180] },
          y: { label: "risk after the first step", range: [0, 2.1] },
          curves: [
            along(grid, (degrees) => after(degrees, true)),
            along(grid, (degrees) => after(degrees, false)),
            along(grid, () => 0.5),
          ],
        };
      }),
    },
    "sequence-lemma": {
      sliders: {
        c: ["constant c", decades(-2, 0).concat([1.5, 2])],
        first: ["first element a₀", [0.1, 0.2, 0.3, 0.5, 0.7, 1]],
        t: ["index t", range(1, 50)],
      },
      start: { c: 1, first: 0.5, t: 20 },
      show: erratum("most", "the element", ({ c, first, t }) => {
        const grid = range(0, 50), values = sequence(c, first, 50);
        const printed = (j) => 1 / (j / c + 1 / first), corrected = (j) => 1 / (c * j + 1 / first);
        return {
          printed: printed(t), corrected: corrected(t), truth: values[t], at: t,
          x: { label: "index t", range: [0, 50] },
          y: { label: "element and bounds", range: [0, 1.1 * first] },
          curves: [along(grid, printed), along(grid, corrected), along(grid, (j) => values[j])],
        };
      }),
    },
    "needs-convexity": {
      sliders: {
        start: ["start u₀, in units of π/20", range(1, 20)],
        t: ["rounds t", decades(0, 4).filter(Number.isInteger)],
      },
      start: { start: 18, t: 100 },
      show({ start, t }) {
        const u = (start / 20) * Math.PI, gap = { bent: 1 - Math.cos(u), convex: Math.log(Math.cosh(u)) };
        const bent = descent(Math.sin, u, 10000).map((v) => 1 - Math.cos(v));
        const convex = descent(Math.tanh, u, 10000).map((v) => Math.log(Math.cosh(v)));
        const bound = (kind) => (count) => greedyBound(u, gap[kind], count);
        const grid = decades(0, 4).filter(Number.isInteger);
        const holds = bent[t] <= bound("bent")(t) * (1 + 1e-9);
        return {
          x: { label: "rounds t", range: [1, 10000], log: true },
          y: { label: "excess of the risk", range: [0, 2.6] },
          curves: [
            line("bound, 1 - cos u", along(grid, bound("bent")), 2, "7 4"),
            line("1 - cos u", along(grid, (count) => bent[count]), 1, "2 3"),
            line("bound, log cosh u", along(grid, bound("convex")), 0),
            line("log cosh u", along(grid, (count) => convex[count]), 3, "1 4"),
          ],
          marks: [[t, bent[t], 1], [t, bound("bent")(t), 2]],
          numbers: [
            ["excess of 1 - cos u", bent[t]],
            ["its bound", bound("bent")(t)],
            ["excess of log cosh u, which is convex", convex[t]],
            ["bound for it", bound("convex")(t)],
          ],
          holds: { printed: holds, corrected: convex[t] <= bound("convex")(t) * (1 + 1e-9) },
          says: holds
            ? "Here the bound holds for both functions."
            : `The bound fails without convexity: ${say(bent[t])} is above ${say(bound("bent")(t))}.`,
        };
      },
    },
    "test-error": {
      sliders: {
        sigma: ["standard deviation σ of the noise", range(0, 2, 0.1)],
        t: ["time t", decades(-1, 4)],
      },
      start: { sigma: 0, t: 10 },
      show: erratum("equal", "the variance", ({ sigma, t }) => {
        const grid = geometric(0.1, 1e4, 80), noise = sigma ** 2;
        const corrected = (time) => noise + noisePart(time, sigma);
        return {
          printed: noisePart(t, sigma), corrected: corrected(t), truth: corrected(t), at: t,
          x: { label: "time t", range: [0.1, 1e4], log: true },
          y: { label: "variance part", range: [0, Math.max(0.1, 2.2 * noise)] },
          curves: [along(grid, (time) => noisePart(time, sigma)), along(grid, corrected)],
        };
      }),
    },
  };

  // --- drawing --------------------------------------------------------------------------------

  function say(value) {
    if (!Number.isFinite(value)) return value === Infinity ? "∞" : String(value);
    if (Number.isInteger(value)) return String(value);
    const text = Number(value.toPrecision(4));
    return Math.abs(text) < 1e-3 ? text.toExponential() : String(text);
  }
  const escaped = (text) =>
    String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

  function ticks({ range: [low, high], log }, room) {
    if (log) {
      const powers = range(Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9));
      const every = Math.ceil(powers.length / room);
      return powers.filter((_, i) => i % every === 0).map((k) => 10 ** k);
    }
    const rough = (high - low) / room, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((size) => size >= rough);
    return range(Math.ceil(low / step - 1e-9) * step, Math.floor(high / step + 1e-9) * step, step);
  }

  /* An SVG element of that width, in pixels, as text; its colours are those of the page. */
  function chart({ x, y, curves, marks, numbers }, width) {
    const letter = 6.6, rows = [[]];
    let used = 0;
    for (const curve of curves) {
      const size = 44 + letter * curve.name.length;
      if (used && used + size > width - 20) {
        rows.push([]);
        used = 0;
      }
      rows[rows.length - 1].push([used, curve]);
      used += size;
    }
    const left = 64, right = 22, top = 12 + 20 * rows.length, bottom = 46;
    const height = Math.round(Math.min(380, 0.5 * width + 60)) + top;
    const w = width - left - right, h = height - top - bottom;
    const place = ({ range: [low, high], log }, size) => (value) => log
      ? (size * Math.log(value / low)) / Math.log(high / low)
      : (size * (value - low)) / (high - low);
    const px = place(x, w), along_y = place(y, h);
    /* Far above or below the picture all heights look alike; a log axis has no 0. */
    const py = (value) => h - Math.max(-h, Math.min(2 * h, y.log && value <= 0 ? -h : along_y(value)));
    const number = (value) => value.toFixed(1);
    const parts = [];
    rows.forEach((row, i) => row.forEach(([at, { name, color, dash, bars }]) => {
      const level = 14 + 20 * i;
      parts.push(
        bars
          ? `<rect class="bar" x="${number(at + 16)}" y="${level - 6}" width="10" height="10"/>`
          : `<line class="k${color}" x1="${number(at + 6)}" x2="${number(at + 32)}" y1="${level}" ` +
            `y2="${level}" stroke-dasharray="${dash}"/>`,
        `<text x="${number(at + 38)}" y="${level + 4}">${escaped(name)}</text>`);
    }));
    parts.push(`<g transform="translate(${left} ${top})">`);
    for (const value of ticks(x, Math.max(3, Math.floor(w / 70)))) {
      const at = number(px(value));
      parts.push(`<line class="grid" x1="${at}" x2="${at}" y1="0" y2="${h}"/>`,
        `<text x="${at}" y="${h + 18}" text-anchor="middle">${say(value)}</text>`);
    }
    for (const value of ticks(y, 5)) {
      const at = number(py(value));
      parts.push(`<line class="grid" x1="0" x2="${w}" y1="${at}" y2="${at}"/>`,
        `<text x="-6" y="${number(py(value) + 4)}" text-anchor="end">${say(value)}</text>`);
    }
    parts.push(`<svg width="${w}" height="${h}" overflow="hidden">`);
    for (const { points, color, dash, bars } of curves) {
      const seen = points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
      if (bars) {
        const wide = Math.max(1, 0.7 * (px(2) - px(1)));
        seen.forEach(([a, b]) => parts.push(
          `<rect class="bar" x="${number(px(a) - wide / 2)}" y="${number(py(b))}" ` +
          `width="${number(wide)}" height="${number(Math.max(0, h - py(b)))}"/>`));
      } else {
        const text = seen.map(([a, b]) => `${number(px(a))} ${number(py(b))}`).join("L");
        parts.push(`<path class="k${color}" d="M${text}" stroke-dasharray="${dash}"/>`);
      }
    }
    marks.filter((mark) => Number.isFinite(mark[1])).forEach(([a, b, color]) => parts.push(
      `<circle class="k${color}" cx="${number(px(a))}" cy="${number(py(b))}" r="5"/>`));
    parts.push("</svg>", `<path class="axes" d="M0 0V${h}H${w}"/>`,
      `<text x="${number(w / 2)}" y="${h + 38}" text-anchor="middle">${escaped(x.label)}</text>`,
      `<text transform="translate(-50 ${number(h / 2)}) rotate(-90)" text-anchor="middle">` +
      `${escaped(y.label)}</text>`, "</g>");
    const read = numbers.map(([name, value]) => `${name} ${say(value)}`).join(", ");
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" ` +
      `aria-label="${escaped(`${y.label} by ${x.label}: ${read}`)}">${parts.join("")}</svg>`;
  }

  // --- the page -------------------------------------------------------------------------------

  function place(box) {
    const panel = PANELS[box.dataset.panel];
    const stored = box.querySelector('script[type="application/json"]');
    const data = stored && JSON.parse(stored.textContent);
    const make = (name, className, parent) => {
      const element = document.createElement(name);
      element.className = className;
      return parent.appendChild(element);
    };
    const controls = make("div", "play-controls", box), values = { ...panel.start };
    const picture = make("div", "play-picture", box);
    const numbers = make("output", "play-numbers", box);
    const verdict = make("output", "play-verdict", box);
    let shown = 0;
    const draw = () => {
      const found = panel.show(values, data);
      shown = Math.max(300, Math.min(760, Math.floor(box.clientWidth)));
      picture.innerHTML = chart(found, shown);
      numbers.innerHTML = found.numbers
        .map(([name, value]) => `<span>${escaped(name)}: <b>${say(value)}</b></span>`).join(" ");
      verdict.textContent = found.says || "";
      box.classList.toggle("play-fails", Boolean(found.holds && !found.holds.printed));
    };
    for (const [key, [label, choices]] of Object.entries(panel.sliders)) {
      const row = make("label", "", controls);
      make("span", "", row).textContent = label;
      const input = make("input", "", row), output = make("b", "", row);
      output.setAttribute("aria-hidden", "true"); // the slider reads it
      Object.assign(input, { type: "range", min: 0, max: choices.length - 1, step: 1 });
      input.value = choices.indexOf(panel.start[key]);
      input.setAttribute("aria-label", label);
      const read = () => {
        values[key] = choices[Number(input.value)];
        output.textContent = say(values[key]);
        input.setAttribute("aria-valuetext", say(values[key]));
      };
      input.addEventListener("input", () => {
        read();
        draw();
      });
      read();
    }
    box.querySelector(".play-without").hidden = true;
    draw();
    window.addEventListener("resize", () => {
      if (Math.abs(box.clientWidth - shown) > 8) draw();
    });
  }

  if (typeof module !== "undefined") module.exports = { PANELS, chart, say };
  else document.querySelectorAll(".play[data-panel]").forEach(place);
})();
