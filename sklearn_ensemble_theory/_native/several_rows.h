/* For loops that are fast only where the compiler takes several rows at a time. */
#ifndef ENSEMBLE_SEVERAL_ROWS_H
#define ENSEMBLE_SEVERAL_ROWS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER)
/* Before `restrict` means another word: these headers say __declspec(restrict). */
#include <intrin.h>
#include <stdlib.h>
#define restrict __restrict
#endif

/* Code for AVX-512 and AVX2 beside that for all processors; the loader chooses, where it can. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#if __GNUC__ >= 12
#define SEVERAL_ROWS __attribute__((unused, target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SEVERAL_ROWS __attribute__((unused, target_clones("avx2", "default")))
#endif
#elif defined(__GNUC__)
#define SEVERAL_ROWS __attribute__((unused))
#else
#define SEVERAL_ROWS
#endif

#endif
