/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where code lies and through which addresses it can be written, by pages. Unicorn notices a
 * write to translated code only through the linear page that the code was translated at, and
 * says nothing when another page comes to lie at a linear address; what it does not notice is
 * found here. Addresses are those of pages. */
#ifndef PTSIM_SIM_CODE_MAP_H
#define PTSIM_SIM_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct code_map;

/* For MEMORY_SIZE bytes of RAM; NULL when out of memory. */
struct code_map *code_map_new(uint64_t memory_size);
void code_map_free(struct code_map *map);

/* The page at PHYS gets to be executed at LINEAR. False: it is, for all that is known, what was
 * executed there before. */
bool code_map_execute(struct code_map *map, uint64_t linear, uint64_t phys);

/* The page at PHYS gets to be written at LINEAR. */
void code_map_write(struct code_map *map, uint64_t linear, uint64_t phys);

/* Whether the page of code at LINEAR may be written at another linear address. If so, the caller
 * takes away the permission to write it, until the next code_map_write(). */
bool code_map_has_alias(struct code_map *map, uint64_t linear);

#endif
