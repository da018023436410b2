/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and returns: recursion, shallow and deep. */
#include "start.h"

static __attribute__((noinline)) uint64_t fibonacci(uint64_t n)
{
    uint64_t a, b;

    if (n < 2)
        return n;
    a = fibonacci(n - 1);
    __asm__ volatile("" : "+r"(a));
    b = fibonacci(n - 2);
    __asm__ volatile("" : "+r"(b));
    return a + b;
}

static __attribute__((noinline)) uint64_t ackermann(uint64_t m, uint64_t n)
{
    uint64_t inner;

    if (m == 0)
        return n + 1;
    inner = n ? ackermann(m, n - 1) : 1;
    __asm__ volatile("" : "+r"(inner));
    return ackermann(m - 1, inner);
}

uint64_t work(void)
{
    uint64_t result = 0;

    for (int i = 0; i < 4; i++)
        result += fibonacci(27) + ackermann(2, 300);
    return result;
}
