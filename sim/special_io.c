/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "special_io.h"

#include "../models/arch/control.h"
#include "../models/bits.h"

enum {
    APM_CONTROL = 0xb2
};

/* What IN and OUT do, from and to PORT. */
static struct smm_io plain_io(const struct special_call *call, const struct insn_operand *port,
                              unsigned size)
{
    const struct arch_state *state = &call->lp->arch;

    return (struct smm_io){
        .valid = true,
        .immediate = port->kind == INSN_IMM,
        .size = (uint8_t)size,
        .port = (uint16_t)(port->kind == INSN_IMM ? port->value & 0xff : state->gpr[ARCH_RDX]),
        .rip = state->rip,
    };
}

/* The access at the port has been done. */
static void complete_io(struct special_call *call, const struct smm_io *io)
{
    call->io = *io;
    call->smi = !io->in && io->port <= APM_CONTROL && APM_CONTROL < io->port + io->size;
}

struct arch_fault special_in(struct special_call *call)
{
    const struct insn_operand *to = &call->insn->operand[0];
    struct smm_io io = plain_io(call, &call->insn->operand[1], to->size);
    struct arch_cpu cpu = special_cpu(call);
    uint64_t *rax = &cpu.state->gpr[ARCH_RAX];

    io.in = true;
    ARCH_TRY(arch_io_allowed(&cpu, io.port, io.size));
    *rax = io.size == 4 ? UINT32_MAX : *rax | BITS(io.size * 8u - 1, 0);
    complete_io(call, &io);
    return ARCH_NO_FAULT;
}

struct arch_fault special_out(struct special_call *call)
{
    struct smm_io io = plain_io(call, &call->insn->operand[0], call->insn->operand[1].size);
    struct arch_cpu cpu = special_cpu(call);

    ARCH_TRY(arch_io_allowed(&cpu, io.port, io.size));
    complete_io(call, &io);
    return ARCH_NO_FAULT;
}

/*
 * INS and OUTS
 */

static unsigned string_size(enum special special)
{
    switch (special) {
    case SPECIAL_INSB:
    case SPECIAL_OUTSB:
        return 1;
    case SPECIAL_INSW:
    case SPECIAL_OUTSW:
        return 2;
    default:
        return 4;
    }
}

/* An index or count register in the address size: 4 bytes of it clear the upper half. */
static void set_index(const struct special_call *call, enum arch_gpr reg, uint64_t value)
{
    uint64_t *gpr = &call->lp->arch.gpr[reg];
    unsigned top = call->insn->addrsize * 8u - 1;

    *gpr = top >= 31 ? bits_get(value, top, 0) : bits_put(*gpr, top, 0, value);
}

static uint64_t get_index(const struct special_call *call, enum arch_gpr reg)
{
    return bits_get(call->lp->arch.gpr[reg], call->insn->addrsize * 8u - 1, 0);
}

static struct smm_io string_io(const struct special_call *call, bool in)
{
    const struct arch_state *state = &call->lp->arch;

    return (struct smm_io){
        .valid = true,
        .in = in,
        .string = true,
        .repeated = call->insn->rep,
        .size = (uint8_t)string_size(call->insn->special),
        .port = (uint16_t)state->gpr[ARCH_RDX],
        .rip = state->rip,
    };
}

/* The memory operand's segment, the permission to use the port, and where the operand is. */
static struct arch_fault check_string(const struct special_call *call, struct smm_io *io,
                                      enum arch_sreg sreg, enum arch_gpr index)
{
    struct arch_cpu cpu = special_cpu(call);

    ARCH_TRY(arch_io_allowed(&cpu, io->port, io->size));
    return arch_seg_linear(cpu.state, cpu.limits, sreg, get_index(call, index), io->size,
                           io->in ? ARCH_WRITE : ARCH_READ, &io->address);
}

/* An iteration is done: the index register moves, and the count. */
static void complete_string(struct special_call *call, const struct smm_io *io, enum arch_gpr index)
{
    uint64_t step = call->lp->arch.rflags & RFLAGS_DF ? UINT64_MAX * io->size : io->size;

    set_index(call, index, get_index(call, index) + step);
    complete_io(call, io);
    if (!io->repeated)
        return;
    set_index(call, ARCH_RCX, get_index(call, ARCH_RCX) - 1);
    if (get_index(call, ARCH_RCX))
        call->outcome = SPECIAL_REPEATS;
}

struct arch_fault special_ins(struct special_call *call)
{
    struct smm_io io = string_io(call, true);
    struct arch_cpu cpu = special_cpu(call);

    if (io.repeated && !get_index(call, ARCH_RCX))
        return ARCH_NO_FAULT;
    ARCH_TRY(check_string(call, &io, ARCH_ES, ARCH_RDI));
    ARCH_TRY(arch_write(&cpu, ARCH_ES, get_index(call, ARCH_RDI), io.size, UINT64_MAX));
    complete_string(call, &io, ARCH_RDI);
    return ARCH_NO_FAULT;
}

struct arch_fault special_outs(struct special_call *call)
{
    enum arch_sreg sreg = (enum arch_sreg)call->insn->string_sreg;
    struct smm_io io = string_io(call, false);
    struct arch_cpu cpu = special_cpu(call);
    uint64_t value;

    if (io.repeated && !get_index(call, ARCH_RCX))
        return ARCH_NO_FAULT;
    ARCH_TRY(check_string(call, &io, sreg, ARCH_RSI));
    ARCH_TRY(arch_read(&cpu, sreg, get_index(call, ARCH_RSI), io.size, &value));
    complete_string(call, &io, ARCH_RSI);
    return ARCH_NO_FAULT;
}
