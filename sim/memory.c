/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct memory {
    uint64_t size;
    uint8_t *ram;
    uint8_t *code; /* one bit a page */
    memory_code_written_fn *code_written;
    void *ctx;
};

/* Zeroed address space whose pages the host allocates at their first use; NULL if it has none. */
static void *reserve(uint64_t size)
{
    void *area;

    if (size > SIZE_MAX)
        return NULL;
    area = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return area == MAP_FAILED ? NULL : area;
}

struct memory *memory_new(uint64_t size)
{
    struct memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return NULL;
    if (size <= UINT64_MAX - MEMORY_PAGE_SIZE)
        size = (size + MEMORY_PAGE_SIZE - 1) & ~(MEMORY_PAGE_SIZE - 1);
    memory->size = size ? size : MEMORY_PAGE_SIZE;
    memory->ram = reserve(memory->size);
    if (memory->ram)
        memory->code = calloc(memory->size / MEMORY_PAGE_SIZE / 8 + 1, 1);
    if (!memory->code) {
        memory_free(memory);
        return NULL;
    }
    return memory;
}

void memory_free(struct memory *memory)
{
    if (!memory)
        return;
    if (memory->ram)
        munmap(memory->ram, (size_t)memory->size);
    free(memory->code);
    free(memory);
}

uint64_t memory_size(const struct memory *memory)
{
    return memory->size;
}

void *memory_page(struct memory *memory, uint64_t phys)
{
    return phys < memory->size ? memory->ram + phys : NULL;
}

void memory_on_code_written(struct memory *memory, memory_code_written_fn *fn, void *ctx)
{
    memory->code_written = fn;
    memory->ctx = ctx;
}

void memory_mark_code(struct memory *memory, uint64_t phys)
{
    uint64_t page = phys / MEMORY_PAGE_SIZE;

    if (phys < memory->size)
        memory->code[page / 8] |= (uint8_t)(1u << page % 8);
}

static bool holds_code(const struct memory *memory, uint64_t phys, size_t size)
{
    uint64_t last = (phys + size - 1) / MEMORY_PAGE_SIZE;

    for (uint64_t page = phys / MEMORY_PAGE_SIZE; page <= last; page++) {
        if (memory->code[page / 8] & (1u << page % 8))
            return true;
    }
    return false;
}

/* How many of SIZE bytes at PHYS are RAM. */
static size_t ram_part(const struct memory *memory, uint64_t phys, size_t size)
{
    if (phys >= memory->size)
        return 0;
    return memory->size - phys < size ? (size_t)(memory->size - phys) : size;
}

static void memory_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    const struct memory *memory = ctx;
    size_t ram = ram_part(memory, phys, size);

    if (ram)
        memcpy(buf, memory->ram + phys, ram);
    if (ram < size)
        memset((uint8_t *)buf + ram, 0xff, size - ram);
}

static void memory_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    struct memory *memory = ctx;
    size_t ram = ram_part(memory, phys, size);

    if (!ram)
        return;
    memcpy(memory->ram + phys, buf, ram);
    if (memory->code_written && holds_code(memory, phys, ram))
        memory->code_written(memory->ctx, phys, ram);
}

struct mem_port memory_port(struct memory *memory)
{
    return (struct mem_port){ .ctx = memory, .read = memory_read, .write = memory_write };
}
