/* SPDX-License-Identifier: MIT */
/* The stack of a state: SS:RSP at its CPL, in the width that its mode and SS.B give (SDM vol. 1,
 * 6.2.3). For the files of this folder. */
#ifndef PTSIM_ARCH_STACK_H
#define PTSIM_ARCH_STACK_H

#include "segment.h"

/* Pushes that are made together: every one is checked before the first is written. */
struct arch_pushes {
    const struct arch_cpu *cpu;
    uint32_t ss_error; /* the error code of #SS for want of room */
    uint64_t rsp;      /* below what was pushed so far */
    unsigned count;
    struct {
        uint64_t linear;
        uint64_t value;
        size_t size;
    } item[4 + 31 + 5];
};

/* Begins a row of pushes on the stack that CPU's state has now. */
struct arch_pushes arch_push_begin(const struct arch_cpu *cpu, uint32_t ss_error);
/* One more, of SIZE bytes: a fault where there is no room, or the page is not there. */
struct arch_fault arch_push(struct arch_pushes *pushes, size_t size, uint64_t value);
/* Writes them all, and sets RSP, in the width of the stack that they began on. A fault is only
 * possible where the stack lies on the page tables that map it. */
struct arch_fault arch_push_end(struct arch_pushes *pushes);

/* The SIZE bytes at DISPLACEMENT above the top of the stack. */
struct arch_fault arch_peek(const struct arch_cpu *cpu, unsigned displacement, size_t size,
                            uint64_t *value);
/* Adds BYTES to the stack pointer. */
void arch_release(struct arch_state *state, unsigned bytes);
/* Loads the stack pointer: RSP in 64-bit mode, else ESP or, leaving the rest of it, SP. */
void arch_set_stack_pointer(struct arch_state *state, uint64_t value);

#endif
