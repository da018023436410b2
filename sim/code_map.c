/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code_map.h"

#include <stdlib.h>

enum {
    PAGE_SIZE = 4096,
    FIRST_SLOTS = 256
};

struct slot {
    uint64_t linear;
    uint64_t phys;
    bool used;
};

struct code_map {
    /* What is executed where: an open-addressing table, at most half full. */
    struct slot *slots;
    uint64_t mask;
    uint64_t used;
    /* By physical page: 0, or the linear address that it is written at with WRITTEN, and
     * ELSEWHERE if there is another one. */
    uint64_t *written;
    uint64_t pages;
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
    map->mask = FIRST_SLOTS - 1;
    map->slots = calloc(FIRST_SLOTS, sizeof(*map->slots));
    map->pages = memory_size / PAGE_SIZE;
    map->written = calloc(map->pages, sizeof(*map->written));
    if (!map->slots || !map->written) {
        code_map_free(map);
        return NULL;
    }
    return map;
}

void code_map_free(struct code_map *map)
{
    if (!map)
        return;
    free(map->slots);
    free(map->written);
    free(map);
}

/* The slot of LINEAR, or the one where it would be put. */
static struct slot *slot_of(const struct code_map *map, uint64_t linear)
{
    uint64_t page = linear / PAGE_SIZE;
    uint64_t at = page ^ page >> 9;

    while (map->slots[at & map->mask].used && map->slots[at & map->mask].linear != linear)
        at++;
    return &map->slots[at & map->mask];
}

static bool grow(struct code_map *map)
{
    struct code_map grown = { .mask = map->mask * 2 + 1 };

    grown.slots = calloc(grown.mask + 1, sizeof(*grown.slots));
    if (!grown.slots)
        return false;
    for (uint64_t i = 0; i <= map->mask; i++) {
        if (map->slots[i].used)
            *slot_of(&grown, map->slots[i].linear) = map->slots[i];
    }
    free(map->slots);
    map->slots = grown.slots;
    map->mask = grown.mask;
    return true;
}

enum code_map_news code_map_execute(struct code_map *map, uint64_t linear, uint64_t phys)
{
    struct slot *slot = slot_of(map, linear);

    if (slot->used) {
        bool same = slot->phys == phys;

        slot->phys = phys;
        return same ? CODE_MAP_NONE : CODE_MAP_OTHER;
    }
    if (map->used == map->mask / 2) {
        if (!grow(map))
            return CODE_MAP_NO_MEM;
        slot = slot_of(map, linear);
    }
    *slot = (struct slot){ .linear = linear, .phys = phys, .used = true };
    map->used++;
    return CODE_MAP_NEW;
}

bool code_map_find(const struct code_map *map, uint64_t linear, uint64_t *phys)
{
    const struct slot *slot = slot_of(map, linear);

    *phys = slot->phys;
    return slot->used;
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
    uint64_t phys;
    uint64_t *written;

    if (!code_map_find(map, linear, &phys) || phys / PAGE_SIZE >= map->pages)
        return false;
    written = &map->written[phys / PAGE_SIZE];
    if (!*written || *written == (linear | WRITTEN))
        return false;
    *written = 0;
    return true;
}
