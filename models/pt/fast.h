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

/* An event whose only packet, CYC aside, is a TIP to TO_IP; one that adds an outcome to an empty
 * TNT buffer; one that has filled it. */
void ipt_fast_tip(struct ipt *ipt, uint64_t core, uint64_t to_ip);
void ipt_fast_first_outcome(struct ipt *ipt, uint64_t core, bool taken, uint64_t to_ip);
void ipt_fast_tnt_full(struct ipt *ipt, uint64_t core, uint64_t to_ip);

static inline void ipt_fast_outcome(struct ipt *ipt, uint64_t core, bool taken, uint64_t to_ip)
{
    if (ipt_tnt_add(&ipt->tnt, taken))
        ipt_fast_tnt_full(ipt, core, to_ip);
}

static inline void ipt_cond_branch(struct ipt *ipt, uint64_t core, bool taken, uint64_t from_ip,
                                   uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.outcome)
        ipt_fast_outcome(ipt, core, taken, to_ip);
    else if (core < ipt->fast.branch)
        ipt_fast_first_outcome(ipt, core, taken, to_ip);
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
    if (core >= ipt->fast.branch)
        ipt_near_branch(ipt, EV_CALL_DIRECT, true, from_ip, next_ip, to_ip);
    else if (to_ip != next_ip)
        ipt_ret_stack_push(&ipt->ret_stack, ipt_packet_ip(ipt, next_ip));
}

static inline void ipt_jmp_indirect(struct ipt *ipt, uint64_t core, uint64_t from_ip,
                                    uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.branch)
        ipt_fast_tip(ipt, core, to_ip);
    else
        ipt_near_branch(ipt, EV_JMP_INDIRECT, true, from_ip, next_ip, to_ip);
}

static inline void ipt_call_indirect(struct ipt *ipt, uint64_t core, uint64_t from_ip,
                                     uint64_t next_ip, uint64_t to_ip)
{
    if (core < ipt->fast.branch) {
        ipt_ret_stack_push(&ipt->ret_stack, ipt_packet_ip(ipt, next_ip));
        ipt_fast_tip(ipt, core, to_ip);
    } else {
        ipt_near_branch(ipt, EV_CALL_INDIRECT, true, from_ip, next_ip, to_ip);
    }
}

static inline void ipt_ret(struct ipt *ipt, uint64_t core, uint64_t from_ip, uint64_t next_ip,
                           uint64_t to_ip)
{
    if (core >= ipt->fast.branch) {
        ipt_near_branch(ipt, EV_RET, true, from_ip, next_ip, to_ip);
    } else if (!ipt_ret_stack_matches(&ipt->ret_stack, ipt_packet_ip(ipt, to_ip))) {
        ipt_ret_stack_clear(&ipt->ret_stack);
        ipt_fast_tip(ipt, core, to_ip);
    } else {
        ipt_ret_stack_pop(&ipt->ret_stack);
        if (core < ipt->fast.outcome)
            ipt_fast_outcome(ipt, core, true, to_ip);
        else
            ipt_fast_first_outcome(ipt, core, true, to_ip);
    }
}

/* The same for who has made sure that the clock stays below ipt_quiet_until(), and so need not
 * advance it at every branch: then nothing comes of a direct JMP, and the others are these. Each
 * returns false, having done nothing, where a packet would come of it. */
static inline uint64_t ipt_quiet_until(const struct ipt *ipt)
{
    return ipt->fast.outcome; /* never above fast.branch */
}

/* The TNT buffer with BITS is full: its packet, where nothing else comes with it. */
static inline bool ipt_quiet_tnt(struct ipt *ipt, struct ipt_tnt_buffer tnt)
{
    uint32_t used = ipt->output.used + 1;

    if (used >= ipt->output.limit || ipt->output.stored + used >= ipt->psb.due ||
        ipt->timing.cyc_en)
        return false;
    ipt->output.buffer[used - 1] = ipt_tnt_packet(&tnt);
    ipt->output.used = used;
    ipt_tnt_clear(&ipt->tnt);
    return true;
}

static inline bool ipt_quiet_outcome(struct ipt *ipt, bool taken)
{
    struct ipt_tnt_buffer tnt = ipt->tnt;

    if (ipt_tnt_add(&tnt, taken))
        return ipt_quiet_tnt(ipt, tnt);
    ipt->tnt = tnt;
    return true;
}

static inline void ipt_quiet_call_direct(struct ipt *ipt, uint64_t next_ip, uint64_t to_ip)
{
    if (to_ip != next_ip)
        ipt_ret_stack_push(&ipt->ret_stack, ipt_packet_ip(ipt, next_ip));
}

static inline bool ipt_quiet_ret(struct ipt *ipt, uint64_t to_ip)
{
    if (!ipt_ret_stack_matches(&ipt->ret_stack, ipt_packet_ip(ipt, to_ip)) ||
        !ipt_quiet_outcome(ipt, true))
        return false;
    ipt_ret_stack_pop(&ipt->ret_stack);
    return true;
}

#endif
