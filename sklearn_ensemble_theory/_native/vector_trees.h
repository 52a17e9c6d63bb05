/* Adds vectors of rows to the cells of their bins, and makes tables of cells. */
#ifndef ENSEMBLE_VECTOR_TREES_H
#define ENSEMBLE_VECTOR_TREES_H

#include <stdlib.h>

#include "several_rows.h"

/* A table begins where a line of the cache does: fewer vectors lie in two lines. */
enum { LINE = 64 };

static inline double *new_table(size_t size)
{
    char *piece = malloc(size + 2 * LINE);
    if (!piece)
        return NULL;
    char *table = piece + LINE + (LINE - (uintptr_t)piece % LINE) % LINE;
    ((void **)table)[-1] = piece;
    return (double *)table;
}

static inline void free_table(double *table)
{
    if (table)
        free(((void **)table)[-1]);
}

/* Add SIZE numbers of m rows to the cells of their codes in two columns: neither waits for the other
   where the codes of one stay the same. A code above `last` counts as `last`; strides are in numbers. */
#define ADD_NUMBERS(NAME, SIZE)                                                                    \
    SEVERAL_ROWS                                                                                   \
    static void NAME(                                                                              \
        const uint8_t *column, const uint8_t *other, int last, const int32_t *rows,                \
        ptrdiff_t m, const double *restrict values, double *restrict cells,                        \
        double *restrict other_cells, ptrdiff_t stride)                                            \
    {                                                                                              \
        for (ptrdiff_t k = 0; k < m; k++) {                                                        \
            ptrdiff_t i = rows[k];                                                                 \
            const double *some = values + i * stride;                                              \
            double *to = cells + (column[i] < last ? column[i] : last) * stride;                   \
            double number[SIZE], sum[SIZE];                                                        \
            for (int d = 0; d < SIZE; d++)                                                         \
                number[d] = some[d];                                                               \
            for (int d = 0; d < SIZE; d++)                                                         \
                sum[d] = to[d] + number[d];                                                        \
            for (int d = 0; d < SIZE; d++)                                                         \
                to[d] = sum[d];                                                                    \
            if (other) {                                                                           \
                to = other_cells + (other[i] < last ? other[i] : last) * stride;                   \
                for (int d = 0; d < SIZE; d++)                                                     \
                    sum[d] = to[d] + number[d];                                                    \
                for (int d = 0; d < SIZE; d++)                                                     \
                    to[d] = sum[d];                                                                \
            }                                                                                      \
        }                                                                                          \
    }

ADD_NUMBERS(add_8_numbers, 8)
ADD_NUMBERS(add_4_numbers, 4)

#endif
