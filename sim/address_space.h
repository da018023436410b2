/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address space of a process: 4-level page tables (SDM vol. 3A, 4.5) with 4-KByte pages, in
 * guest memory, and the frames behind them. The page tables are all that is known of a mapping. */
#ifndef PTSIM_SIM_ADDRESS_SPACE_H
#define PTSIM_SIM_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "../models/ports.h"

#define AS_PAGE     UINT64_C(4096)
/* User addresses lie below this one, as under Linux: the last page of the lower half is no one's.
 */
#define AS_USER_END ((UINT64_C(1) << 47) - AS_PAGE)

/* What a page may be used for; a page with none of READ, WRITE and EXECUTE is mapped, but every
 * access to it faults. x86 has no page that can be written or executed but not read. */
enum as_prot {
    AS_NONE = 0,
    AS_READ = 1 << 0,
    AS_WRITE = 1 << 1,
    AS_EXECUTE = 1 << 2,
    AS_SUPERVISOR = 1 << 3,
};

struct address_space {
    struct mem_port mem;
    uint64_t cr3;
    uint64_t frame_end;  /* frames from here on are out of reach */
    uint64_t next_frame; /* the first one that was never used */
    uint64_t free_frame; /* the first that was given back, 0 for none; each holds the next */
    bool stale;          /* a translation that the processor may hold is no longer right; whoever
                            has its translations flushed clears this */
};

/* An empty address space in MEM, which has SIZE zeroed bytes and is used from its second page on.
 * False where it has no room. */
bool as_init(struct address_space *as, const struct mem_port *mem, uint64_t size);

/* Takes COUNT zeroed frames that lie side by side for other uses. The physical address of the
 * first, or 0 where there are no more. */
uint64_t as_frames(struct address_space *as, uint64_t count);

/* All below: ADDRESS is that of a page, SIZE a positive multiple of the page size, and the range
 * lies in one half of the address space. */

/* Maps zeroed pages, in place of what was there. False when out of memory; pages from some point
 * on are then not mapped. */
bool as_map(struct address_space *as, uint64_t address, uint64_t size, unsigned prot);
void as_unmap(struct address_space *as, uint64_t address, uint64_t size);
/* False, with nothing changed, where a page of the range is not mapped. */
bool as_protect(struct address_space *as, uint64_t address, uint64_t size, unsigned prot);
/* What the page at ADDRESS, which is mapped, may be used for. */
unsigned as_prot(struct address_space *as, uint64_t address);
/* Moves mapped pages with what they hold to where nothing is mapped. False when out of memory. */
bool as_move(struct address_space *as, uint64_t from, uint64_t to, uint64_t size);

/* Whether every page of the range is mapped; whether none is. */
bool as_is_mapped(struct address_space *as, uint64_t address, uint64_t size);
bool as_is_free(struct address_space *as, uint64_t address, uint64_t size);

/* Writes and reads mapped pages whatever their protection, as a loader does; here ADDRESS and SIZE
 * are any. */
void as_write(struct address_space *as, uint64_t address, const void *data, uint64_t size);
void as_read(struct address_space *as, uint64_t address, void *data, uint64_t size);
/* Fills mapped pages with zeros. */
void as_zero(struct address_space *as, uint64_t address, uint64_t size);

/* The first range of user pages at FROM or above that may be executed; false where there is none.
 */
bool as_find_executable(struct address_space *as, uint64_t from, uint64_t *address, uint64_t *size);

#endif
