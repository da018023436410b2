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
    uint64_t phys;      /* of the address asked for */
    uint64_t page_size; /* of the translation, in bytes; 4096 with paging off */
    /* What else the page allows at the same privilege, with CR0, CR4 and EFLAGS.AC as they are.
     * A write is only promised once the dirty flag is set, so no access that is promised
     * needs another walk. */
    bool read;
    bool write;
    bool execute;
    bool user; /* U/S of the page */
};

/* What the model needs to know of the processor beside STATE. */
struct arch_limits {
    uint8_t maxphyaddr;    /* CPUID.80000008H:EAX[7:0], 32 to 52 */
    uint8_t linear_width;  /* canonical width: 48, or 57 with LA57 supported */
    bool no_1gb_pages;     /* CPUID.80000001H:EDX[26] is clear */
    uint64_t cr4_reserved; /* bits of CR4 for features that this processor lacks; LA57 goes by
                              linear_width */
};

/* What every arch function that touches memory works on. */
struct arch_cpu {
    struct arch_state *state;
    const struct arch_limits *limits;
    const struct mem_port *mem;
};

/* The privilege of an access that an instruction or a delivery makes to a descriptor table or a
 * TSS: supervisor whatever CPL is, and EFLAGS.AC does not help it past SMAP (SDM 4.6.1). Passed
 * where an explicit access passes its CPL. */
enum {
    ARCH_IMPLICIT = 4
};

/* Translates LINEAR for an access at privilege CPL, 0 to 3 or ARCH_IMPLICIT. Sets accessed and,
 * for ARCH_WRITE, dirty flags, but none where a fault is raised. Bits 63:32 of LINEAR count in
 * IA-32e mode alone.
 * Returns #PF, or #GP(0) where LINEAR is not canonical in IA-32e mode (#SS is the caller's
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

/* Whether an access to SIZE bytes at LINEAR would fault. Changes nothing, no flag either. */
struct arch_fault arch_linear_probe(const struct arch_state *state,
                                    const struct arch_limits *limits, const struct mem_port *mem,
                                    uint64_t linear, size_t size, enum arch_access access,
                                    unsigned cpl);

/* MOV to CR3 with PAE paging, and others that load the PDPTE registers: #GP(0) on a
 * reserved bit, else state->pdpte is loaded (SDM 4.4.1). */
struct arch_fault arch_load_pdptes(struct arch_state *state, const struct arch_limits *limits,
                                   const struct mem_port *mem, uint64_t cr3);

#endif
