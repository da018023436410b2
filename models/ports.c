/* SPDX-License-Identifier: MIT */
#include "ports.h"

uint64_t le_load(const void *buf, size_t size)
{
    const uint8_t *byte = buf;
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)byte[i] << (8 * i);
    return value;
}

void le_store(void *buf, uint64_t value, size_t size)
{
    uint8_t *byte = buf;

    for (size_t i = 0; i < size; i++)
        byte[i] = (uint8_t)(value >> (8 * i));
}

uint64_t mem_port_read(const struct mem_port *mem, uint64_t phys, size_t size)
{
    uint8_t buf[8];

    mem->read(mem->ctx, phys, buf, size);
    return le_load(buf, size);
}

void mem_port_write(const struct mem_port *mem, uint64_t phys, uint64_t value, size_t size)
{
    uint8_t buf[8];

    le_store(buf, value, size);
    mem->write(mem->ctx, phys, buf, size);
}
