/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine: memory, one logical processor and the engine that runs its code; it turns what
 * runs into events. */
#ifndef PTSIM_SIM_MACHINE_H
#define PTSIM_SIM_MACHINE_H

#include "../models/arch/interrupt.h"
#include "../models/core/lp.h"
#include "engine.h"
#include "memory.h"

struct machine;

/* Watchers, each called when it is set. They see, they change nothing.
 *
 * Instructions are counted, and their addresses told, as they retire: each once and in order. One
 * that faults has not retired. A repeated string instruction retires when its last iteration has
 * ended, however often an interrupt or a fault came between, and then counts once. INT n and
 * its kin retire when they have been delivered, whatever other far transfer when it has
 * arrived, HLT before it waits. The delivery of a fault, trap or interrupt is no instruction. */
struct machine_watch {
    void *ctx;
    /* Every event, after the models have seen it. N is the number of instructions retired up to
     * and including it. */
    void (*event)(void *ctx, uint64_t n, const struct ptsim_event *event);
    /* PacketEn changed: instructions from number N on (0 based, in truth order) are traced, or
     * are not. A WRMSR that clears TraceEn is not among the traced. */
    void (*packet_en)(void *ctx, uint64_t n, bool packet_en);
    /* N instructions were executed, at these linear addresses, in order. */
    void (*truth)(void *ctx, const uint64_t *ip, size_t n);
};

enum machine_end {
    MACHINE_STOPPED,  /* machine_stop_at() or machine_stop() */
    MACHINE_HALTED,   /* HLT with nothing to wake it */
    MACHINE_SHUTDOWN, /* triple fault */
    MACHINE_LIMIT,    /* the instruction limit */
    MACHINE_ERROR,    /* not modelled, or Unicorn failed: machine_error() has a line */
};

struct machine *machine_new(const struct cpu_profile *profile, uint64_t memory_size);
void machine_free(struct machine *machine);

struct lp *machine_lp(struct machine *machine);
struct memory *machine_memory(struct machine *machine);
/* Adds a watcher, of which there can be four. The simulation is the same with and without, only
 * slower: block by block where branches alone are traced. */
void machine_watch(struct machine *machine, const struct machine_watch *watch);

/* A call when the instruction at LINEAR is about to execute for the NTH time from now (1 based),
 * also where a far transfer or a delivery just arrived there; FN may raise things with
 * machine_inject(), stop, change the state (the run goes on from what it leaves), or ask for the
 * next time. */
typedef void machine_at_fn(void *ctx, struct machine *machine);
enum ptsim_status machine_at(struct machine *machine, uint64_t linear, uint64_t nth,
                             machine_at_fn *fn, void *ctx);
/* The same after N more instructions have retired, exactly. */
enum ptsim_status machine_after(struct machine *machine, uint64_t n, machine_at_fn *fn, void *ctx);
/* What machine_at() reaches at IA32_LSTAR and at the IDT's handlers makes a Linux kernel of FN: the
 * far transfers themselves are the architecture's. After FN changed page tables it says so here. */
void machine_flush_tlb(struct machine *machine);

/* An interruption pending for the next boundary that allows it: an external interrupt, an NMI or
 * a hardware exception. Its return_rip is found at delivery. */
void machine_inject(struct machine *machine, const struct arch_interruption *what);
/* An SMI is signaled: latched, and taken at the next boundary that allows it. */
void machine_smi(struct machine *machine);
/* INIT is signaled: latched, and taken at the next boundary that allows it. A SIPI with VECTOR is
 * lost where the processor does not wait for one when it comes to it. */
void machine_signal_init(struct machine *machine);
void machine_sipi(struct machine *machine, uint8_t vector);
/* A machine check: #MC, or shutdown where CR4.MCE is clear. */
void machine_check(struct machine *machine);
/* The next instruction takes CYCLES more core clocks than the cost table says. */
void machine_stall(struct machine *machine, uint64_t cycles);
/* CYCLES core clocks pass, then the core resets PT's cycle counter: EV_CYCLE_COUNTER_RESET. */
void machine_reset_cycle_counter(struct machine *machine, uint64_t cycles);

/* The processor sleeps in a C-state deeper than C0.1, while the TSC counts TICKS: an error where it
 * does not. */
void machine_sleep(struct machine *machine, uint64_t ticks);
/* Somebody stores to the line that the monitor watches. */
void machine_monitored_store(struct machine *machine);
/* Hardware duty cycling: the core is idle while the TSC counts TICKS (SDM vol. 3B, 14.5). */
void machine_duty_cycle(struct machine *machine, uint64_t ticks);
/* The core has RATIO times the frequency of the bus clock from now on; not 0. */
void machine_set_core_ratio(struct machine *machine, uint8_t ratio);

/* PT's internal buffers overflow, and have room again. */
void machine_overflow(struct machine *machine);
void machine_overflow_end(struct machine *machine);

void machine_stop(struct machine *machine);
/* Runs until something ends it; may be called again after MACHINE_STOPPED and MACHINE_LIMIT. */
enum machine_end machine_run(struct machine *machine, uint64_t max_instructions);
/* One line on why the last run ended in MACHINE_ERROR. */
const char *machine_error(const struct machine *machine);
uint64_t machine_instructions(const struct machine *machine);

/* Clears TraceEn as a WRMSR at the current instruction would: the way every run ends. */
void machine_trace_end(struct machine *machine);

#endif
