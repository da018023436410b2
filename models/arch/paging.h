/* SPDX-License-Identifier: MIT */
/* Address translation (SDM vol. 3A, chapter 4): 32-bit, PAE, 4-level and
 * 5-level paging, with accessed and dirty flags, SMEP, SMAP, NX and reserved bits. */
#ifndef PTSIM_ARCH_PAGING_H
#define PTSIM_ARCH_PAGING_H

#include "../ports.h"
#include "fault.h"
#include "state.h"

enum arch_access {
    ARCH_READ,
    ARCH_WRITE,
    ARCH_FETCH,
};

struct arch_translation {
    uint64_t phys;     /* of the address asked for */
    uint64_t page_size; /* of the translation, in bytes; 4096 with paging off */
    bool write;        /* a write at the same privilege needs no new walk: allowed, and the dirty flag is set */
    bool user;         /* U/S of the page */
    bool execute;
};

/* What the model needs to know of the processor beside STATE. */
struct arch_limits {
    uint8_t maxphyaddr;   /* CPUID.80000008H:EAX[7:0] */
    uint8_t linear_width; /* canonical width: 48, or 57 with LA57 supported */
};

/* Translates LINEAR for an access at privilege CPL (an implicit supervisor access, as to
 * the GDT, passes 0 whatever state->cpl is). Sets accessed and, for ARCH_WRITE, dirty flags.
 * Returns #PF, or #GP(0) where LINEAR is not canonical in 64-bit mode (#SS is the caller's
 * to choose). */
struct arch_fault arch_translate(const struct arch_state *state, const struct arch_limits *limits,
                                 const struct mem_port *mem, uint64_t linear,
                                 enum arch_access access, unsigned cpl,
                                 struct arch_translation *out);

/* Reads or writes SIZE bytes at LINEAR through the translation, over page ends. A write
 * that faults has written nothing. */
struct arch_fault arch_linear_read(const struct arch_state *state, const struct arch_limits *limits,
                                   const struct mem_port *mem, uint64_t linear, void *buf,
                                   size_t size, unsigned cpl);
struct arch_fault arch_linear_write(const struct arch_state *state,
                                    const struct arch_limits *limits, const struct mem_port *mem,
                                    uint64_t linear, const void *buf, size_t size, unsigned cpl);

/* MOV to CR3 with PAE paging, and others that load the PDPTE registers: #GP(0) on a
 * reserved bit, else state->pdpte is loaded (SDM 4.4.1). */
struct arch_fault arch_load_pdptes(struct arch_state *state, const struct arch_limits *limits,
                                   const struct mem_port *mem, uint64_t cr3);

#endif
