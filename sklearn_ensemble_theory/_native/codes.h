/* The largest of some codes. Several are read at a time: a check of all of them costs far less than
   a loop that adds to the cells that they name. */
#ifndef ENSEMBLE_CODES_H
#define ENSEMBLE_CODES_H

#include "several_rows.h"

#define LARGEST_OF(name, type)                                             \
    SEVERAL_ROWS static inline type name(const type *codes, ptrdiff_t n)   \
    {                                                                      \
        type found = 0;                                                    \
        for (ptrdiff_t i = 0; i < n; i++)                                  \
            found = codes[i] > found ? codes[i] : found;                   \
        return found;                                                      \
    }
LARGEST_OF(largest_of_8_bits, uint8_t)
LARGEST_OF(largest_of_16_bits, uint16_t)
LARGEST_OF(largest_of_32_bits, uint32_t)
#endif
