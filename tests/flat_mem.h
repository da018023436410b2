/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Physical memory as one array of bytes, behind a struct mem_port. */
#ifndef PTSIM_TESTS_FLAT_MEM_H
#define PTSIM_TESTS_FLAT_MEM_H

#include <string.h>

#include "../models/ports.h"

#define FLAT_SIZE 0x100000u

static uint8_t flat[FLAT_SIZE];

/* Nothing answers outside: reads give all ones, writes are dropped. */
static void flat_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    uint8_t *to = buf;

    (void)ctx;
    for (size_t i = 0; i < size; i++)
        to[i] = phys + i < FLAT_SIZE ? flat[phys + i] : 0xff;
}

static void flat_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    const uint8_t *from = buf;

    (void)ctx;
    for (size_t i = 0; i < size; i++)
        if (phys + i < FLAT_SIZE)
            flat[phys + i] = from[i];
}

static const struct mem_port flat_port = { .read = flat_read, .write = flat_write };

static inline uint64_t peek(uint64_t phys, size_t size)
{
    return le_load(flat + phys, size);
}

static inline void poke(uint64_t phys, uint64_t value, size_t size)
{
    le_store(flat + phys, value, size);
}

#endif
