/* SPDX-License-Identifier: MIT */
#include "paging.h"

#include <assert.h>

#include "../bits.h"

/* Bits of a paging-structure entry (SDM vol. 3A, tables 4-4 to 4-20). */
enum {
    ENTRY_P = 1 << 0,
    ENTRY_RW = 1 << 1,
    ENTRY_US = 1 << 2,
    ENTRY_A = 1 << 5,
    ENTRY_D = 1 << 6,
    ENTRY_PS = 1 << 7,
};
#define ENTRY_XD BIT(63)

/* The error code of a page fault (SDM vol. 3A, figure 4-12). */
enum {
    PF_P = 1 << 0,
    PF_WR = 1 << 1,
    PF_US = 1 << 2,
    PF_RSVD = 1 << 3,
    PF_ID = 1 << 4,
};

/* The paging modes (SDM 4.1.1). */
enum paging_mode {
    PAGING_32BIT,
    PAGING_PAE,
    PAGING_LONG, /* 4-level and 5-level */
};

/* One translation: what is asked, the entries it uses, and what they add up to. */
struct walk {
    const struct arch_state *state;
    const struct arch_limits *limits;
    const struct mem_port *mem;
    uint64_t linear;
    enum arch_access access;
    unsigned cpl;

    enum paging_mode mode;
    unsigned levels;     /* of tables in memory; the lowest is 1 */
    unsigned index_bits; /* of the linear address, per level */
    size_t entry_size;
    uint64_t table; /* of the level the walk is at */
    unsigned used;  /* entries */
    struct {
        uint64_t phys;
        uint64_t entry;
    } step[5];
    uint64_t phys;
    uint64_t page_size;
    bool write; /* R/W in every entry */
    bool user;  /* U/S in every entry */
    bool xd;    /* XD in any entry */
};

static bool nx_enabled(const struct arch_state *state)
{
    return state->efer & EFER_NXE;
}

static struct arch_fault page_fault(const struct walk *walk, uint32_t cause)
{
    const struct arch_state *state = walk->state;
    bool pae_nx = (state->cr4 & CR4_PAE) && nx_enabled(state);
    uint32_t error = cause;

    if (walk->access == ARCH_WRITE)
        error |= PF_WR;
    if (walk->cpl == 3)
        error |= PF_US;
    if (walk->access == ARCH_FETCH && ((state->cr4 & CR4_SMEP) || pae_nx))
        error |= PF_ID;
    return arch_page_fault(walk->linear, error);
}

/* Where the walk starts. False: the PDPTE register is not present. */
static bool walk_start(struct walk *walk)
{
    const struct arch_state *state = walk->state;

    walk->write = walk->user = true;
    walk->entry_size = 8;
    walk->index_bits = 9;
    if (arch_long_mode(state)) {
        walk->mode = PAGING_LONG;
        walk->levels = state->cr4 & CR4_LA57 ? 5 : 4;
        walk->table = state->cr3 & BITS(51, 12);
        return true;
    }
    walk->levels = 2;
    if (state->cr4 & CR4_PAE) {
        uint64_t pdpte = state->pdpte[bits_get(walk->linear, 31, 30)];

        walk->mode = PAGING_PAE;
        walk->table = pdpte & BITS(51, 12);
        return pdpte & ENTRY_P;
    }
    walk->mode = PAGING_32BIT;
    walk->entry_size = 4;
    walk->index_bits = 10;
    walk->table = state->cr3 & BITS(31, 12);
    return true;
}

/* The lowest bit of the linear address that selects an entry of LEVEL. */
static unsigned level_shift(const struct walk *walk, unsigned level)
{
    return 12 + walk->index_bits * (level - 1);
}

/* Whether ENTRY of LEVEL maps a page rather than a table. */
static bool is_leaf(const struct walk *walk, unsigned level, uint64_t entry)
{
    if (level == 1)
        return true;
    if (!(entry & ENTRY_PS))
        return false;
    if (walk->mode == PAGING_32BIT)
        return walk->state->cr4 & CR4_PSE;
    return level == 2 || (level == 3 && !walk->limits->no_1gb_pages);
}

