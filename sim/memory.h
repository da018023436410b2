/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest physical memory. All of it is reserved at once and none of it is paid for before it is
 * used: a guest of many gigabytes or a trace region of 128 MB costs what is written to it. */
#ifndef PTSIM_SIM_MEMORY_H
#define PTSIM_SIM_MEMORY_H

#include <stdbool.h>

#include "../models/ports.h"

#define MEMORY_PAGE_SIZE UINT64_C(4096)

struct memory;

/* MEMORY has RAM at [0, size), all zero; SIZE is rounded up to whole pages and is at least one.
 * NULL when the host does not have the address space. */
struct memory *memory_new(uint64_t size);
void memory_free(struct memory *memory);

uint64_t memory_size(const struct memory *memory);

/* The port through which models read and write it. */
struct mem_port memory_port(struct memory *memory);

/* The host address of the page at PHYS (4K aligned); NULL where there is no RAM. It stays valid
 * until memory_free(). The pages of RAM lie one after the other. */
void *memory_page(struct memory *memory, uint64_t phys);

/* Called after a write through the port to a page that memory_mark_code() marked: what was
 * translated of [PHYS, PHYS + SIZE) is stale. */
typedef void memory_code_written_fn(void *ctx, uint64_t phys, size_t size);
void memory_on_code_written(struct memory *memory, memory_code_written_fn *fn, void *ctx);
/* The page of PHYS holds code that was translated. Marks stay. */
void memory_mark_code(struct memory *memory, uint64_t phys);

#endif
