/* SPDX-License-Identifier: MIT */
/* The stack of return addresses that RET compression compares with (SDM 33.4.2.2). Its entries
 * are IPs as packets would carry them. */
#ifndef PTSIM_PT_RET_STACK_H
#define PTSIM_PT_RET_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define IPT_RET_STACK_DEPTH 64
/* In a place that holds no entry: no IP, since no processor has it for canonical. */
#define IPT_RET_STACK_NONE  UINT64_C(0x8000000000000000)

struct ipt_ret_stack {
    uint64_t ip[IPT_RET_STACK_DEPTH]; /* a ring */
    uint32_t top;                     /* index of the youngest entry */
    bool off;                         /* DisRETC: nothing gets in */
};

/* Empties the stack. PSB, OVF and a clear PacketEn do: no earlier CALL counts after them. */
static inline void ipt_ret_stack_clear(struct ipt_ret_stack *stack)
{
    for (unsigned i = 0; i < IPT_RET_STACK_DEPTH; i++)
        stack->ip[i] = IPT_RET_STACK_NONE;
}

/* Whether a near RET to IP can be compressed. */
static inline bool ipt_ret_stack_matches(const struct ipt_ret_stack *stack, uint64_t ip)
{
    return stack->ip[stack->top] == ip;
}

/* A near CALL with the return address IP; a full stack loses its oldest entry. The caller leaves
 * out direct CALLs to the next instruction. */
static inline void ipt_ret_stack_push(struct ipt_ret_stack *stack, uint64_t ip)
{
    stack->top = (stack->top + 1) % IPT_RET_STACK_DEPTH;
    stack->ip[stack->top] = stack->off ? IPT_RET_STACK_NONE : ip;
}

/* A near RET to an IP that matches. */
static inline void ipt_ret_stack_pop(struct ipt_ret_stack *stack)
{
    stack->ip[stack->top] = IPT_RET_STACK_NONE;
    stack->top = (stack->top - 1) % IPT_RET_STACK_DEPTH;
}

#endif
