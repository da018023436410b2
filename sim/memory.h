/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest physical memory: sparse, in 4-KByte pages allocated at first use, so that a trace region
 * of 128 MB costs what is written to it. */
#ifndef PTSIM_SIM_MEMORY_H
#define PTSIM_SIM_MEMORY_H

#include <stdbool.h>

#include "../models/ports.h"

struct memory;

/* MEMORY has RAM at [0, size), all zero. NULL when out of memory. */
struct memory *memory_new(uint64_t size);
void memory_free(struct memory *memory);

/* The port through which models read and write it. */
struct mem_port memory_port(struct memory *memory);

/* The host address of the page at PHYS (4K aligned), allocated if it was not, for the engine to
 * map; NULL where there is no RAM. It stays valid until memory_free(). */
void *memory_page(struct memory *memory, uint64_t phys);

#endif
