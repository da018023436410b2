/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "special_xstate.h"

#include "../models/arch/control.h"
#include "../models/bits.h"
#include "../models/core/xstate.h"

/* The XSAVE area (SDM vol. 1, 13.4): the header's fields, and where the compacted components begin.
 */
enum {
    XSTATE_BV = 512,
    XCOMP_BV = 520,
    RESERVED = 528,
    COMPONENTS = 576,
    ALIGNMENT = 64,
};
#define COMPACTED BIT(63)
#define IN_ENGINE BITS(1, 0)

/* The area's offset in its segment; the checks that both instructions begin with. */
static struct arch_fault area_of(const struct special_call *call, uint64_t *offset)
{
    const struct insn_operand *area = &call->insn->operand[0];
    const struct arch_state *state = &call->lp->arch;
    uint64_t linear;

    if (!(state->cr4 & CR4_OSXSAVE) || !special_has_feature(call, 0xd, 1, 0, 3))
        return arch_fault(ARCH_UD);
    if (state->cr0 & CR0_TS)
        return arch_fault(ARCH_NM);
    ARCH_TRY(arch_require_cpl0(state));
    *offset = insn_offset(call->insn, area, state);
    ARCH_TRY(arch_seg_linear(state, &call->lp->limits, (enum arch_sreg)area->sreg, *offset, 8,
                             ARCH_READ, &linear));
    return linear % ALIGNMENT ? arch_fault_error(ARCH_GP, 0) : ARCH_NO_FAULT;
}

/* The requested-feature bitmap: EDX:EAX, of what is enabled. */
static uint64_t requested(const struct special_call *call)
{
    const struct lp *lp = call->lp;
    uint64_t edx_eax = lp->arch.gpr[ARCH_RDX] << 32 | (uint32_t)lp->arch.gpr[ARCH_RAX];

    return edx_eax & (lp->arch.xcr0 | lp->xss);
}

static struct arch_fault load(const struct special_call *call, uint64_t offset, uint64_t *value)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_read(&cpu, (enum arch_sreg)call->insn->operand[0].sreg, offset, 8, value);
}

static struct arch_fault store(const struct special_call *call, uint64_t offset, uint64_t value)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_write(&cpu, (enum arch_sreg)call->insn->operand[0].sreg, offset, 8, value);
}

/* What the stores of XSAVES would fault with, before it ends tracing: both ends are written with
 * what is there. */
static struct arch_fault probe(const struct special_call *call, uint64_t offset)
{
    static const unsigned ends[] = { XSTATE_BV, COMPONENTS + 8 * (XSTATE_PT_WORDS - 1) };
    uint64_t value;

    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        ARCH_TRY(load(call, offset + ends[i], &value));
        ARCH_TRY(store(call, offset + ends[i], value));
    }
    return ARCH_NO_FAULT;
}

struct arch_fault special_xsaves(struct special_call *call)
{
    struct lp *lp = call->lp;
    uint64_t rfbm, offset, in_use, words[XSTATE_PT_WORDS];

    ARCH_TRY(area_of(call, &offset));
    rfbm = requested(call);
    if (rfbm & IN_ENGINE) {
        call->outcome = SPECIAL_NOT_MODELLED;
        return ARCH_NO_FAULT;
    }
    ARCH_TRY(probe(call, offset));
    in_use = rfbm & (lp_pt_in_use(lp) ? XSTATE_PT : 0);
    if (rfbm & XSTATE_PT) {
        call->event.kind = EV_WRMSR;
        call->event.to_ip = call->event.next_ip;
        call->event.after = call->event.before;
        lp_xsaves_pt(lp, words, &call->event);
        call->event_seen = true;
    }
    for (unsigned i = 0; in_use & XSTATE_PT && i < XSTATE_PT_WORDS; i++)
        ARCH_TRY(store(call, offset + COMPONENTS + 8 * i, words[i]));
    ARCH_TRY(store(call, offset + XSTATE_BV, in_use));
    return store(call, offset + XCOMP_BV, rfbm | COMPACTED);
}

/* The header: what of it is loaded, and #GP for one that no XSAVES has written. */
static struct arch_fault header(const struct special_call *call, uint64_t offset,
                                uint64_t *xstate_bv)
{
    const struct lp *lp = call->lp;
    uint64_t xcomp_bv, reserved, all = 0;

    ARCH_TRY(load(call, offset + XSTATE_BV, xstate_bv));
    ARCH_TRY(load(call, offset + XCOMP_BV, &xcomp_bv));
    for (unsigned at = RESERVED; at < COMPONENTS; at += 8) {
        ARCH_TRY(load(call, offset + at, &reserved));
        all |= reserved;
    }
    if (!(xcomp_bv & COMPACTED) || all || *xstate_bv & ~xcomp_bv ||
        xcomp_bv & ~(lp->arch.xcr0 | lp->xss | COMPACTED))
        return arch_fault_error(ARCH_GP, 0);
    return ARCH_NO_FAULT;
}

struct arch_fault special_xrstors(struct special_call *call)
{
    uint64_t rfbm, offset, xstate_bv, words[XSTATE_PT_WORDS] = { 0 };

    ARCH_TRY(area_of(call, &offset));
    rfbm = requested(call);
    ARCH_TRY(header(call, offset, &xstate_bv));
    if (rfbm & IN_ENGINE) {
        call->outcome = SPECIAL_NOT_MODELLED;
        return ARCH_NO_FAULT;
    }
    if (!(rfbm & XSTATE_PT))
        return ARCH_NO_FAULT;
    /* in a compacted area with component 8 alone it is the first */
    for (unsigned i = 0; xstate_bv & XSTATE_PT && i < XSTATE_PT_WORDS; i++)
        ARCH_TRY(load(call, offset + COMPONENTS + 8 * i, &words[i]));
    call->event.kind = EV_WRMSR;
    call->event.to_ip = call->event.next_ip;
    call->event.after = call->event.before;
    ARCH_TRY(lp_xrstors_pt(call->lp, words, &call->event));
    call->event_seen = true;
    return ARCH_NO_FAULT;
}
