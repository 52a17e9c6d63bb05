/* Loops over cuts and over the cells of a pair that are fast only where the compiler takes several
   of them at a time. */
#ifndef ENSEMBLE_ADDITIVE_H
#define ENSEMBLE_ADDITIVE_H

#include "several_rows.h"

/* The cell of each row in a table with one more axis, of so many bins. */
#define CELLS_OF_ROWS(name, type)                                                             \
    SEVERAL_ROWS static void name(                                                            \
        const uint32_t *restrict before, uint32_t n_bins, const type *restrict code,          \
        ptrdiff_t m, uint32_t *restrict cells)                                                \
    {                                                                                         \
        for (ptrdiff_t i = 0; i < m; i++)                                                     \
            cells[i] = before[i] * n_bins + code[i];                                          \
    }
CELLS_OF_ROWS(cells_of_8_bits, uint8_t)
CELLS_OF_ROWS(cells_of_16_bits, uint16_t)

/* One row of `scale_cut_products`: of the cut with the weight `own` of its left side, and `scale`.
   Without rows held out `held` is NULL. */
SEVERAL_ROWS static void scale_train_products(
    const double *restrict total, const double *restrict held, ptrdiff_t n, double weight,
    double own, double scale, const double *restrict left, const double *restrict scales,
    double *restrict out)
{
    double factor = scale / weight;
    if (held)
        for (ptrdiff_t k = 0; k < n; k++)
            out[k] = ((total[k] - held[k]) * weight - own * left[k]) * factor * scales[k];
    else
        for (ptrdiff_t k = 0; k < n; k++)
            out[k] = (total[k] * weight - own * left[k]) * factor * scales[k];
}

SEVERAL_ROWS static void scale_held_products(
    const double *restrict held, ptrdiff_t n, double weight, double held_weight, double own,
    double own_held, double scale, const double *restrict left, const double *restrict held_left,
    const double *restrict scales, double *restrict out)
{
    double share = own / weight;
    for (ptrdiff_t k = 0; k < n; k++) {
        double of_other = left[k] / weight;
        double centred = held[k] - share * (held_left[k] - of_other * held_weight);
        out[k] = (centred - own_held * of_other) * scale * scales[k];
    }
}
#endif
