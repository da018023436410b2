/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setjmp() and longjmp() over many frames: returns that never happen. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf out;
static volatile unsigned bottom; /* 0 */

static unsigned __attribute__((noinline)) descend(unsigned depth, unsigned value)
{
    if (depth == bottom)
        longjmp(out, (int)(value % 1000) + 1);
    return bottom ? 1 : descend(depth - 1, value * 3 + 1) + 1;
}

int main(void)
{
    volatile unsigned sum = 0;

    for (volatile unsigned i = 0; i < 3000; i = i + 1) {
        int thrown = setjmp(out);

        if (thrown == 0)
            sum += descend(i % 90, i);
        sum = sum * 31 + (unsigned)thrown;
    }
    printf("%u\n", sum);
    return 0;
}
