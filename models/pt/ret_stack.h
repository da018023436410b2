/* SPDX-License-Identifier: MIT */
/* The stack of return addresses that RET compression compares with (SDM 33.4.2.2). Its entries
 * are IPs as packets would carry them. */
#ifndef PTSIM_PT_RET_STACK_H
#define PTSIM_PT_RET_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define IPT_RET_STACK_DEPTH 64

struct ipt_ret_stack {
    uint64_t ip[IPT_RET_STACK_DEPTH]; /* a ring */
    uint32_t top;                     /* index of the youngest entry, modulo the depth */
    uint32_t count;                   /* entries that are there */
    uint32_t depth;                   /* how many there can be: 0 with DisRETC */
};

/* Empties the stack. PSB, OVF and a clear PacketEn do: no earlier CALL counts after them. */
static inline void ipt_ret_stack_clear(struct ipt_ret_stack *stack)
{
    stack->count = 0;
}

/* Whether a near RET to IP can be compressed. */
static inline bool ipt_ret_stack_matches(const struct ipt_ret_stack *stack, uint64_t ip)
{
    return stack->count && stack->ip[stack->top % IPT_RET_STACK_DEPTH] == ip;
}

/* A near CALL with the return address IP; a full stack loses its oldest entry. The caller leaves
 * out direct CALLs to the next instruction. */
static inline void ipt_ret_stack_push(struct ipt_ret_stack *stack, uint64_t ip)
{
    stack->ip[++stack->top % IPT_RET_STACK_DEPTH] = ip;
    stack->count += stack->count < stack->depth;
}

/* A near RET to an IP that matches. */
static inline void ipt_ret_stack_pop(struct ipt_ret_stack *stack)
{
    stack->top--;
    stack->count--;
}

#endif
