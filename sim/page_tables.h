/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page tables of every format, built in guest memory from 4-KByte pages (SDM vol. 3A, 4.3 to
 * 4.5). */
#ifndef PTSIM_SIM_PAGE_TABLES_H
#define PTSIM_SIM_PAGE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "../models/ports.h"

enum page_format {
    PAGES_32BIT,
    PAGES_PAE,
    PAGES_4LEVEL,
    PAGE_FORMATS
};

/* Bits of an entry in every format; all tables above the last allow everything. */
enum {
    PAGE_PRESENT = 1 << 0,
    PAGE_WRITABLE = 1 << 1,
    PAGE_USER = 1 << 2,
};
#define PAGE_NX (UINT64_C(1) << 63)

struct page_tables {
    struct mem_port mem;
    enum page_format format;
    uint64_t next; /* the first free zeroed frame, and where they end */
    uint64_t end;
};

/* In the tables that CR3 ROOT points to, makes the entry of the page at LINEAR the frame PHYS with
 * FLAGS; with FLAGS 0 nothing is mapped there. False where the frames for tables have run out. */
bool page_tables_map(struct page_tables *tables, uint64_t root, uint64_t linear, uint64_t phys,
                     uint64_t flags);
/* The physical address of LINEAR. False where nothing is mapped. */
bool page_tables_find(const struct page_tables *tables, uint64_t root, uint64_t linear,
                      uint64_t *phys);

/* Whether the format has LINEAR: it is canonical, or below 4G. */
bool page_format_has(enum page_format format, uint64_t linear);

#endif
