/* SPDX-License-Identifier: MIT */
/* Packets into the stream. Whatever is in the TNT buffer goes out first, then the CYC that a
 * CYC-eligible packet has in front of it, then the packet. Once TriggerEn is clear nothing goes
 * out any more. */
#ifndef PTSIM_PT_EMIT_H
#define PTSIM_PT_EMIT_H

#include "encode.h"
#include "ipt.h"

/* Any packet but TNT, IP packets and CYC. */
void ipt_emit(struct ipt *ipt, struct ipt_packet packet);

/* TIP, TIP.PGE, TIP.PGD or FUP with the IP, of the kind that packets carry. */
void ipt_emit_ip(struct ipt *ipt, enum ipt_packet_type type, uint64_t ip);
/* A TIP that need not go out at once. */
void ipt_emit_tip(struct ipt *ipt, uint64_t ip);
/* TIP.PGD or FUP with its IP suppressed. */
void ipt_emit_no_ip(struct ipt *ipt, enum ipt_packet_type type);

/* What a MODE.Exec would tell of CONTEXT. */
struct ipt_mode ipt_mode_of(const struct ipt *ipt, const struct ev_context *context);
/* MODE.Exec with the present mode. */
void ipt_emit_mode_exec(struct ipt *ipt);
/* PIP with the present CR3, where ContextEn and OS allow it (33.4.2.7). */
void ipt_emit_pip(struct ipt *ipt);

/* What is in the TNT buffer for whole packets. */
void ipt_emit_full_tnts(struct ipt *ipt);

/*
 * What nearly all packets of a trace take: inline
 */

/* Where the next packet goes. There is room for one, or for IPT_TNT_AHEAD_PACKETS short TNTs. */
static inline uint8_t *ipt_emit_next(struct ipt *ipt)
{
    return ipt->output.buffer + ipt->output.used;
}

/* SIZE bytes are there. The TNT buffer had nothing in it but these.
 *
 * With CYCs each TNT has its time, and where the output has something to do soon each has its place
 * there: then there are to be outcomes for one packet at most. */
static inline void ipt_emit_added(struct ipt *ipt, size_t size)
{
    bool timed = ipt->timing.cyc_en;

    ipt->output.used += (uint32_t)size;
    if (ipt->output.used >= ipt->output.limit)
        ipt_output_commit(ipt);
    ipt_tnt_clear(&ipt->tnt,
                  !timed && ipt->output.used < ipt->output.ahead ? IPT_TNT_AHEAD : IPT_TNT_8_MAX,
                  timed);
}

/* A CYC; it is the caller who knows that there is to be one. */
static inline void ipt_emit_cyc(struct ipt *ipt, uint64_t cycles)
{
    if (ipt->enables.trigger)
        ipt_emit_added(ipt, ipt_put_cyc(ipt_emit_next(ipt), cycles));
}

/* The TNT buffer of more than one packet. */
void ipt_emit_tnts(struct ipt *ipt);

/* The TNT buffer, unless it is empty. */
static inline void ipt_emit_tnt(struct ipt *ipt)
{
    unsigned count = ipt_tnt_count(&ipt->tnt);
    uint64_t bits = ipt->tnt.bits & (BIT(count) - 1);

    if (count == 0 || !ipt->enables.trigger)
        return;
    if (count <= IPT_TNT_8_MAX)
        ipt_emit_added(ipt, ipt_put_tnt_8(ipt_emit_next(ipt), bits, count));
    else if (count == IPT_TNT_AHEAD)
        ipt_emit_added(ipt, ipt_put_tnt_8_times_8(ipt_emit_next(ipt), bits));
    else
        ipt_emit_tnts(ipt);
}

/* The deferred TIPs, in order, now that the TNT in front of them is sent. */
void ipt_emit_deferred(struct ipt *ipt);

/* What goes before a packet. */
static inline void ipt_emit_prepare(struct ipt *ipt, bool cyc_eligible)
{
    ipt_emit_tnt(ipt);
    if (ipt->deferred.count)
        ipt_emit_deferred(ipt);
    if (cyc_eligible && ipt->timing.cyc_en)
        ipt_timing_cyc(ipt);
}

/* An IP packet for which that is done, with TriggerEn still set. */
static inline void ipt_emit_prepared_ip(struct ipt *ipt, enum ipt_packet_type type, uint64_t ip)
{
    struct ipt_ip payload;

    /* Against an IP that differs everywhere nothing can be compressed. */
    if (ipt->last_ip_unknown)
        ipt->last_ip.ip = ~ip;
    ipt->last_ip_unknown = false;
    payload = ipt_last_ip_compress(&ipt->last_ip, ipt->profile->pt_ip_policy, type, ip);
    ipt_emit_added(ipt, ipt_put_ip(ipt_emit_next(ipt), type, payload.ip_bytes, payload.ip));
}

/* The outcome of a conditional branch or compressed RET, which goes out in a TNT some time. */
static inline void ipt_emit_outcome(struct ipt *ipt, bool taken)
{
    if (ipt->timing.cyc_en && ipt_tnt_empty(&ipt->tnt))
        ipt_timing_cyc(ipt); /* a TNT has the time of its first branch (33.3.6.2) */
    if (ipt_tnt_add(&ipt->tnt, taken)) {
        ipt_emit_tnt(ipt);
        if (ipt->deferred.count)
            ipt_emit_deferred(ipt);
    }
}

#endif
