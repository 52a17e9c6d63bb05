/* Loops of the growth of forest trees in which several rows or cells are taken at a time. */
#ifndef ENSEMBLE_FOREST_TREES_H
#define ENSEMBLE_FOREST_TREES_H

#include <string.h>

#include "several_rows.h"

/* How many of n keys are smaller than each of eight. */
#if defined(__GNUC__)
typedef int32_t FourKeys __attribute__((vector_size(16)));

static inline void count_smaller(
    const int32_t *keys, ptrdiff_t n, const int32_t *eight, int32_t *count)
{
    FourKeys a, b, count_a = {0}, count_b = {0};
    memcpy(&a, eight, sizeof a);
    memcpy(&b, eight + 4, sizeof b);
    for (ptrdiff_t k = 0; k < n; k++) {
        FourKeys key = {keys[k], keys[k], keys[k], keys[k]};
        count_a -= key < a; /* what is true is -1 */
        count_b -= key < b;
    }
    memcpy(count, &count_a, sizeof a);
    memcpy(count + 4, &count_b, sizeof b);
}
#else
static inline void count_smaller(
    const int32_t *keys, ptrdiff_t n, const int32_t *eight, int32_t *count)
{
    for (int i = 0; i < 8; i++)
        count[i] = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        for (int i = 0; i < 8; i++)
            count[i] += keys[k] < eight[i];
}
#endif

/* Sort n different keys: the place of each is the number of smaller ones. There is no branch to be
   predicted: up to 40 keys take a third of the time of a sort by insertion. They are read in blocks
   of eight, behind the last one too. */
static inline void sort_few(const int32_t *restrict keys, ptrdiff_t n, int32_t *restrict sorted)
{
    int32_t place[8];
    for (ptrdiff_t first = 0; first < n; first += 8) {
        count_smaller(keys, n, keys + first, place);
        for (int i = 0; i < 8 && first + i < n; i++)
            sorted[place[i]] = keys[first + i];
    }
}

/* Whether one of n cuts may have S²/W + S2²/W2 of at least `least`, which is compared without a
   division. s, w: the sums to the left of each cut. */
SEVERAL_ROWS static int may_score(
    const double *restrict s, const double *restrict w, ptrdiff_t n, double s_all, double w_all,
    double least)
{
    int64_t found = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        double s2 = s_all - s[k], w2 = w_all - w[k];
        found |= s[k] * s[k] * w2 + s2 * s2 * w[k] >= least * (w[k] * w2) ? 1 : 0;
    }
    return found != 0;
}
#endif
