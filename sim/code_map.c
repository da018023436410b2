/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code_map.h"

#include <stdlib.h>

enum {
    PAGE_SIZE = 4096,
    EXECUTED = 1024
};

struct executed {
    uint64_t linear;
    uint64_t phys;
    bool used;
};

struct code_map {
    struct executed executed[EXECUTED]; /* by the low bits of the linear page number */
    uint64_t pages;
    /* By physical page: 0, or the linear address that it is written at with WRITTEN, and
     * ELSEWHERE if there is another one. */
    uint64_t *written;
};

enum {
    WRITTEN = 1,
    ELSEWHERE = 2
};

struct code_map *code_map_new(uint64_t memory_size)
{
    struct code_map *map = calloc(1, sizeof(*map));

    if (!map)
        return NULL;
    map->pages = memory_size / PAGE_SIZE;
    map->written = calloc(map->pages, sizeof(*map->written));
    if (!map->written) {
        code_map_free(map);
        return NULL;
    }
    return map;
}

void code_map_free(struct code_map *map)
{
    if (map)
        free(map->written);
    free(map);
}

static struct executed *executed_at(struct code_map *map, uint64_t linear)
{
    return &map->executed[linear / PAGE_SIZE % EXECUTED];
}

bool code_map_execute(struct code_map *map, uint64_t linear, uint64_t phys)
{
    struct executed *slot = executed_at(map, linear);
    struct executed before = *slot;

    *slot = (struct executed){ .linear = linear, .phys = phys, .used = true };
    return before.used && (before.linear != linear || before.phys != phys);
}

void code_map_write(struct code_map *map, uint64_t linear, uint64_t phys)
{
    uint64_t page = phys / PAGE_SIZE;

    if (page >= map->pages)
        return;
    if (!map->written[page])
        map->written[page] = linear | WRITTEN;
    else if ((map->written[page] ^ linear) >= PAGE_SIZE)
        map->written[page] |= ELSEWHERE;
}

bool code_map_has_alias(struct code_map *map, uint64_t linear)
{
    const struct executed *slot = executed_at(map, linear);
    uint64_t page = slot->phys / PAGE_SIZE;
    uint64_t written;

    if (!slot->used || slot->linear != linear || page >= map->pages)
        return true;
    written = map->written[page];
    if (!written || written == (linear | WRITTEN))
        return false;
    map->written[page] = 0;
    return true;
}
