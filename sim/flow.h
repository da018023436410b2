/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From translation blocks to events: what the machine's files share, and the block hook.
 *
 * A block that was entered is pending until it is known how it ended: by the next block hook, or
 * by whatever stopped the engine. Then its branch becomes an event.
 *
 * The hook has four ways. The shortest is that of most conditional branches: the block that
 * follows is known, the outcome goes into the TNT buffer, and the sum of the block is added up. The
 * quiet one is for all other near branches as long as nothing can happen but their packets. The
 * longer one makes events of them, and lets time bring what it brings. The slow one knows
 * everything: it decodes what is new, tells watchers, and stops where the engine has to stop. */
#ifndef PTSIM_SIM_FLOW_H
#define PTSIM_SIM_FLOW_H

#include "block_cache.h"
#include "machine.h"

enum {
    MACHINE_WATCHES = 4,
    MACHINE_PENDING = 16, /* injected interruptions */
    MACHINE_NO_SIPI = -1,
    MACHINE_TRUTH = 4096, /* addresses handed to watchers at once */
    CODE_SIZE = BLOCK_INSNS_MAX * INSN_SIZE_MAX + INSN_SIZE_MAX,
};

/* A call that machine_at() or machine_after() asked for. */
struct machine_call {
    uint64_t linear; /* machine_at() */
    uint64_t count;  /* machine_at(): arrivals to go; machine_after(): the instruction count */
    machine_at_fn *fn;
    void *ctx;
};

struct machine_calls {
    struct machine_call *call;
    size_t count, room;
};

/* What decides how linear addresses translate, beside the page tables. */
struct machine_mapping {
    uint64_t cr0, cr3, cr4, efer;
    uint64_t pdpte[4];
};

struct machine {
    /* What the block hook touches each time. */
    struct block *pending;
    uint64_t sum;   /* instructions << 32 | core clocks of the blocks since RETIRED and CYCLES */
    uint32_t limit; /* core clocks in the sum that ask for a closer look */
    struct lp lp;
    struct block_cache cache;

    bool slow;        /* every block takes the slow way: somebody watches, or code has changed */
    uint64_t retired; /* instructions */
    uint64_t cycles;  /* core clocks since the last event */
    uint32_t insns;   /* instructions, the same */
    struct ptsim_event near; /* for the near branches: it has no context */

    const struct cpu_profile *profile;
    struct engine *engine;
    struct memory *memory;

    uint64_t stop_at;    /* the instruction count beyond which the engine must not get */
    uint64_t limit_at;   /* the one at which this run ends */
    uint64_t step_until; /* until this one blocks are too long: the engine steps */
    bool stepping;       /* engine_step() runs */
    bool step_once;
    bool fetch_fault;   /* the last fault of the translation was one of a fetch */
    bool in_repeat;     /* RIP is a repeated string instruction that has begun */
    bool stop;          /* machine_stop() was called */
    uint64_t shadow_at; /* the instruction count at which blocking by STI or MOV SS began */
    struct machine_mapping mapping; /* what the engine's and the cache's contents hold for */

    /* The boundary whose calls have been made. */
    uint64_t arrived_retired, arrived_deliveries, arrived_linear;
    uint64_t deliveries;
    struct machine_calls at, after;
    struct arch_interruption injected[MACHINE_PENDING];
    unsigned injected_count;
    bool init_pending;
    int sipi_pending; /* its vector, or MACHINE_NO_SIPI */

    struct machine_watch watch[MACHINE_WATCHES];
    unsigned watches;
    bool watch_truth;
    bool packet_en; /* as the watchers know it */
    uint64_t truth[MACHINE_TRUTH];
    size_t truth_count;

    struct block step_block; /* of the one instruction that engine_step() ran */
    struct block_insn step_insn;
    struct block_insn list[BLOCK_INSNS_MAX];
    uint8_t code[CODE_SIZE];
    char error[160];
};

/* The block hook. CTX is the machine. */
engine_block_fn flow_block;

/* Brings RETIRED, CYCLES and INSNS up to date. */
void flow_catch_up(struct machine *machine);
/* Sets how far the block hook may go its shortest way. */
void flow_set_limit(struct machine *machine);

/* The engine has stopped at LINEAR. What is pending ended there: in the middle, unless COMPLETE
 * says that its last instruction has retired. */
void flow_settle(struct machine *machine, uint64_t linear, bool complete);

/* One instruction outside any block has retired at LINEAR, and took CYCLES. */
void flow_retire(struct machine *machine, uint64_t linear, uint32_t cycles);

/* Shows EVENT to the models and the watchers, with the time and the instructions counted since
 * the one before. */
void flow_event(struct machine *machine, struct ptsim_event *event);
/* The same for an event that the models have seen: the watchers' part. N as for packet_en of
 * struct machine_watch. */
void flow_event_seen(struct machine *machine, const struct ptsim_event *event, uint64_t n);
/* Tells the watchers if PacketEn is no longer what they know, from instruction N on. */
void flow_poll_packet_en(struct machine *machine, uint64_t n);
/* What has passed since the last event, where there is any, becomes an event. */
void flow_charge(struct machine *machine);
void flow_flush_truth(struct machine *machine);

/* Reads up to SIZE bytes of code at LINEAR; *AVAILABLE is how many there are before FAULT. */
struct arch_fault flow_fetch(struct machine *machine, uint64_t linear, uint8_t *bytes, size_t size,
                             size_t *available);

/* Ends the run with MACHINE_ERROR. The first call's line counts. */
void flow_error(struct machine *machine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sleep (sleep.c). C1, entered by what is at FROM_IP; the activity state is set already. */
void sleep_enter_c1(struct machine *machine, uint64_t from_ip);
/* For WAKE, of enum ipt_wake. Nothing where the processor does not sleep. */
void sleep_wake(struct machine *machine, uint8_t wake);
/* With nothing else to wake it: whether its deadline does, until which time then passes. */
bool sleep_ends(struct machine *machine);
/* Whether an interrupt wakes it though RFLAGS.IF is clear. */
bool sleep_ignores_if(const struct machine *machine);

/* Delivery (deliver.c). FROM_IP is the event's. */
void deliver_fault(struct machine *machine, const struct arch_fault *fault);
/* #DB after an instruction that ran with RFLAGS.TF set. */
void deliver_single_step(struct machine *machine);
/* INT n and its kin, at EVENT, which takes CYCLES as an instruction. */
void deliver_software(struct machine *machine, const struct arch_interruption *what,
                      struct ptsim_event *event, uint32_t cycles);
/* A pending SMI, or the injected interruption that comes first, if one may be delivered now. False:
 * none. */
bool deliver_injected(struct machine *machine);
/* RSM led to shutdown: from_ip and before of EVENT are its own. */
void deliver_shutdown(struct machine *machine, struct ptsim_event *event);
/* Whether one would be but for blocking by STI or MOV SS. */
bool deliver_awaits_shadow(struct machine *machine);

#endif
