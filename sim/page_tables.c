/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_tables.h"

#include "../models/bits.h"

#define FRAME BITS(51, 12)

static const struct {
    unsigned levels;
    unsigned index_bits;      /* that each level takes */
    unsigned entry;           /* bytes */
    uint64_t top_table_flags; /* of an entry in the highest table: those of PAE have no R/W, U/S */
} formats[PAGE_FORMATS] = {
    [PAGES_32BIT] = { 2, 10, 4, PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER },
    [PAGES_PAE] = { 3, 9, 8, PAGE_PRESENT },
    [PAGES_4LEVEL] = { 4, 9, 8, PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER },
};

/* The address of the entry for LINEAR in the table at TABLE; level 0 is the last. */
static uint64_t entry_at(const struct page_tables *tables, uint64_t table, unsigned level,
                         uint64_t linear)
{
    unsigned bits = formats[tables->format].index_bits;
    uint64_t index = linear >> (12 + level * bits) & (BIT(bits) - 1);

    return table + index * formats[tables->format].entry;
}

static uint64_t entry_get(const struct page_tables *tables, uint64_t at)
{
    return mem_port_read(&tables->mem, at, formats[tables->format].entry);
}

static void entry_set(const struct page_tables *tables, uint64_t at, uint64_t entry)
{
    mem_port_write(&tables->mem, at, entry, formats[tables->format].entry);
}

/* PAE has only the low 32 bits of a linear address: the index in its highest table is two bits. */
static uint64_t clip(enum page_format format, uint64_t linear)
{
    return format == PAGES_4LEVEL ? linear : (uint32_t)linear;
}

bool page_format_has(enum page_format format, uint64_t linear)
{
    return format == PAGES_4LEVEL ? is_canonical(linear, 48) : linear == (uint32_t)linear;
}

bool page_tables_map(struct page_tables *tables, uint64_t root, uint64_t linear, uint64_t phys,
                     uint64_t flags)
{
    unsigned level = formats[tables->format].levels - 1;
    uint64_t table_flags = formats[tables->format].top_table_flags;
    uint64_t table = root;

    linear = clip(tables->format, linear);
    for (; level; level--, table_flags = PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER) {
        uint64_t at = entry_at(tables, table, level, linear);

        if (!(entry_get(tables, at) & PAGE_PRESENT)) {
            if (tables->next >= tables->end)
                return false;
            entry_set(tables, at, tables->next | table_flags);
            tables->next += 4096;
        }
        table = entry_get(tables, at) & FRAME;
    }
    entry_set(tables, entry_at(tables, table, 0, linear), flags ? (phys & FRAME) | flags : 0);
    return true;
}

bool page_tables_find(const struct page_tables *tables, uint64_t root, uint64_t linear,
                      uint64_t *phys)
{
    unsigned level = formats[tables->format].levels;
    uint64_t entry = root;

    if (!page_format_has(tables->format, linear))
        return false;
    while (level--) {
        entry = entry_get(tables, entry_at(tables, entry & FRAME, level, linear));
        if (!(entry & PAGE_PRESENT))
            return false;
    }
    *phys = (entry & FRAME) | (linear & BITS(11, 0));
    return true;
}
