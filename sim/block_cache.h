/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoded blocks, found by linear address within a code space: what else decides how bytes
 * decode and where branches lead, which is the size of code and the base of CS. */
#ifndef PTSIM_SIM_BLOCK_CACHE_H
#define PTSIM_SIM_BLOCK_CACHE_H

#include "block.h"

enum {
    BLOCK_SPACES = 8,
};

/* By the low bits of their addresses. */
#define BLOCK_CHAINS (1 << 16)

/* BLOCK_CHAINS chains of blocks, ended by `none` of the cache. */
struct block_space {
    struct block **chains;
    uint64_t cs_base;
    uint8_t bits; /* 0: the space is free */
};

struct block_chunk;

struct block_cache {
    /* of the current space */
    struct block **chains;

    /* No block: of no instructions, at no address. */
    struct block none;

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

/* The first of the chain that the block at LINEAR is in: that block, or another, or `none`. */
static inline struct block *block_cache_first(const struct block_cache *cache, uint64_t linear)
{
    return cache->chains[linear % BLOCK_CHAINS];
}

/* The block at LINEAR in the current space, which then is the first of its chain, or NULL. */
struct block *block_cache_find(struct block_cache *cache, uint64_t linear);

/* Keeps a copy of BLOCK and of its instructions in the current space, instead of one that was
 * there at its address. NULL: out of memory. */
struct block *block_cache_add(struct block_cache *cache, const struct block *block);

/* Forgets the blocks that start at [LINEAR, LINEAR + SIZE) in the current space. Who holds one may
 * go on doing so until block_cache_drop(). */
void block_cache_remove(struct block_cache *cache, uint64_t linear, uint64_t size);

/* Forgets all blocks of all spaces. */
void block_cache_drop(struct block_cache *cache);

/* Whether what removed blocks still occupy makes it time for block_cache_drop(). */
bool block_cache_is_full(const struct block_cache *cache);

#endif
