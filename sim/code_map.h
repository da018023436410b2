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

enum code_map_news {
    CODE_MAP_NONE,   /* the page there is the one that was there */
    CODE_MAP_NEW,    /* no page was executed there before */
    CODE_MAP_OTHER,  /* it is another page now */
    CODE_MAP_NO_MEM, /* out of memory; the page was not noted */
};

/* For MEMORY_SIZE bytes of RAM; NULL when out of memory. */
struct code_map *code_map_new(uint64_t memory_size);
void code_map_free(struct code_map *map);

/* The page at PHYS gets to be executed at LINEAR. */
enum code_map_news code_map_execute(struct code_map *map, uint64_t linear, uint64_t phys);
/* Where the page executed at LINEAR is; false: none was. */
bool code_map_find(const struct code_map *map, uint64_t linear, uint64_t *phys);

/* The page at PHYS gets to be written at LINEAR. */
void code_map_write(struct code_map *map, uint64_t linear, uint64_t phys);

/* Whether the page executed at LINEAR may be written at another linear address. If so, the
 * caller takes away the permission to write it, until the next code_map_write(). */
bool code_map_has_alias(struct code_map *map, uint64_t linear);

#endif
