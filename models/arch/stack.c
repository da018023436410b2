/* SPDX-License-Identifier: MIT */
#include "stack.h"

#include <assert.h>

/* The bits of RSP that address the stack. */
static uint64_t stack_mask(const struct arch_state *state)
{
    if (arch_64bit_mode(state))
        return ~UINT64_C(0);
    return state->sreg[ARCH_SS].ar & ARCH_AR_DB ? 0xffffffff : 0xffff;
}

struct arch_pushes arch_push_begin(const struct arch_cpu *cpu, uint32_t ss_error)
{
    return (
        struct arch_pushes){ .cpu = cpu, .ss_error = ss_error, .rsp = cpu->state->gpr[ARCH_RSP] };
}

/* RSP with VALUE in the bits that address the stack. ESP clears what is above it, SP does not. */
static uint64_t put_stack_pointer(uint64_t mask, uint64_t rsp, uint64_t value)
{
    return mask == 0xffff ? (rsp & ~mask) | (value & mask) : value & mask;
}

struct arch_fault arch_push(struct arch_pushes *pushes, size_t size, uint64_t value)
{
    const struct arch_cpu *cpu = pushes->cpu;
    uint64_t mask = stack_mask(cpu->state);
    uint64_t rsp = put_stack_pointer(mask, pushes->rsp, pushes->rsp - size);
    uint64_t linear;
    struct arch_fault fault =
        arch_seg_linear(cpu->state, cpu->limits, ARCH_SS, rsp & mask, size, ARCH_WRITE, &linear);

    if (fault.raised) {
        fault.error = pushes->ss_error;
        return fault;
    }
    ARCH_TRY(arch_linear_probe(cpu->state, cpu->limits, cpu->mem, linear, size, ARCH_WRITE,
                               cpu->state->cpl));
    ARCH_TRY(arch_check_alignment(cpu->state, linear, size));
    assert(pushes->count < sizeof(pushes->item) / sizeof(pushes->item[0]));
    pushes->rsp = rsp;
    pushes->item[pushes->count].linear = linear;
    pushes->item[pushes->count].value = value;
    pushes->item[pushes->count++].size = size;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_push_end(struct arch_pushes *pushes)
{
    const struct arch_cpu *cpu = pushes->cpu;

    for (unsigned i = 0; i < pushes->count; i++) {
        uint8_t buf[8];

        le_store(buf, pushes->item[i].value, pushes->item[i].size);
        ARCH_TRY(arch_linear_write(cpu->state, cpu->limits, cpu->mem, pushes->item[i].linear, buf,
                                   pushes->item[i].size, cpu->state->cpl));
    }
    cpu->state->gpr[ARCH_RSP] = pushes->rsp;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_peek(const struct arch_cpu *cpu, unsigned displacement, size_t size,
                            uint64_t *value)
{
    uint64_t offset = (cpu->state->gpr[ARCH_RSP] + displacement) & stack_mask(cpu->state);

    return arch_read(cpu, ARCH_SS, offset, size, value);
}

void arch_set_stack_pointer(struct arch_state *state, uint64_t value)
{
    state->gpr[ARCH_RSP] = put_stack_pointer(stack_mask(state), state->gpr[ARCH_RSP], value);
}

void arch_release(struct arch_state *state, unsigned bytes)
{
    arch_set_stack_pointer(state, state->gpr[ARCH_RSP] + bytes);
}
