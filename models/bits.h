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

/* The eight bytes at BUF as a number, the lowest first, and back. Byte for byte: compilers make one
 * load or store of it, which they do not of a loop. */
static inline uint64_t le64_get(const uint8_t *buf)
{
    return (uint64_t)buf[0] | (uint64_t)buf[1] << 8 | (uint64_t)buf[2] << 16 |
           (uint64_t)buf[3] << 24 | (uint64_t)buf[4] << 32 | (uint64_t)buf[5] << 40 |
           (uint64_t)buf[6] << 48 | (uint64_t)buf[7] << 56;
}

static inline void le64_put(uint8_t *buf, uint64_t value)
{
    buf[0] = (uint8_t)value;
    buf[1] = (uint8_t)(value >> 8);
    buf[2] = (uint8_t)(value >> 16);
    buf[3] = (uint8_t)(value >> 24);
    buf[4] = (uint8_t)(value >> 32);
    buf[5] = (uint8_t)(value >> 40);
    buf[6] = (uint8_t)(value >> 48);
    buf[7] = (uint8_t)(value >> 56);
}

/* The same with the highest first. */
static inline void be64_put(uint8_t *buf, uint64_t value)
{
    buf[0] = (uint8_t)(value >> 56);
    buf[1] = (uint8_t)(value >> 48);
    buf[2] = (uint8_t)(value >> 40);
    buf[3] = (uint8_t)(value >> 32);
    buf[4] = (uint8_t)(value >> 24);
    buf[5] = (uint8_t)(value >> 16);
    buf[6] = (uint8_t)(value >> 8);
    buf[7] = (uint8_t)value;
}

/* Whether ADDRESS is canonical in a linear-address width of WIDTH bits (SDM vol. 1, 3.3.7.1). */
static inline bool is_canonical(uint64_t address, unsigned width)
{
    return sign_extend(address, width) == address;
}

#endif
