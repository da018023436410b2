/* SPDX-License-Identifier: MIT */
/* The seam: what retired, or what was delivered.
 *
 * Whoever can fill this struct can trace: the Unicorn engine of sim/, another
 * emulator, a unit test. It says what happened in the architecture's words and
 * nothing of how it was found out. All models read the same event. */
#ifndef PTSIM_EVENT_H
#define PTSIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum ev_kind {
#define EVENT(name, text, context) EV_##name,
#include "events.def"
#undef EVENT
    EV_KINDS
};

/* The kind's name in events.jsonl. Never NULL. */
const char *ev_kind_name(enum ev_kind kind);

/* The processor state that tracing looks at, as it holds between two instructions. */
struct ev_context {
    uint64_t cr3;
    uint64_t cs_base; /* hidden base of CS; 0 in 64-bit mode */
    uint8_t cpl;      /* 0 in real-address mode, 3 in virtual-8086 mode */
    bool cs_l;        /* CS.L, only meaningful with lma */
    bool cs_d;        /* CS.D */
    bool lma;         /* IA32_EFER.LMA */
    bool pae;         /* PAE paging in use: CR0.PG and CR4.PAE set, LMA clear */
    bool rflags_if;   /* RFLAGS.IF */
};

/* The C-state of CLOCK_STOP and CLOCK_START (SDM 33.2.3). States and sub-states are encoded as in
 * MWAIT's hints: 0 is C1, 15 is C0. */
struct ev_cstate {
    bool sleep; /* else it is a frequency that changes */
    bool mwait; /* CLOCK_STOP: asked for by an MWAIT with these hints and extensions */
    bool hw;    /* CLOCK_STOP: entered by hardware of its own accord */
    uint32_t hints;
    uint32_t extensions;
    uint8_t state; /* CLOCK_STOP: that of the thread, as resolved */
    uint8_t sub_state;
    uint8_t last; /* CLOCK_START: that of the core on waking, and the deepest since */
    uint8_t deepest;
    uint8_t wake; /* CLOCK_START: why, as the bits of PWRX (33.4.2.25) */
};

struct ptsim_event {
    enum ev_kind kind;
    bool taken;                /* COND_BRANCH */
    uint8_t vector;            /* SW_INTERRUPT, FAULT, TRAP, INTERRUPT, NMI, SIPI */
    uint8_t size;              /* PTWRITE: bytes of value */
    uint32_t insns;            /* instructions retired since the event before, this one included */
    uint64_t cycles;           /* core clocks since the event before */
    uint64_t cycles_after_cr3; /* those of cycles after the event loaded CR3, where that is worth
                                  telling apart: a task switch takes its time (SDM 33.3.6.2) */
    uint64_t from_ip;          /* see events.def */
    uint64_t next_ip;          /* the instruction after from_ip in memory; 0 for FAULT, TRAP,
                                  INTERRUPT, NMI and SMI */
    uint64_t to_ip;            /* where execution goes on */
    uint64_t value;            /* see events.def */
    struct ev_cstate cstate;   /* CLOCK_STOP, CLOCK_START */
    struct ev_context before;  /* FAR kinds only */
    struct ev_context after;   /* FAR kinds only */
};

#endif