/* The bits of an entry of LEVEL that must be 0 (SDM 4.3, 4.4.2, 4.5.4). */
static uint64_t reserved_bits(const struct walk *walk, unsigned level, bool leaf)
{
    unsigned width = walk->limits->maxphyaddr;
    uint64_t reserved = 0;

    if (walk->mode == PAGING_32BIT) {
        if (level == 1 || !leaf)
            return 0;
        /* PSE-36: bits 20:13 are bits 39:32 of the address, as far as the processor has them. */
        return width < 40 ? BITS(21, width - 19) : BIT(21);
    }
    if (walk->mode == PAGING_PAE)
        reserved = BITS(62, width);
    else if (width < 52)
        reserved = BITS(51, width);
    if (!nx_enabled(walk->state))
        reserved |= ENTRY_XD;
    if (level > 1 && leaf)
        reserved |= BITS(level_shift(walk, level) - 1, 13);
    if (level > 2 && !leaf)
        reserved |= ENTRY_PS;
    return reserved;
}

static void walk_finish(struct walk *walk, unsigned level, uint64_t entry)
{
    unsigned shift = level_shift(walk, level);
    uint64_t frame = entry & BITS(51, shift);

    if (walk->mode == PAGING_32BIT && level == 2)
        frame = (entry & BITS(31, 22)) | bits_get(entry, 20, 13) << 32;
    walk->page_size = BIT(shift);
    walk->phys = frame | (walk->linear & (walk->page_size - 1));
}

/* Goes through the paging structures. Nothing is written. */
static struct arch_fault walk_tables(struct walk *walk)
{
    if (!walk_start(walk))
        return page_fault(walk, 0);
    for (unsigned level = walk->levels;; level--) {
        unsigned shift = level_shift(walk, level);
        uint64_t index = bits_get(walk->linear, shift + walk->index_bits - 1, shift);
        uint64_t phys = walk->table + index * walk->entry_size;
        uint64_t entry = mem_port_read(walk->mem, phys, walk->entry_size);
        bool leaf = is_leaf(walk, level, entry);

        if (!(entry & ENTRY_P))
            return page_fault(walk, 0);
        if (entry & reserved_bits(walk, level, leaf))
            return page_fault(walk, PF_P | PF_RSVD);
        walk->step[walk->used].phys = phys;
        walk->step[walk->used++].entry = entry;
        walk->write &= (entry & ENTRY_RW) != 0;
        walk->user &= (entry & ENTRY_US) != 0;
        walk->xd |= (entry & ENTRY_XD) != 0;
        if (leaf) {
            walk_finish(walk, level, entry);
            return ARCH_NO_FAULT;
        }
        walk->table = entry & BITS(51, 12);
    }
}

/* The access rights (SDM 4.6.1). */
static bool permits(const struct walk *walk, enum arch_access access)
{
    const struct arch_state *state = walk->state;

    if (!walk->used) /* paging is off */
        return true;
    if (access == ARCH_FETCH && walk->xd)
        return false;
    if (walk->cpl == 3)
        return walk->user && (access != ARCH_WRITE || walk->write);
    if (walk->user && access == ARCH_FETCH)
        return !(state->cr4 & CR4_SMEP);
    if (walk->user && (state->cr4 & CR4_SMAP) &&
        (walk->cpl == ARCH_IMPLICIT || !(state->rflags & RFLAGS_AC)))
        return false;
    return access != ARCH_WRITE || walk->write || !(state->cr0 & CR0_WP);
}

/* The whole translation, without its effect on accessed and dirty flags. */
static struct arch_fault walk_and_check(struct walk *walk)
{
    const struct arch_state *state = walk->state;

    if (!arch_long_mode(state))
        walk->linear = (uint32_t)walk->linear;
    else if (!is_canonical(walk->linear, arch_linear_bits(state)))
        return arch_fault_error(ARCH_GP, 0);
    if (!(state->cr0 & CR0_PG)) {
        walk->phys = walk->linear;
        walk->page_size = 4096;
        walk->user = true;
        return ARCH_NO_FAULT;
    }
    ARCH_TRY(walk_tables(walk));
    if (!permits(walk, walk->access))
        return page_fault(walk, PF_P);
    return ARCH_NO_FAULT;
}

/* Accessed flags in every entry used, and for a write the dirty flag in the last (SDM 4.8).
 * Returns whether that one is set. */
static bool set_flags(struct walk *walk)
{
    bool dirty = true;

    for (unsigned i = 0; i < walk->used; i++) {
        uint64_t entry = walk->step[i].entry | ENTRY_A;

        if (walk->access == ARCH_WRITE && i == walk->used - 1)
            entry |= ENTRY_D;
        if (entry != walk->step[i].entry)
            mem_port_write(walk->mem, walk->step[i].phys, entry, walk->entry_size);
        dirty = entry & ENTRY_D;
    }
    return dirty;
}

