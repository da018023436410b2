/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning of every benchmark's guest: freestanding 64-bit code at CPL 0, in general registers
 * alone, that ends with HLT. */
#ifndef PTSIM_TESTS_BENCH_START_H
#define PTSIM_TESTS_BENCH_START_H

#include <stddef.h>
#include <stdint.h>

/* Does the work; what it returns is left in RAX, so that nothing of it is optimized away. */
uint64_t work(void);

__asm__(".globl _start\n"
        "_start:\n"
        "    call work\n"
        "    hlt\n");

/* The compiler makes calls of these out of loops. */
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    while (size--)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int value, size_t size)
{
    unsigned char *t = to;

    while (size--)
        *t++ = (unsigned char)value;
    return to;
}

static inline uint32_t random32(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
