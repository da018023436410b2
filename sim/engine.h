/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unicorn, behind one wall: it runs code natively between two instructions that the simulator
 * executes itself. sim/engine.c is the only file that includes unicorn.h.
 *
 * The architectural state is the machine's (struct arch_state); the engine holds a copy
 * while it runs. Everything that changes more than general registers, RFLAGS, RIP, x87 and SSE
 * state never runs in Unicorn: the machine asks for an intercept at such instructions and
 * executes them on the architectural state. So after a run only registers, flags, RIP, FS and
 * GS base have to be read back. */
#ifndef PTSIM_SIM_ENGINE_H
#define PTSIM_SIM_ENGINE_H

#include "../models/arch/paging.h"
#include "../models/status.h"
#include "memory.h"

struct engine;
struct uc_struct;

/* Called at the start of every translation block, before it runs, with its LINEAR address and
 * SIZE in bytes. Called by Unicorn itself, with no layer between. engine_stop() in it stops
 * before the block runs. The same address may come with different sizes. A store into the block
 * that it is in ends that block: it is executed when it is announced again, as a block of this
 * one instruction. */
typedef void engine_block_fn(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx);

struct engine_ops {
    engine_block_fn *block; /* NULL: no block hook (bench) */
    /* Translates LINEAR, the first byte of a page, for an access of the running code at the
     * loaded CPL. A raised fault ends the run with ENGINE_FAULT; its address is completed with
     * the access's offset in the page. RFLAGS.AC, for SMAP, is in engine_rflags(). */
    struct arch_fault (*translate)(void *ctx, uint64_t linear, enum arch_access access,
                                   struct arch_translation *out);
    /* The code of blocks that start at [LINEAR, LINEAR + SIZE) may be another than when they
     * were last announced: it was translated anew, or the page is another one. Comes before the
     * block is announced and runs, so while the one before may still be held on to. */
    void (*code_changed)(void *ctx, uint64_t linear, uint32_t size);
};

enum engine_exit_kind {
    ENGINE_STOPPED, /* engine_stop(), or an intercept: RIP is the instruction, not executed */
    ENGINE_FAULT,   /* fault: RIP is the instruction; it has done nothing */
    ENGINE_TRAP,    /* fault.vector is a trap's: RIP is the next instruction */
    ENGINE_INVALID, /* an opcode Unicorn does not know; RIP is the instruction */
    ENGINE_ERROR,   /* Unicorn itself failed: error has its text */
};

struct engine_exit {
    enum engine_exit_kind kind;
    struct arch_fault fault;
    const char *error;
};

/* NULL when out of memory or Unicorn does not start. OPS and CTX must outlive it. */
struct engine *engine_new(struct memory *memory, const struct engine_ops *ops, void *ctx);
void engine_free(struct engine *engine);

/* Brings STATE into Unicorn: mode, CPL, hidden segment parts, control registers and all. Cheap
 * when only registers, flags and RIP changed since the last load or save. */
enum ptsim_status engine_load(struct engine *engine, const struct arch_state *state);
/* Reads back what native code can change. */
void engine_save(struct engine *engine, struct arch_state *state);

/* x87 state as FNINIT leaves it, MXCSR 1F80H, XMM registers 0: what a new process finds. Before
 * that it is as after power-up. */
void engine_finit(struct engine *engine);

/* Runs from the loaded state until something ends it. */
struct engine_exit engine_run(struct engine *engine);
/* Ends the run before the next instruction; from a block hook or an intercept. */
void engine_stop(struct engine *engine);

/* Every run stops before the instruction at LINEAR executes, until engine_forget(). True: it is
 * new, and what was translated of that instruction was dropped, so that a block hook that gets
 * true calls engine_stop() and the next run enters its block again through the hook. False: it
 * was intercepted already and nothing is to do. Out of memory shows in the next run, as
 * ENGINE_ERROR. */
bool engine_intercept(struct engine *engine, uint64_t linear);
void engine_forget(struct engine *engine, uint64_t linear);

/* Executes exactly the one instruction at the loaded state's RIP, intercepted or not, with the
 * block hook called for it: ENGINE_STOPPED when it is done. One iteration of a repeated string
 * instruction counts as one. RFLAGS.TF is set meanwhile, so PUSHF is not for it. */
struct engine_exit engine_step(struct engine *engine);

/* Forgets all translations of addresses: after CR3, CR0.PG, CR4 or page tables changed. */
void engine_flush_tlb(struct engine *engine);

/* One general register or RFLAGS, while a hook runs. */
uint64_t engine_gpr(struct engine *engine, enum arch_gpr gpr);
uint64_t engine_rflags(struct engine *engine);

#endif
