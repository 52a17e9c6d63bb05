/* Loops over neighbours that are fast only where the compiler takes several points at a time. */
#ifndef ENSEMBLE_NEIGHBORS_H
#define ENSEMBLE_NEIGHBORS_H

#include "several_rows.h"

/* Squared distances from one point to the first m of n; columns: (d, n). */
SEVERAL_ROWS static void squares_to(
    const double *columns, ptrdiff_t n, ptrdiff_t m, const double *query, ptrdiff_t d,
    double *restrict out)
{
    for (ptrdiff_t i = 0; i < m; i++)
        out[i] = (columns[i] - query[0]) * (columns[i] - query[0]);
    for (ptrdiff_t c = 1; c < d; c++) {
        const double *restrict x = columns + c * n;
        double q = query[c];
        for (ptrdiff_t i = 0; i < m; i++)
            out[i] += (x[i] - q) * (x[i] - q);
    }
}

/* Whether each of m > 0 distances is larger than the one before it. */
SEVERAL_ROWS static void starts_of_row(
    const double *restrict distances, ptrdiff_t m, double share, uint8_t *restrict starts)
{
    starts[0] = 1;
    for (ptrdiff_t k = 1; k < m; k++)
        starts[k] = distances[k - 1] < share * distances[k];
}
#endif
