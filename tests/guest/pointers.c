/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Indirect calls: a table of functions, and qsort() with a function of the program's. */
#include <stdio.h>
#include <stdlib.h>

static unsigned add(unsigned a, unsigned b)
{
    return a + b;
}

static unsigned sub(unsigned a, unsigned b)
{
    return a - b;
}

static unsigned mul(unsigned a, unsigned b)
{
    return a * b;
}

static unsigned mix(unsigned a, unsigned b)
{
    return (a ^ b) * 2654435761u;
}

static unsigned (*volatile operations[])(unsigned, unsigned) = { add, sub, mul, mix };

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a;
    unsigned y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

int main(void)
{
    static unsigned values[5000];
    unsigned value = 1;

    for (unsigned i = 0; i < 200000; i++)
        value = operations[(value >> 7 ^ i) % 4](value, i);
    for (unsigned i = 0; i < 5000; i++)
        values[i] = value = mix(value, i);
    qsort(values, 5000, sizeof(values[0]), compare);
    printf("%u %u %u\n", values[0], values[2500], values[4999]);
    return 0;
}
