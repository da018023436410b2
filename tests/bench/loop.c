/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worst case: nothing but blocks of three instructions that end in a conditional branch. */
#include "start.h"

uint64_t work(void)
{
    uint64_t sum = 0, n = 40000000;

    __asm__ volatile("1: add %1, %0\n"
                     "   dec %1\n"
                     "   jnz 1b\n"
                     : "+r"(sum), "+r"(n));
    return sum;
}
