/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "special_wait.h"

#include "../models/arch/control.h"
#include "../models/bits.h"

/* Of the operand of UMWAIT and TPAUSE bit 0 alone is defined. */
static const uint32_t UMWAIT_RESERVED = ~UINT32_C(1);
/* ECX[0] of MWAIT (CPUID.05H:ECX[1]) */
static const uint32_t MWAIT_EXTENSIONS = 1;

static uint64_t gpr(const struct special_call *call, enum arch_gpr reg)
{
    return call->lp->arch.gpr[reg];
}

/* The event, if any, comes when the instruction has retired, and is shown at once. */
static void await(struct special_call *call)
{
    call->event.to_ip = call->event.next_ip;
}

struct arch_fault special_hlt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    ARCH_TRY(arch_hlt(&cpu));
    await(call);
    lp_sleep_c1(call->lp, &call->event);
    call->event_seen = true;
    return ARCH_NO_FAULT;
}

/* Arms the monitor at OFFSET, which is accessed as by a read of a byte. */
static struct arch_fault arm(struct special_call *call, uint64_t offset)
{
    const struct lp *lp = call->lp;
    struct arch_translation t;
    uint64_t linear;

    offset = bits_get(offset, call->insn->addrsize * 8u - 1, 0);
    ARCH_TRY(arch_seg_linear(&lp->arch, &lp->limits, (enum arch_sreg)call->insn->string_sreg,
                             offset, 1, ARCH_READ, &linear));
    ARCH_TRY(arch_translate(&lp->arch, &lp->limits, &lp->mem, linear, ARCH_READ, lp->arch.cpl, &t));
    lp_monitor(call->lp, t.phys);
    return ARCH_NO_FAULT;
}

/* #UD where CPUID does not have MONITOR, and outside CPL 0. */
static struct arch_fault need_monitor(const struct special_call *call)
{
    if (!special_has_feature(call, 1, 0, 2, 3) || call->lp->arch.cpl != 0)
        return arch_fault(ARCH_UD);
    return ARCH_NO_FAULT;
}

struct arch_fault special_monitor(struct special_call *call)
{
    ARCH_TRY(need_monitor(call));
    if (gpr(call, ARCH_RCX) != 0)
        return arch_fault_error(ARCH_GP, 0);
    return arm(call, gpr(call, ARCH_RAX));
}

struct arch_fault special_mwait(struct special_call *call)
{
    uint32_t extensions = (uint32_t)gpr(call, ARCH_RCX);

    ARCH_TRY(need_monitor(call));
    if (gpr(call, ARCH_RCX) & ~(uint64_t)MWAIT_EXTENSIONS)
        return arch_fault_error(ARCH_GP, 0);
    await(call);
    call->event_seen = lp_mwait(call->lp, (uint32_t)gpr(call, ARCH_RAX), extensions, &call->event);
    return ARCH_NO_FAULT;
}

static struct arch_fault need_waitpkg(const struct special_call *call)
{
    return special_has_feature(call, 7, 0, 2, 5) ? ARCH_NO_FAULT : arch_fault(ARCH_UD);
}

struct arch_fault special_umonitor(struct special_call *call)
{
    ARCH_TRY(need_waitpkg(call));
    return arm(call, gpr(call, (enum arch_gpr)call->insn->operand[0].reg));
}

/* The operand of UMWAIT and TPAUSE, and the deadline in EDX:EAX. */
static struct arch_fault wait_operands(const struct special_call *call, uint32_t *control,
                                       uint64_t *deadline)
{
    ARCH_TRY(need_waitpkg(call));
    ARCH_TRY(arch_check_rdtsc(&call->lp->arch));
    *control = (uint32_t)gpr(call, (enum arch_gpr)call->insn->operand[0].reg);
    *deadline = gpr(call, ARCH_RDX) << 32 | (uint32_t)gpr(call, ARCH_RAX);
    return *control & UMWAIT_RESERVED ? arch_fault_error(ARCH_GP, 0) : ARCH_NO_FAULT;
}

struct arch_fault special_umwait(struct special_call *call)
{
    uint32_t control;
    uint64_t deadline;

    ARCH_TRY(wait_operands(call, &control, &deadline));
    await(call);
    call->event_seen = lp_umwait(call->lp, control, deadline, &call->event);
    return ARCH_NO_FAULT;
}

struct arch_fault special_tpause(struct special_call *call)
{
    uint32_t control;
    uint64_t deadline;

    ARCH_TRY(wait_operands(call, &control, &deadline));
    await(call);
    call->event_seen = lp_tpause(call->lp, control, deadline, &call->event);
    return ARCH_NO_FAULT;
}
