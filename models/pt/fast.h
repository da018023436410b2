/* SPDX-License-Identifier: MIT */
/* The near branches as inline functions: what ipt_event() does for an event with these fields,
 * without the event. The clock has already been advanced to CORE.
 *
 * In the usual case each is one comparison, of the core clock with the one until which nothing
 * else can happen, and a few instructions. */
#ifndef PTSIM_PT_FAST_H
#define PTSIM_PT_FAST_H

#include "ipt.h"

/* A near branch of KIND by the general path, where that is needed. */
void ipt_near_branch(struct ipt *ipt, enum ev_kind kind, bool taken, uint64_t from_ip,
                     uint64_t next_ip, uint64_t to_ip);

/*
 * For who has made sure that CORE is below ipt_quiet_until(), and so need not advance the clock at
 * every branch: then nothing comes of a direct JMP, and the others are these. Where one returns
 * false, ipt_quiet_until() has to be asked anew.
 */

static inline uint64_t ipt_quiet_until(const struct ipt *ipt)
{
    return ipt->fast.branch;
}

/* An event whose only packet, CYC aside, is a TIP to TO_IP; an outcome that makes the TNT buffer
 * one to be looked at. */
bool ipt_quiet_tip(struct ipt *ipt, uint64_t core, uint64_t to_ip);
bool ipt_quiet_due(struct ipt *ipt, uint64_t core, bool taken, uint64_t to_ip);

/* False, and nothing done, where it is not as simple as that. */
static inline bool ipt_quiet_outcome(struct ipt *ipt, bool taken)
{
    uint64_t bits = ipt_tnt_with(ipt->tnt.bits, taken);

    if (ipt_tnt_due(bits))
        return false;
    ipt->tnt.bits = bits;
    return true;
}

static inline bool ipt_quiet_cond_branch(struct ipt *ipt, uint64_t core, bool taken, uint64_t to_ip)
{
    return ipt_quiet_outcome(ipt, taken) || ipt_quiet_due(ipt, core, taken, to_ip);
}

static inline void ipt_quiet_call_direct(struct ipt *ipt, uint64_t next_ip, uint64_t to_ip)
{
    if (to_ip != next_ip)
        ipt_ret_stack_push(&ipt->ret_stack, ipt_packet_ip(ipt, next_ip));
}

static inline bool ipt_quiet_jmp_indirect(struct ipt *ipt, uint64_t core, uint64_t to_ip)
{
    return ipt_quiet_tip(ipt, core, to_ip);
}

static inline bool ipt_quiet_call_indirect(struct ipt *ipt, uint64_t core, uint64_t next_ip,
                                           uint64_t to_ip)
{
    ipt_ret_stack_push(&ipt->ret_stack, ipt_packet_ip(ipt, next_ip));
    return ipt_quiet_tip(ipt, core, to_ip);
}

static inline bool ipt_quiet_ret(struct ipt *ipt, uint64_t core, uint64_t to_ip)
{
    if (!ipt_ret_stack_matches(&ipt->ret_stack, ipt_packet_ip(ipt, to_ip))) {
        ipt_ret_stack_clear(&ipt->ret_stack);
        return ipt_quiet_tip(ipt, core, to_ip);
    }
    ipt_ret_stack_pop(&ipt->ret_stack);
    return ipt_quiet_cond_branch(ipt, core, true, to_ip);
}

/*
 * For everyone
 */

static inline void ipt_cond_branch(struct ipt *ipt, uint64_t core, bool taken, uint64_t from_ip,
                                   uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.branch)
        (void)ipt_quiet_cond_branch(ipt, core, taken, to_ip);
    else
        ipt_near_branch(ipt, EV_COND_BRANCH, taken, from_ip, next_ip, to_ip);
}

static inline void ipt_jmp_direct(struct ipt *ipt, uint64_t core, uint64_t from_ip,
                                  uint64_t next_ip, uint64_t to_ip)
{
    if (core >= ipt->fast.branch)
        ipt_near_branch(ipt, EV_JMP_DIRECT, true, from_ip, next_ip, to_ip);
}

static inline void ipt_call_direct(struct ipt *ipt, uint64_t core, uint64_t from_ip,
                                   uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.branch)
        ipt_quiet_call_direct(ipt, next_ip, to_ip);
    else
        ipt_near_branch(ipt, EV_CALL_DIRECT, true, from_ip, next_ip, to_ip);
}

static inline void ipt_jmp_indirect(struct ipt *ipt, uint64_t core, uint64_t from_ip,
                                    uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.branch)
        (void)ipt_quiet_jmp_indirect(ipt, core, to_ip);
    else
        ipt_near_branch(ipt, EV_JMP_INDIRECT, true, from_ip, next_ip, to_ip);
}

static inline void ipt_call_indirect(struct ipt *ipt, uint64_t core, uint64_t from_ip,
                                     uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.branch)
        (void)ipt_quiet_call_indirect(ipt, core, next_ip, to_ip);
    else
        ipt_near_branch(ipt, EV_CALL_INDIRECT, true, from_ip, next_ip, to_ip);
}

static inline void ipt_ret(struct ipt *ipt, uint64_t core, uint64_t from_ip, uint64_t next_ip,
                           uint64_t to_ip)
{
    if (core < ipt->fast.branch)
        (void)ipt_quiet_ret(ipt, core, to_ip);
    else
        ipt_near_branch(ipt, EV_RET, true, from_ip, next_ip, to_ip);
}

#endif
