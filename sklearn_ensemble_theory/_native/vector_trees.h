/* Adds vectors of rows to the cells of their bins. */
#ifndef ENSEMBLE_VECTOR_TREES_H
#define ENSEMBLE_VECTOR_TREES_H

#include "several_rows.h"

/* Add `size` numbers, 8 or 4, of m rows to the cells of their codes; a code above `last` counts as
   `last`. Rows are counted from `first` where `rows` is NULL. Both strides are in numbers. */
SEVERAL_ROWS
static void add_numbers(
    const uint8_t *restrict column, int last, const int32_t *restrict rows, ptrdiff_t first,
    ptrdiff_t m, const double *restrict values, double *restrict cells, ptrdiff_t stride, int size)
{
    for (ptrdiff_t k = 0; k < m; k++) {
        ptrdiff_t i = rows ? rows[k] : first + k;
        int code = column[i] < last ? column[i] : last;
        const double *some = values + i * stride;
        double *to = cells + code * stride;
        if (size == 8)
            for (int d = 0; d < 8; d++)
                to[d] += some[d];
        else
            for (int d = 0; d < 4; d++)
                to[d] += some[d];
    }
}

#endif