struct arch_fault arch_translate(const struct arch_state *state, const struct arch_limits *limits,
                                 const struct mem_port *mem, uint64_t linear,
                                 enum arch_access access, unsigned cpl,
                                 struct arch_translation *out)
{
    struct walk walk = {
        .state = state, .limits = limits, .mem = mem, .linear = linear, .access = access, .cpl = cpl
    };
    bool dirty;

    ARCH_TRY(walk_and_check(&walk));
    dirty = set_flags(&walk);
    *out = (struct arch_translation){
        .phys = walk.phys,
        .page_size = walk.page_size,
        .read = permits(&walk, ARCH_READ),
        .write = dirty && permits(&walk, ARCH_WRITE),
        .execute = permits(&walk, ARCH_FETCH),
        .user = walk.user,
    };
    return ARCH_NO_FAULT;
}

/* The part of SIZE bytes at LINEAR that lies in its page. */
static size_t in_page(uint64_t linear, size_t size)
{
    size_t room = 4096 - (size_t)(linear & 4095);

    return size < room ? size : room;
}

/* Addresses that segmentation made wrap at 4 GBytes outside 64-bit mode. */
static uint64_t next_page(const struct arch_state *state, uint64_t linear, size_t size)
{
    uint64_t next = linear + size;

    return arch_64bit_mode(state) || linear >> 32 ? next : (uint32_t)next;
}

struct arch_fault arch_linear_probe(const struct arch_state *state,
                                    const struct arch_limits *limits, const struct mem_port *mem,
                                    uint64_t linear, size_t size, enum arch_access access,
                                    unsigned cpl)
{
    while (size) {
        size_t part = in_page(linear, size);
        struct walk walk = { .state = state,
                             .limits = limits,
                             .mem = mem,
                             .linear = linear,
                             .access = access,
                             .cpl = cpl };

        ARCH_TRY(walk_and_check(&walk));
        linear = next_page(state, linear, part);
        size -= part;
    }
    return ARCH_NO_FAULT;
}

struct arch_fault arch_linear_read(const struct arch_state *state, const struct arch_limits *limits,
                                   const struct mem_port *mem, uint64_t linear, void *buf,
                                   size_t size, unsigned cpl)
{
    uint8_t *to = buf;

    while (size) {
        size_t part = in_page(linear, size);
        struct arch_translation page;

        ARCH_TRY(arch_translate(state, limits, mem, linear, ARCH_READ, cpl, &page));
        mem->read(mem->ctx, page.phys, to, part);
        linear = next_page(state, linear, part);
        to += part;
        size -= part;
    }
    return ARCH_NO_FAULT;
}

struct arch_fault arch_linear_write(const struct arch_state *state,
                                    const struct arch_limits *limits, const struct mem_port *mem,
                                    uint64_t linear, const void *buf, size_t size, unsigned cpl)
{
    const uint8_t *from = buf;

    ARCH_TRY(arch_linear_probe(state, limits, mem, linear, size, ARCH_WRITE, cpl));
    while (size) {
        size_t part = in_page(linear, size);
        struct arch_translation page;
        struct arch_fault none = arch_translate(state, limits, mem, linear, ARCH_WRITE, cpl, &page);

        assert(!none.raised);
        (void)none;
        mem->write(mem->ctx, page.phys, from, part);
        linear = next_page(state, linear, part);
        from += part;
        size -= part;
    }
    return ARCH_NO_FAULT;
}

struct arch_fault arch_load_pdptes(struct arch_state *state, const struct arch_limits *limits,
                                   const struct mem_port *mem, uint64_t cr3)
{
    uint64_t reserved = BITS(63, limits->maxphyaddr) | BITS(8, 5) | BITS(2, 1);
    uint64_t pdpte[4];

    for (unsigned i = 0; i < 4; i++) {
        pdpte[i] = mem_port_read(mem, (cr3 & BITS(31, 5)) + 8 * i, 8);
        if ((pdpte[i] & ENTRY_P) && (pdpte[i] & reserved))
            return arch_fault_error(ARCH_GP, 0);
    }
    for (unsigned i = 0; i < 4; i++)
        state->pdpte[i] = pdpte[i];
    return ARCH_NO_FAULT;
}
