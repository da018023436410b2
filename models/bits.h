/* SPDX-License-Identifier: MIT */
/* The one bit-field helper. Positions are the manual's: bit 0 is the lowest. */
#ifndef PTSIM_BITS_H
#define PTSIM_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define BIT(n) (UINT64_C(1) << (n))

/* The mask of bits HI:LO, as the manual writes a field; 63 >= HI >= LO >= 0. */
#define BITS(hi, lo) ((~UINT64_C(0) >> (63 - (hi))) & (~UINT64_C(0) << (lo)))

static inline uint64_t bits_get(uint64_t value, unsigned hi, unsigned lo)
{
    return (value & BITS(hi, lo)) >> lo;
}

static inline uint64_t bits_put(uint64_t value, unsigned hi, unsigned lo, uint64_t field)
{
    return (value & ~BITS(hi, lo)) | ((field << lo) & BITS(hi, lo));
}

/* The position of the highest bit set in VALUE, which is not 0. */
static inline unsigned bits_top(uint64_t value)
{
#ifdef __GNUC__
    return 63U - (unsigned)__builtin_clzll(value);
#else
    unsigned top = 0;

    while (value >>= 1)
        top++;
    return top;
#endif
}

/* VALUE with bit WIDTH-1 copied into all bits above it; WIDTH is 1 to 64. */
static inline uint64_t sign_extend(uint64_t value, unsigned width)
{
    uint64_t sign = BIT(width - 1);

    value &= BITS(width - 1, 0);
    return (value ^ sign) - sign;
}

/* Whether ADDRESS is canonical in a linear-address width of WIDTH bits (SDM vol. 1, 3.3.7.1). */
static inline bool is_canonical(uint64_t address, unsigned width)
{
    return sign_extend(address, width) == address;
}

#endif
