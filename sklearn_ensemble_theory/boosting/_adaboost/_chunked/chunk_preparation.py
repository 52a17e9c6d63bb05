"""From rows in chunks to the rounds of AdaBoost: classes, bins, codes and the first weights."""

import math
from typing import Any

from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.boosting._adaboost._chunked.summed_rounds import SummedRounds
from sklearn_ensemble_theory.boosting._adaboost._chunked.weighted_chunks import (
    UNIT_BITS,
    ClassSummary,
    class_counts,
    class_summary,
    coded_rows,
    first_part,
    start_scores,
    weight_sum,
)
from sklearn_ensemble_theory.boosting._steps import Step


def summary_of_chunks(rows: ChunkedRows) -> tuple[ClassSummary, ChunkedRows]:
    """What one pass over the rows finds, and the rows with that knowledge."""
    summary: ClassSummary = rows.sum(class_summary)
    return summary, rows.knowing(
        classes=summary.classes,
        weight_unit=power_of_two(summary.high_weight),
        equal_weights=summary.low_weight == summary.high_weight,
    )


def rounds_of_chunks(
    rows: ChunkedRows, summary: ClassSummary, stumps: Any, step: Step
) -> SummedRounds:
    """The rounds; one pass over the rows, after which their codes and scores are kept.

    Parameters
    ----------
    rows : ChunkedRows
    summary : ClassSummary
    stumps : SummedStumps
    step : Step
    """
    edges = summary.sketch.edges(stumps.max_bins)
    n_bins = max((len(e) for e in edges), default=0) + 1
    pairs = rows.map(coded_rows, edges, len(summary.classes))
    chunks, scores = pairs.map(first_part), pairs.map(start_scores, stumps.slots.shape[1])
    del pairs
    stumps.set_columns(edges, chunks.sum(class_counts, n_bins))
    if rows.checks.equal_weights:
        total = math.log(summary.n_rows)
    else:
        # Not the sum of the weights itself, which would depend on the order of the rows.
        bits = UNIT_BITS - summary.n_rows.bit_length()
        least = -math.log(summary.high_weight / rows.checks.weight_unit)
        total = math.log(chunks.sum(weight_sum, scores, least, bits)) - bits * math.log(2.0) - least
    return SummedRounds(chunks, scores, stumps, step, stumps.start_scores(), total)
