/* SPDX-License-Identifier: MIT */
/* The table of MSRs (msrs.def) as data: by index, by name, and the fields by name. RDMSR and WRMSR
 * themselves are lp_rdmsr() and lp_wrmsr() of lp.h. */
#ifndef PTSIM_CORE_MSR_H
#define PTSIM_CORE_MSR_H

#include <stdbool.h>
#include <stdint.h>

#include "../profile.h"

enum msr_access {
    MSR_RW,
    MSR_RO,   /* a write of it is ignored */
    MSR_ONES, /* reads as all ones, writes are ignored */
};

/* Bits HI:LO of an MSR. */
struct msr_field {
    uint32_t msr; /* index of the MSR it is in */
    const char *name;
    uint8_t hi;
    uint8_t lo;
    enum msr_access access;
    bool (*exists)(const struct cpu_profile *profile);
    /* Whether it may hold VALUE, which is right-justified and no wider than the field. */
    bool (*allows)(const struct cpu_profile *profile, uint64_t value);
    const char *meaning;
};

struct msr {
    uint32_t index;
    const char *name;
    bool (*exists)(const struct cpu_profile *profile);
    uint64_t (*reset)(const struct cpu_profile *profile); /* after a cold reset */
    bool writable;                                        /* else WRMSR is #GP(0) */
    const char *section;                                  /* of the SDM */
};

/* The MSR at POSITION in the table, NULL at its end; a row whether or not a profile has it. */
const struct msr *msr_at(unsigned position);
/* The MSR with that index or name, or NULL. */
const struct msr *msr_find(uint32_t index);
const struct msr *msr_find_name(const char *name);

/* The field of MSR at POSITION, NULL at the end, and the one with that name, or NULL. */
const struct msr_field *msr_field_at(const struct msr *msr, unsigned position);
const struct msr_field *msr_field_find(const struct msr *msr, const char *name);

/* The bits of MSR that are in no field that PROFILE has: a write that sets one is #GP(0). */
uint64_t msr_reserved(const struct msr *msr, const struct cpu_profile *profile);

/* Whether VALUE sets no reserved bit of MSR and uses no reserved encoding. */
bool msr_allows(const struct msr *msr, const struct cpu_profile *profile, uint64_t value);

/* What MSR holds after an allowed write of VALUE where OLD was: OLD in the fields whose writes
 * are ignored. */
uint64_t msr_legal(const struct msr *msr, uint64_t old, uint64_t value);

#endif
