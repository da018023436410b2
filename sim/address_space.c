/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "address_space.h"

#include <assert.h>

#include "../models/bits.h"

/* Paging-structure entries (SDM vol. 3A, tables 4-15 to 4-20). */
#define PTE_P      BIT(0)
#define PTE_RW     BIT(1)
#define PTE_US     BIT(2)
#define PTE_MAPPED BIT(9) /* ignored by the processor: a page is there, if only for AS_NONE */
#define PTE_XD     BIT(63)
#define PTE_FRAME  BITS(51, 12)

static const uint8_t zeros[AS_PAGE];

static uint64_t pte_flags(unsigned prot)
{
    uint64_t flags = PTE_MAPPED;

    if (prot & (AS_READ | AS_WRITE | AS_EXECUTE))
        flags |= PTE_P;
    if (prot & AS_WRITE)
        flags |= PTE_RW;
    if (!(prot & AS_SUPERVISOR))
        flags |= PTE_US;
    if (!(prot & AS_EXECUTE))
        flags |= PTE_XD;
    return flags;
}

static unsigned pte_prot(uint64_t entry)
{
    return (entry & PTE_P ? AS_READ : 0u) | (entry & PTE_RW ? AS_WRITE : 0u) |
           (entry & PTE_XD ? 0u : AS_EXECUTE) | (entry & PTE_US ? 0u : AS_SUPERVISOR);
}

static uint64_t load(const struct address_space *as, uint64_t entry)
{
    return mem_port_read(&as->mem, entry, 8);
}

static void store(struct address_space *as, uint64_t entry, uint64_t value)
{
    mem_port_write(&as->mem, entry, value, 8);
}

uint64_t as_frames(struct address_space *as, uint64_t count)
{
    uint64_t frame = as->next_frame;

    if (count > (as->frame_end - frame) / AS_PAGE)
        return 0;
    as->next_frame += count * AS_PAGE;
    return frame;
}

/* A zeroed frame, or 0. */
static uint64_t frame_take(struct address_space *as)
{
    uint64_t frame = as->free_frame;

    if (!frame)
        return as_frames(as, 1);
    as->free_frame = load(as, frame);
    as->mem.write(as->mem.ctx, frame, zeros, AS_PAGE);
    return frame;
}

static void frame_give_back(struct address_space *as, uint64_t frame)
{
    store(as, frame, as->free_frame);
    as->free_frame = frame;
}

/* The physical address of the entry that maps ADDRESS; 0 where its table is not there, and with
 * CREATE where it could not be made. *NEXT is the first address after what the entry covers that
 * says so. */
static uint64_t walk(struct address_space *as, uint64_t address, bool create, uint64_t *next)
{
    uint64_t table = as->cr3;

    for (unsigned shift = 39; shift > 12; shift -= 9) {
        uint64_t entry = table + 8 * bits_get(address, shift + 8, shift);
        uint64_t value = load(as, entry);

        if (!value) {
            uint64_t frame = create ? frame_take(as) : 0;

            *next = (address | BITS(shift - 1, 0)) + 1;
            if (!frame)
                return 0;
            value = frame | PTE_P | PTE_RW | PTE_US;
            store(as, entry, value);
        }
        table = value & PTE_FRAME;
    }
    *next = (address | BITS(11, 0)) + 1;
    return table + 8 * bits_get(address, 20, 12);
}

static uint64_t leaf_entry(struct address_space *as, uint64_t address, bool create)
{
    uint64_t next;

    return walk(as, address, create, &next);
}

/* What maps ADDRESS, or 0. All up to *NEXT is mapped or not as it is. */
static uint64_t leaf(struct address_space *as, uint64_t address, uint64_t *next)
{
    uint64_t entry = walk(as, address, false, next);

    return entry ? load(as, entry) : 0;
}

bool as_init(struct address_space *as, const struct mem_port *mem, uint64_t size)
{
    *as = (struct address_space){
        .mem = *mem, .frame_end = size, .next_frame = AS_PAGE, /* frame 0 would read as "none" */
    };
    as->cr3 = as_frames(as, 1);
    return as->cr3 != 0;
}

