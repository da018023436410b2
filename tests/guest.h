/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with a small guest program for tests, and what it did as text.
 *
 * Memory is the same in every mode and mapped one to one; the program's labels name addresses. A
 * label vec_N is the handler of vector N: its IDT gate (or IVT entry) has DPL 3. */
#ifndef PTSIM_TESTS_GUEST_H
#define PTSIM_TESTS_GUEST_H

#include "../models/arch/state.h"
#include "../sim/machine.h"
#include "../sim/symbols.h"

enum {
    GUEST_GDT = 0x1000,
    GUEST_IDT = 0x2000,
    GUEST_TSS = 0x3000,
    GUEST_PML4 = 0x4000,    /* with the two tables behind it */
    GUEST_PT = 0x8000,      /* 4-KByte pages of the first 2 MBytes */
    GUEST_CODE = 0xa000,    /* where the program begins */
    GUEST_STACK = 0xa000,   /* the initial RSP */
    GUEST_STACK0 = 0x10000, /* RSP0 of the TSS */
    GUEST_MEMORY = 4 << 20,
    GUEST_TEXT = 1 << 12,
};

struct guest {
    struct machine *machine;
    struct lp *lp;
    struct symbols symbols;
    /* What happened, a line for each event, the addresses executed and the changes of
     * PacketEn, with labels for addresses. */
    char events[GUEST_TEXT];
    char truth[GUEST_TEXT];
    char packet_en[256];
    uint64_t cycles, insns; /* sums over all events */
};

/* The program TEXT (Intel syntax) ready to run in MODE at CPL, with the processor of PROFILE. */
void guest_start(struct guest *guest, const char *profile, enum arch_mode mode, uint8_t cpl,
                 const char *text);
void guest_end(struct guest *guest);
/* Records what happens from here on. */
void guest_watch(struct guest *guest);
/* The value of a label. */
uint64_t guest_label(const struct guest *guest, const char *name);
/* Runs until it ends in HLT, or whatever else; at most 10000 instructions. */
enum machine_end guest_run(struct guest *guest);

#endif
