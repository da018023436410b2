/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Indirect jumps and calls: a threaded interpreter, and objects with functions. */
#include "start.h"

enum {
    OP_ADD,
    OP_XOR,
    OP_SHIFT,
    OP_CALL,
    OP_NEXT,
    OP_END,
    LENGTH = 1000,
    ROUNDS = 2500,
};

static uint8_t program[LENGTH + 2];

static __attribute__((noinline)) uint64_t twice(uint64_t x)
{
    return x * 2;
}

static __attribute__((noinline)) uint64_t mix(uint64_t x)
{
    return x ^ x >> 7;
}

static __attribute__((noinline)) uint64_t less(uint64_t x)
{
    return x - 3;
}

static uint64_t (*volatile function[])(uint64_t) = { twice, mix, less };

static uint64_t interpret(const uint8_t *at, uint64_t x)
{
    static const void *const label[] = { &&add, &&xor, &&shift, &&call, &&next, &&end };

#define NEXT                                                                                       \
    __asm__ volatile("");                                                                          \
    goto *label[*at++]

    NEXT;
add:
    x += 7;
    NEXT;
    xor : x ^= 0x5a5a;
    NEXT;
shift:
    x = x << 1 | x >> 63;
    NEXT;
call:
    x = function[x % 3](x);
    NEXT;
next:
    x++;
    NEXT;
end:
    return x;
}

uint64_t work(void)
{
    uint32_t seed = 1;
    uint64_t x = 0;

    for (int i = 0; i < LENGTH; i++)
        program[i] = (uint8_t)(random32(&seed) % OP_END);
    program[LENGTH] = OP_END;
    for (int i = 0; i < ROUNDS; i++)
        x = interpret(program, x);
    return x;
}
