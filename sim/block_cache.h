/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoded blocks, found by linear address within a code space: what else decides how bytes
 * decode and where branches lead, which is the size of code and the base of CS. */
#ifndef PTSIM_SIM_BLOCK_CACHE_H
#define PTSIM_SIM_BLOCK_CACHE_H

#include "block.h"

/* No linear address is one of these: they are not canonical. */
#define BLOCK_SLOT_EMPTY   UINT64_C(0x8000000000000000)
#define BLOCK_SLOT_REMOVED UINT64_C(0x8000000000000001)

struct block_slot {
    uint64_t linear;
    const struct block *block;
};

/* An open-addressing table that is never more than half full. */
struct block_space {
    struct block_slot *slots;
    uint64_t mask;
    size_t used; /* slots that are not empty */
    uint64_t cs_base;
    uint8_t bits; /* 0: the space is free */
};

enum {
    BLOCK_SPACES = 8,
};

struct block_chunk;

struct block_cache {
    /* of the current space */
    struct block_slot *slots;
    uint64_t mask;

    struct block_space space[BLOCK_SPACES];
    unsigned current;
    unsigned oldest; /* the space to be taken over next */
    struct block_chunk *chunks;
    size_t bytes; /* of all chunks */
};

/* False: out of memory. */
bool block_cache_init(struct block_cache *cache);
void block_cache_free(struct block_cache *cache);

/* Makes the space of code of BITS with CS based at CS_BASE the current one. False: out of
 * memory. */
bool block_cache_select(struct block_cache *cache, uint8_t bits, uint64_t cs_base);

static inline uint64_t block_slot_index(uint64_t linear, uint64_t mask)
{
    return (linear ^ linear >> 12) & mask;
}

/* The block at LINEAR in the current space, or NULL. */
static inline const struct block *block_cache_find(const struct block_cache *cache, uint64_t linear)
{
    uint64_t at = block_slot_index(linear, cache->mask);

    while (cache->slots[at].linear != linear) {
        if (cache->slots[at].linear == BLOCK_SLOT_EMPTY)
            return NULL;
        at = (at + 1) & cache->mask;
    }
    return cache->slots[at].block;
}

/* Keeps a copy of BLOCK and of its instructions in the current space, instead of one that was
 * there at its address. NULL: out of memory. */
const struct block *block_cache_add(struct block_cache *cache, const struct block *block);

/* Forgets the blocks that start at [LINEAR, LINEAR + SIZE) in the current space. Who holds one may
 * go on doing so until block_cache_drop(). */
void block_cache_remove(struct block_cache *cache, uint64_t linear, uint64_t size);

/* Forgets all blocks of all spaces. */
void block_cache_drop(struct block_cache *cache);

/* Whether what removed blocks still occupy makes it time for block_cache_drop(). */
bool block_cache_is_full(const struct block_cache *cache);

#endif
