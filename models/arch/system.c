/* SPDX-License-Identifier: MIT */
/* Flags, I/O permission and what else of control.h is not about registers of their own. */
#include "../bits.h"
#include "control.h"
#include "descriptor.h"
#include "flags.h"
#include "stack.h"

/* Which flag CLI and STI act on (SDM vol. 2, CLI, table 3-7): IF, VIF, or none. */
static uint64_t interrupt_flag(const struct arch_state *state)
{
    uint64_t extension = arch_v86_mode(state) ? CR4_VME : CR4_PVI;

    if (state->cpl <= arch_iopl(state))
        return RFLAGS_IF;
    return state->cpl == 3 && (state->cr4 & extension) ? RFLAGS_VIF : 0;
}

struct arch_fault arch_cli(const struct arch_cpu *cpu)
{
    uint64_t flag = interrupt_flag(cpu->state);

    if (!flag)
        return arch_fault_error(ARCH_GP, 0);
    cpu->state->rflags &= ~flag;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_sti(const struct arch_cpu *cpu)
{
    struct arch_state *state = cpu->state;
    uint64_t flag = interrupt_flag(state);

    if (!flag || (flag == RFLAGS_VIF && (state->rflags & RFLAGS_VIP)))
        return arch_fault_error(ARCH_GP, 0);
    if (flag == RFLAGS_IF && !(state->rflags & RFLAGS_IF))
        state->blocking_by_sti = true;
    state->rflags |= flag;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_pushf(const struct arch_cpu *cpu, unsigned opsize)
{
    const struct arch_state *state = cpu->state;
    struct arch_pushes pushes = arch_push_begin(cpu, 0);
    uint64_t image = state->rflags & ~(uint64_t)(RFLAGS_VM | RFLAGS_RF);

    ARCH_TRY(arch_check_flags_access(state, opsize));
    if (arch_if_is_virtual(state))
        image = bits_put(image, 9, 9, bits_get(image, 19, 19)) | RFLAGS_IOPL;
    ARCH_TRY(arch_push(&pushes, opsize, image));
    return arch_push_end(&pushes);
}

struct arch_fault arch_popf(const struct arch_cpu *cpu, unsigned opsize)
{
    struct arch_state *state = cpu->state;
    uint64_t popped;

    ARCH_TRY(arch_check_flags_access(state, opsize));
    ARCH_TRY(arch_peek(cpu, 0, opsize, &popped));
    ARCH_TRY(arch_load_flags(state, popped, arch_loadable_flags(state, opsize)));
    state->rflags &= ~(uint64_t)RFLAGS_RF;
    arch_release(state, opsize);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_swapgs(const struct arch_cpu *cpu)
{
    struct arch_state *state = cpu->state;
    uint64_t base = state->sreg[ARCH_GS].base;

    if (!arch_64bit_mode(state))
        return arch_fault(ARCH_UD);
    ARCH_TRY(arch_require_cpl0(state));
    state->sreg[ARCH_GS].base = state->kernel_gs_base;
    state->kernel_gs_base = base;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_hlt(const struct arch_cpu *cpu)
{
    ARCH_TRY(arch_require_cpl0(cpu->state));
    cpu->state->activity = ARCH_HLT;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_check_rdtsc(const struct arch_state *state)
{
    return state->cr4 & CR4_TSD ? arch_require_cpl0(state) : ARCH_NO_FAULT;
}

struct arch_fault arch_check_rdpmc(const struct arch_state *state)
{
    return state->cr4 & CR4_PCE ? ARCH_NO_FAULT : arch_require_cpl0(state);
}

struct arch_fault arch_io_allowed(const struct arch_cpu *cpu, uint16_t port, unsigned size)
{
    const struct arch_state *state = cpu->state;
    const struct arch_seg *tr = &state->tr;
    struct arch_fault denied = arch_fault_error(ARCH_GP, 0);
    uint64_t map, bits;

    if (!arch_v86_mode(state) && state->cpl <= arch_iopl(state))
        return ARCH_NO_FAULT;
    /* Only a 32-bit or 64-bit TSS has a bitmap. Two bytes of it are always read, so it ends with
     * one byte of ones. */
    if (arch_ar_type(tr->ar) != ARCH_TYPE_TSS32_BUSY || tr->limit < 0x67)
        return denied;
    ARCH_TRY(arch_system_read(cpu, tr->base + 0x66, 2, &map));
    if (map + port / 8 + 1 > tr->limit)
        return denied;
    ARCH_TRY(arch_system_read(cpu, tr->base + map + port / 8, 2, &bits));
    return bits >> port % 8 & BITS(size - 1, 0) ? denied : ARCH_NO_FAULT;
}
