/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_SIZE = 1 << 18,
    FULL = 1 << 28,
};

/* Blocks are allocated one behind the other, and freed all at once. */
struct block_chunk {
    struct block_chunk *next;
    size_t used;
    _Alignas(BLOCK_ALIGN) unsigned char bytes[CHUNK_SIZE];
};

static void *allocate(struct block_cache *cache, size_t size)
{
    struct block_chunk *chunk = cache->chunks;
    void *result;

    size = (size + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
    assert(size <= CHUNK_SIZE);
    if (!chunk || chunk->used + size > CHUNK_SIZE) {
        chunk = aligned_alloc(BLOCK_ALIGN, sizeof(*chunk));
        if (!chunk)
            return NULL;
        chunk->next = cache->chunks;
        chunk->used = 0;
        cache->chunks = chunk;
        cache->bytes += CHUNK_SIZE;
    }
    result = chunk->bytes + chunk->used;
    chunk->used += size;
    return result;
}

static void free_chunks(struct block_cache *cache, const struct block_chunk *but)
{
    while (cache->chunks != but) {
        struct block_chunk *next = cache->chunks->next;

        free(cache->chunks);
        cache->chunks = next;
        cache->bytes -= CHUNK_SIZE;
    }
}

static void clear(struct block_cache *cache, struct block_space *space)
{
    for (uint64_t i = 0; space->bits && i < BLOCK_CHAINS; i++)
        space->chains[i] = &cache->none;
}

static bool space_init(struct block_cache *cache, struct block_space *space, uint8_t bits,
                       uint64_t cs_base)
{
    *space = (struct block_space){ .chains = malloc(BLOCK_CHAINS * sizeof(space->chains[0])),
                                   .cs_base = cs_base,
                                   .bits = bits };
    if (!space->chains) {
        space->bits = 0;
        return false;
    }
    clear(cache, space);
    return true;
}

static void space_free(struct block_space *space)
{
    free(space->chains);
    *space = (struct block_space){ .bits = 0 };
}

static void make_current(struct block_cache *cache, unsigned n)
{
    cache->current = n;
    cache->chains = cache->space[n].chains;
}

bool block_cache_init(struct block_cache *cache)
{
    memset(cache, 0, sizeof(*cache));
    cache->none.linear = BLOCK_NOWHERE;
    cache->none.cond_sum = BLOCK_CYCLES_MAX;
    return block_cache_select(cache, 16, 0);
}

void block_cache_free(struct block_cache *cache)
{
    for (unsigned i = 0; i < BLOCK_SPACES; i++)
        space_free(&cache->space[i]);
    free_chunks(cache, NULL);
}

bool block_cache_select(struct block_cache *cache, uint8_t bits, uint64_t cs_base)
{
    for (unsigned i = 0; i < BLOCK_SPACES; i++) {
        if (cache->space[i].bits == bits && cache->space[i].cs_base == cs_base) {
            make_current(cache, i);
            return true;
        }
    }

    unsigned n = cache->oldest;

    cache->oldest = (n + 1) % BLOCK_SPACES;
    space_free(&cache->space[n]);
    if (!space_init(cache, &cache->space[n], bits, cs_base))
        return false;
    make_current(cache, n);
    return true;
}

/* The place that points to the block at LINEAR, or to `none`. */
static struct block **find_place(struct block_cache *cache, uint64_t linear)
{
    struct block **place = &cache->chains[linear % BLOCK_CHAINS];

    while ((*place)->linear != linear && *place != &cache->none)
        place = &(*place)->chain;
    return place;
}

static void put_first(struct block_cache *cache, struct block *block)
{
    struct block **first = &cache->chains[block->linear % BLOCK_CHAINS];

    block->chain = *first;
    *first = block;
}

struct block *block_cache_find(struct block_cache *cache, uint64_t linear)
{
    struct block **place = find_place(cache, linear);
    struct block *block = *place;

    if (block == &cache->none)
        return NULL;
    *place = block->chain;
    put_first(cache, block);
    return block;
}

void block_cache_remove(struct block_cache *cache, uint64_t linear, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++) {
        struct block **place = find_place(cache, linear + i);

        if (*place != &cache->none)
            *place = (*place)->chain;
    }
}

struct block *block_cache_add(struct block_cache *cache, const struct block *block)
{
    size_t list_size = block->insns * sizeof(block->insn[0]);
    struct block *copy = allocate(cache, sizeof(*copy) + list_size);

    if (!copy)
        return NULL;
    *copy = *block;
    copy->insn = memcpy(copy + 1, block->insn, list_size);
    block_cache_remove(cache, block->linear, 1);
    put_first(cache, copy);
    return copy;
}

void block_cache_drop(struct block_cache *cache)
{
    struct block_chunk *first = cache->chunks;

    for (unsigned i = 0; i < BLOCK_SPACES; i++)
        clear(cache, &cache->space[i]);
    while (first && first->next)
        first = first->next;
    free_chunks(cache, first);
    if (first)
        first->used = 0;
}

bool block_cache_is_full(const struct block_cache *cache)
{
    return cache->bytes >= FULL;
}
