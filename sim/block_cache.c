/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOTS = 1024,
    CHUNK_SIZE = 1 << 18,
    FULL = 1 << 28,
};

/* Blocks are allocated one behind the other, and freed all at once. */
struct block_chunk {
    struct block_chunk *next;
    size_t used;
    _Alignas(struct block) unsigned char bytes[CHUNK_SIZE];
};

static void *allocate(struct block_cache *cache, size_t size)
{
    struct block_chunk *chunk = cache->chunks;
    void *result;

    size = (size + _Alignof(struct block) - 1) & ~(_Alignof(struct block) - 1);
    assert(size <= CHUNK_SIZE);
    if (!chunk || chunk->used + size > CHUNK_SIZE) {
        chunk = malloc(sizeof(*chunk));
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

static struct block_slot *new_slots(size_t count)
{
    struct block_slot *slots = malloc(count * sizeof(*slots));

    for (size_t i = 0; slots && i < count; i++)
        slots[i] = (struct block_slot){ .linear = BLOCK_SLOT_EMPTY };
    return slots;
}

static bool space_init(struct block_space *space, uint8_t bits, uint64_t cs_base)
{
    *space = (struct block_space){
        .slots = new_slots(FIRST_SLOTS), .mask = FIRST_SLOTS - 1, .cs_base = cs_base, .bits = bits
    };
    if (!space->slots)
        space->bits = 0;
    return space->slots;
}

static void space_free(struct block_space *space)
{
    free(space->slots);
    *space = (struct block_space){ .bits = 0 };
}

static void make_current(struct block_cache *cache, unsigned n)
{
    cache->current = n;
    cache->slots = cache->space[n].slots;
    cache->mask = cache->space[n].mask;
}

bool block_cache_init(struct block_cache *cache)
{
    memset(cache, 0, sizeof(*cache));
    return block_cache_select(cache, 16, 0);
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
    if (!space_init(&cache->space[n], bits, cs_base))
        return false;
    make_current(cache, n);
    return true;
}

static void put(struct block_slot *slots, uint64_t mask, const struct block *block)
{
    uint64_t at = block_slot_index(block->linear, mask);

    while (slots[at].linear != BLOCK_SLOT_EMPTY)
        at = (at + 1) & mask;
    slots[at] = (struct block_slot){ .linear = block->linear, .block = block };
}

/* Puts the blocks of SPACE, without the removed ones, into a table that they fill to an eighth
 * at most. */
static bool rehash(struct block_space *space)
{
    struct block_slot *slots;
    size_t blocks = 0, count = FIRST_SLOTS;

    for (size_t i = 0; i <= space->mask; i++)
        blocks += space->slots[i].block != NULL;
    while (count < blocks * 8)
        count *= 2;
    slots = new_slots(count);
    if (!slots)
        return false;
    space->used = 0;
    for (size_t i = 0; i <= space->mask; i++) {
        if (space->slots[i].block) {
            put(slots, count - 1, space->slots[i].block);
            space->used++;
        }
    }
    free(space->slots);
    space->slots = slots;
    space->mask = count - 1;
    return true;
}

static struct block_slot *find_slot(struct block_cache *cache, uint64_t linear)
{
    uint64_t at = block_slot_index(linear, cache->mask);

    while (cache->slots[at].linear != linear) {
        if (cache->slots[at].linear == BLOCK_SLOT_EMPTY)
            return NULL;
        at = (at + 1) & cache->mask;
    }
    return &cache->slots[at];
}

const struct block *block_cache_add(struct block_cache *cache, const struct block *block)
{
    struct block_space *space = &cache->space[cache->current];
    size_t list_size = block->insns * sizeof(block->insn[0]);
    struct block *copy = allocate(cache, sizeof(*copy) + list_size);

    if (!copy)
        return NULL;
    block_cache_remove(cache, block->linear, 1);
    if (space->used * 2 > space->mask && !rehash(space))
        return NULL;
    *copy = *block;
    if (list_size)
        memcpy(copy + 1, block->insn, list_size);
    copy->insn = (struct block_insn *)(copy + 1);
    put(space->slots, space->mask, copy);
    space->used++;
    make_current(cache, cache->current);
    return copy;
}

void block_cache_remove(struct block_cache *cache, uint64_t linear, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++) {
        struct block_slot *slot = find_slot(cache, linear + i);

        if (slot)
            *slot = (struct block_slot){ .linear = BLOCK_SLOT_REMOVED };
    }
}

void block_cache_drop(struct block_cache *cache)
{
    for (unsigned i = 0; i < BLOCK_SPACES; i++) {
        struct block_space *space = &cache->space[i];

        for (size_t j = 0; space->used && j <= space->mask; j++)
            space->slots[j] = (struct block_slot){ .linear = BLOCK_SLOT_EMPTY };
        space->used = 0;
    }

    struct block_chunk *first = cache->chunks;

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
