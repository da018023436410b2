/* SPDX-License-Identifier: MIT */
/* Whether a conditional branch is taken: the condition itself, never a comparison of addresses. */
#ifndef PTSIM_ARCH_COND_H
#define PTSIM_ARCH_COND_H

#include "../bits.h"
#include "state.h"

/* Condition code CC, 0 to 15, of Jcc, SETcc and CMOVcc (SDM vol. 1, appendix B): bit 0 negates the
 * condition of the others. */
static inline bool arch_condition(unsigned cc, uint64_t rflags)
{
    bool less = !(rflags & RFLAGS_SF) != !(rflags & RFLAGS_OF);
    bool holds = false;

    switch (cc >> 1 & 7) {
    case 0: /* O */
        holds = rflags & RFLAGS_OF;
        break;
    case 1: /* B */
        holds = rflags & RFLAGS_CF;
        break;
    case 2: /* E */
        holds = rflags & RFLAGS_ZF;
        break;
    case 3: /* BE */
        holds = rflags & (RFLAGS_CF | RFLAGS_ZF);
        break;
    case 4: /* S */
        holds = rflags & RFLAGS_SF;
        break;
    case 5: /* P */
        holds = rflags & RFLAGS_PF;
        break;
    case 6: /* L */
        holds = less;
        break;
    case 7: /* LE */
        holds = less || (rflags & RFLAGS_ZF);
        break;
    }
    return holds != (cc & 1);
}

/* JCXZ, JECXZ, JRCXZ: the count register in an address size of ADDR_SIZE bytes (2, 4 or 8) is
 * 0. */
static inline bool arch_jcxz_taken(uint64_t rcx, unsigned addr_size)
{
    return !(rcx & BITS(8 * addr_size - 1, 0));
}

/* LOOPNE (opcode E0), LOOPE (E1), LOOP (E2), with RCX as it is before the instruction counts it
 * down. */
static inline bool arch_loop_taken(unsigned opcode, uint64_t rcx, unsigned addr_size,
                                   uint64_t rflags)
{
    bool zf = rflags & RFLAGS_ZF;

    if (arch_jcxz_taken(rcx - 1, addr_size))
        return false;
    return opcode == 0xe2 || (opcode == 0xe1) == zf;
}

#endif
