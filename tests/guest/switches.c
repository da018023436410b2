/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Indirect jumps: an interpreter with a switch and one with computed gotos. */
#include <stdio.h>

/* Operations 0 to 9 on ACC, by the digits of STEP. */
static unsigned __attribute__((noinline)) with_switch(unsigned acc, unsigned step)
{
    switch (step % 10) {
    case 0:
        return acc + step;
    case 1:
        return acc ^ step << 3;
    case 2:
        return acc * 5;
    case 3:
        return ~acc;
    case 4:
        return acc >> 1 | acc << 31;
    case 5:
        return acc - (step >> 2);
    case 6:
        return acc | 0x10001;
    case 7:
        return acc & ~step;
    case 8:
        return acc + 77;
    default:
        return acc ^ 0x5a5a5a5a;
    }
}

static unsigned with_gotos(unsigned seed, unsigned steps)
{
    static void *const labels[] = { &&inc, &&twist, &&fold, &&swap };
    unsigned acc = seed;

next:
    if (steps-- == 0)
        return acc;
    goto *labels[acc % 4];
inc:
    acc += 0x3c6ef35f;
    goto next;
twist:
    acc = acc * 1664525 + 1013904223;
    goto next;
fold:
    acc ^= acc >> 15;
    acc += 1;
    goto next;
swap:
    acc = __builtin_bswap32(acc) + 3;
    goto next;
}

int main(void)
{
    unsigned acc = 1;

    for (unsigned i = 0; i < 200000; i++)
        acc = with_switch(acc, i ^ acc >> 9);
    printf("%u %u\n", acc, with_gotos(acc, 300000));
    return 0;
}