bool as_map(struct address_space *as, uint64_t address, uint64_t size, unsigned prot)
{
    as_unmap(as, address, size);
    for (uint64_t at = address; at - address < size; at += AS_PAGE) {
        uint64_t entry = leaf_entry(as, at, true);
        uint64_t frame = entry ? frame_take(as) : 0;

        if (!frame)
            return false;
        store(as, entry, frame | pte_flags(prot));
    }
    return true;
}

void as_unmap(struct address_space *as, uint64_t address, uint64_t size)
{
    for (uint64_t at = address, next; at - address < size; at = next) {
        uint64_t entry = walk(as, at, false, &next);
        uint64_t value = entry ? load(as, entry) : 0;

        if (!value)
            continue;
        frame_give_back(as, value & PTE_FRAME);
        store(as, entry, 0);
        as->stale = true;
    }
}

bool as_protect(struct address_space *as, uint64_t address, uint64_t size, unsigned prot)
{
    if (!as_is_mapped(as, address, size))
        return false;
    for (uint64_t at = address; at - address < size; at += AS_PAGE) {
        uint64_t entry = leaf_entry(as, at, false);

        store(as, entry, (load(as, entry) & PTE_FRAME) | pte_flags(prot));
    }
    as->stale = true;
    return true;
}

unsigned as_prot(struct address_space *as, uint64_t address)
{
    return pte_prot(load(as, leaf_entry(as, address, false)));
}

bool as_move(struct address_space *as, uint64_t from, uint64_t to, uint64_t size)
{
    for (uint64_t offset = 0; offset < size; offset += AS_PAGE)
        if (!leaf_entry(as, to + offset, true))
            return false;
    for (uint64_t offset = 0; offset < size; offset += AS_PAGE) {
        uint64_t entry = leaf_entry(as, from + offset, false);

        store(as, leaf_entry(as, to + offset, false), load(as, entry));
        store(as, entry, 0);
    }
    as->stale = true;
    return true;
}

bool as_is_mapped(struct address_space *as, uint64_t address, uint64_t size)
{
    for (uint64_t at = address, next; at - address < size; at = next)
        if (!leaf(as, at, &next))
            return false;
    return true;
}

bool as_is_free(struct address_space *as, uint64_t address, uint64_t size)
{
    for (uint64_t at = address, next; at - address < size; at = next)
        if (leaf(as, at, &next))
            return false;
    return true;
}

/* The physical address of ADDRESS, which is mapped, and in *PART how many of SIZE bytes lie in its
 * page. */
static uint64_t locate(struct address_space *as, uint64_t address, uint64_t size, uint64_t *part)
{
    uint64_t next;
    uint64_t entry = leaf(as, address, &next);
    uint64_t offset = address % AS_PAGE;

    assert(entry);
    *part = size < AS_PAGE - offset ? size : AS_PAGE - offset;
    return (entry & PTE_FRAME) + offset;
}

void as_write(struct address_space *as, uint64_t address, const void *data, uint64_t size)
{
    const uint8_t *from = data;

    for (uint64_t done = 0, part; done < size; done += part) {
        uint64_t phys = locate(as, address + done, size - done, &part);

        as->mem.write(as->mem.ctx, phys, from + done, part);
    }
}

void as_read(struct address_space *as, uint64_t address, void *data, uint64_t size)
{
    uint8_t *to = data;

    for (uint64_t done = 0, part; done < size; done += part) {
        uint64_t phys = locate(as, address + done, size - done, &part);

        as->mem.read(as->mem.ctx, phys, to + done, part);
    }
}

void as_zero(struct address_space *as, uint64_t address, uint64_t size)
{
    for (uint64_t at = address; at - address < size; at += AS_PAGE)
        as_write(as, at, zeros, AS_PAGE);
}

static bool is_executable(struct address_space *as, uint64_t address, uint64_t *next)
{
    uint64_t entry = leaf(as, address, next);

    return (entry & PTE_P) && !(entry & PTE_XD);
}

bool as_find_executable(struct address_space *as, uint64_t from, uint64_t *address, uint64_t *size)
{
    uint64_t at = from;
    uint64_t next;

    while (at < AS_USER_END && !is_executable(as, at, &next))
        at = next;
    *address = at;
    while (at < AS_USER_END && is_executable(as, at, &next))
        at = next;
    *size = at - *address;
    return *size != 0;
}
