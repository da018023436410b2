/* SPDX-License-Identifier: MIT */
/* The steps that far transfers, interrupt delivery and task switches share. For the files of this
 * folder.
 *
 * Each transfer works on a copy of the state and puts it in place when nothing can fault any
 * more: a CPU below is one whose state is that copy. */
#ifndef PTSIM_ARCH_TRANSFER_H
#define PTSIM_ARCH_TRANSFER_H

#include "descriptor.h"
#include "stack.h"

/* Ends the transfer that made NEXT of CPU's state: puts it in place unless FAULT was raised before
 * anything changed. Returns FAULT. */
static inline struct arch_fault arch_commit(const struct arch_cpu *cpu,
                                            const struct arch_state *next, struct arch_fault fault)
{
    if (!fault.raised || fault.new_task)
        *cpu->state = *next;
    return fault;
}

/* The segment registers that a return to an outer level, or to virtual-8086 mode, looks at. */
#define ARCH_DATA_SREGS                                                                            \
    {                                                                                              \
        ARCH_ES, ARCH_DS, ARCH_FS, ARCH_GS                                                         \
    }

static inline uint64_t arch_operand_mask(unsigned opsize)
{
    return BITS(8 * opsize - 1, 0);
}

/* The stack on which a call or an event arrives at a more privileged level. */
struct arch_inner_stack {
    bool null; /* IA-32e mode: SS becomes a null selector */
    struct arch_descriptor ss;
    uint64_t rsp;
};

/* The stack for privilege level DPL from the current TSS (SDM 5.8.5), with the checks on it that
 * come before anything is pushed. IST is 1 to 7 to take that entry of a 64-bit TSS, else 0. */
struct arch_fault arch_inner_stack(const struct arch_cpu *cpu, unsigned dpl, unsigned ist,
                                   unsigned ext, struct arch_inner_stack *out);
/* Loads it into STATE, where CS and CPL are those of the inner level already. */
void arch_load_inner_stack(struct arch_state *state, const struct arch_inner_stack *stack);
/* Marks its segment accessed, where it has one. */
struct arch_fault arch_mark_inner_stack(const struct arch_cpu *cpu, struct arch_inner_stack *stack);

/* DESC is a code segment, of a kind that exists in the mode: else #GP. Present or not, and the
 * privilege, are not looked at. */
struct arch_fault arch_check_code(const struct arch_cpu *cpu, const struct arch_descriptor *desc,
                                  unsigned ext);
/* Reads the descriptor of SELECTOR and checks that: #GP(EXT) where it is null. */
struct arch_fault arch_read_code(const struct arch_cpu *cpu, uint16_t selector, unsigned ext,
                                 struct arch_descriptor *out);
/* The checks on the segment that RETF or IRET goes to (SDM 5.8.6), #NP included. */
struct arch_fault arch_check_return_code(const struct arch_cpu *cpu,
                                         const struct arch_descriptor *desc);
/* CS becomes DESC, its RPL and CPL become CPL, and RIP becomes IP, which must lie within the
 * segment: #GP(EXT). The descriptor in memory is still to be marked. */
struct arch_fault arch_enter_code(struct arch_state *state, const struct arch_descriptor *desc,
                                  unsigned cpl, uint64_t ip, unsigned ext);
/* The same for real-address and virtual-8086 mode. */
struct arch_fault arch_enter_real_code(const struct arch_cpu *cpu, uint16_t selector, uint64_t ip);

/* SS:RSP as a return pops them, after CS and CPL are those it returns to. A null selector is
 * good in 64-bit mode below CPL 3. */
struct arch_fault arch_load_return_stack(const struct arch_cpu *cpu, uint16_t selector,
                                         uint64_t rsp);
/* Makes the data segments null that CPL may not use any more (SDM 5.8.6). */
void arch_drop_inner_segments(struct arch_state *state);

#endif
