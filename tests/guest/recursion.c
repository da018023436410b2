/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and returns: deep, mutual and with more frames than a return stack holds. */
#include <stdio.h>

static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int is_odd(unsigned n);

static int __attribute__((noinline)) is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

static int __attribute__((noinline)) is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

int main(void)
{
    printf("%u %u %d\n", ackermann(2, 300), fibonacci(23), is_even(10001));
    return 7;
}
