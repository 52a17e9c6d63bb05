"""Evaluation of the times of two sides: their ratio, their growth, and the limits of a case."""

import math
import statistics


def compare(case, record, peer, clock="seconds"):
    """Our time divided by the peer's: the median ratio of neighbouring runs, or None."""
    ours, theirs = record[case.ours], record[peer]
    if clock not in ours or clock not in theirs:
        return None
    pairs = zip(ours[clock], theirs[clock])
    return statistics.median(a / max(b, 1e-9) for a, b in pairs)


def check_against(case, record, peer, ratio):
    """(text, met) for each figure that the case requires against this peer."""
    if ratio is None:
        return []
    checks = []
    limit, margin = case.required("limit", peer), case.required("quality_margin", peer)
    if limit is not None:
        allowed = (limit + case.more_seconds / second for second in record[peer]["seconds"])
        more = f" + {case.more_seconds:g} s" if case.more_seconds else ""
        checks.append((f"ratio <= {limit:.3g}{more}", ratio <= statistics.median(allowed)))
    if margin is not None:
        loss = record[case.ours]["quality"] - record[peer]["quality"]
        loss = -loss if case.higher_is_better else loss
        text = "quality no worse" if margin == 0 else f"quality worse by <= {margin:g}"
        checks.append((text, loss <= margin))
    share = case.required("quality_ratio", peer)
    if share is not None:
        found = record[case.ours]["quality"] / record[peer]["quality"]
        checks.append((f"{case.metric} ratio <= {share:g}", found <= share))
    return checks


def check_alone(case, ours):
    """(text, met) for each figure that the case requires of this package alone."""
    checks = []
    if case.seconds_limit is not None and "seconds" in ours:
        met = statistics.median(ours["seconds"]) <= case.seconds_limit
        checks.append((f"ours <= {case.seconds_limit:g} s", met))
    if case.memory_limit is not None and ours.get("memory") is not None:
        met = ours["memory"] <= case.memory_limit * 2**20
        checks.append((f"ours <= {case.memory_limit:g} MB", met))
    return checks


def growth(values, seconds):
    """The exponent a of the least-squares fit seconds ~ values^a, or None."""
    if len(values) < 2 or not all(isinstance(v, int | float) and v > 0 for v in values):
        return None
    return statistics.linear_regression(
        [math.log(v) for v in values], [math.log(s) for s in seconds]
    ).slope
