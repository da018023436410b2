/* SPDX-License-Identifier: MIT */
/* The rules on who may change which flag, which POPF and IRET share. For the files of this
 * folder. */
#ifndef PTSIM_ARCH_FLAGS_H
#define PTSIM_ARCH_FLAGS_H

#include "../bits.h"
#include "fault.h"
#include "state.h"

static inline unsigned arch_iopl(const struct arch_state *state)
{
    return (unsigned)bits_get(state->rflags, 13, 12);
}

/* The flags that an instruction of operand size OPSIZE may load from the stack at the current
 * privilege (SDM vol. 2, POPF): IF where CPL <= IOPL, IOPL at CPL 0, no more than the low 16
 * in 16 bits. IRET adds RF, VIF and VIP by rules of its own. */
static inline uint64_t arch_loadable_flags(const struct arch_state *state, unsigned opsize)
{
    uint64_t flags = RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_TF |
                     RFLAGS_DF | RFLAGS_OF | RFLAGS_NT | RFLAGS_AC | RFLAGS_ID;

    if (state->cpl <= arch_iopl(state))
        flags |= RFLAGS_IF;
    if (state->cpl == 0)
        flags |= RFLAGS_IOPL;
    return opsize == 2 ? flags & 0xffff : flags;
}

static inline void arch_put_flags(struct arch_state *state, uint64_t value, uint64_t mask)
{
    state->rflags = (state->rflags & ~mask) | (value & mask);
}

/* Virtual-8086 code with IOPL below 3: IF is out of its reach. Under the virtual-mode
 * extensions VIF stands in for it, in the 16-bit forms of PUSHF, POPF and IRET alone
 * (SDM vol. 3B, 21.3.2); else these fault. */
static inline bool arch_if_is_virtual(const struct arch_state *state)
{
    return arch_v86_mode(state) && arch_iopl(state) < 3;
}

static inline struct arch_fault arch_check_flags_access(const struct arch_state *state,
                                                        unsigned opsize)
{
    if (arch_if_is_virtual(state) && (!(state->cr4 & CR4_VME) || opsize != 2))
        return arch_fault_error(ARCH_GP, 0);
    return ARCH_NO_FAULT;
}

/* Loads what POPF or IRET popped. Where IF is virtual, TF is the monitor's to set, and so is a
 * VIF that would let a pending interrupt through: #GP(0). */
static inline struct arch_fault arch_load_flags(struct arch_state *state, uint64_t popped,
                                                uint64_t loadable)
{
    bool virtual_if = arch_if_is_virtual(state);

    if (virtual_if &&
        ((popped & RFLAGS_TF) || ((popped & RFLAGS_IF) && (state->rflags & RFLAGS_VIP))))
        return arch_fault_error(ARCH_GP, 0);
    arch_put_flags(state, popped, loadable);
    if (virtual_if)
        arch_put_flags(state, popped & RFLAGS_IF ? RFLAGS_VIF : 0, RFLAGS_VIF);
    return ARCH_NO_FAULT;
}

#endif
