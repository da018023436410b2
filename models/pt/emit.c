/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <assert.h>

#include "encode.h"
#include "rtit_msr.h"

/* Where the next packet goes. There is room for one. */
static uint8_t *next(struct ipt *ipt)
{
    return ipt->output.buffer + ipt->output.used;
}

static void added(struct ipt *ipt, size_t size)
{
    ipt->output.used += (uint32_t)size;
    if (ipt->output.used >= ipt->output.limit)
        ipt_output_commit(ipt);
}

/* What goes before a packet. */
static void prepare(struct ipt *ipt, bool cyc_eligible)
{
    ipt_emit_tnt(ipt);
    if (cyc_eligible)
        ipt_timing_cyc(ipt);
}

void ipt_emit(struct ipt *ipt, struct ipt_packet packet)
{
    enum ptsim_status status;

    prepare(ipt, ipt_packet_row(packet.type)->cyc_eligible);
    if (!ipt->enables.trigger)
        return;
    status = ipt_encode(&packet, next(ipt), IPT_PACKET_MAX);
    assert(status == PTSIM_OK);
    (void)status;
    added(ipt, packet.size);
}

void ipt_emit_ip(struct ipt *ipt, enum ipt_packet_type type, uint64_t ip)
{
    struct ipt_ip payload;

    prepare(ipt, type != IPT_FUP);
    if (!ipt->enables.trigger)
        return;
    /* Against an IP that differs everywhere nothing can be compressed. */
    if (ipt->last_ip_unknown)
        ipt->last_ip.ip = ~ip;
    ipt->last_ip_unknown = false;
    payload = ipt_last_ip_compress(&ipt->last_ip, ipt->profile->pt_ip_policy, type, ip);
    added(ipt, ipt_put_ip(next(ipt), type, payload.ip_bytes, payload.ip));
}

void ipt_emit_no_ip(struct ipt *ipt, enum ipt_packet_type type)
{
    prepare(ipt, type != IPT_FUP);
    if (ipt->enables.trigger)
        added(ipt, ipt_put_ip(next(ipt), type, IPT_IP_SUPPRESSED, 0));
}

struct ipt_mode ipt_mode_of(const struct ev_context *context)
{
    return (struct ipt_mode){ true, context->cs_l && context->lma, context->cs_d };
}

void ipt_emit_mode_exec(struct ipt *ipt)
{
    struct ipt_mode mode = ipt_mode_of(&ipt->context);

    ipt->mode = mode;
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_MODE_EXEC,
                                       .mode_exec = { .cs_l = mode.cs_l, .cs_d = mode.cs_d } });
}

void ipt_emit_pip(struct ipt *ipt)
{
    /* CR3[11:5] are address bits in PAE paging alone. */
    uint64_t address = BITS(51, ipt->context.pae ? 5 : 12);

    if (ipt->enables.context && (ipt->ctl & MSR_MASK(IA32_RTIT_CTL, OS)))
        ipt_emit(ipt, (struct ipt_packet){ .type = IPT_PIP,
                                           .pip = { .cr3 = ipt->context.cr3 & address } });
}

void ipt_emit_outcome(struct ipt *ipt, bool taken)
{
    if (ipt_tnt_empty(&ipt->tnt))
        ipt_timing_cyc(ipt); /* a TNT has the time of its first branch (33.3.6.2) */
    if (ipt_tnt_add(&ipt->tnt, taken))
        ipt_emit_tnt(ipt);
}

void ipt_emit_tnt(struct ipt *ipt)
{
    if (ipt_tnt_empty(&ipt->tnt) || !ipt->enables.trigger)
        return;
    *next(ipt) = ipt_tnt_packet(&ipt->tnt);
    ipt_tnt_clear(&ipt->tnt);
    added(ipt, 1);
}

void ipt_emit_cyc(struct ipt *ipt, uint64_t cycles)
{
    if (ipt->enables.trigger)
        added(ipt, ipt_put_cyc(next(ipt), cycles));
}
