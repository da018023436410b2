/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <assert.h>

#include "rtit_msr.h"

void ipt_emit(struct ipt *ipt, struct ipt_packet packet)
{
    enum ptsim_status status;

    ipt_emit_prepare(ipt, ipt_packet_row(packet.type)->cyc_eligible);
    if (!ipt->enables.trigger)
        return;
    status = ipt_encode(&packet, ipt_emit_next(ipt), IPT_PACKET_MAX);
    assert(status == PTSIM_OK);
    (void)status;
    ipt_emit_added(ipt, packet.size);
}

void ipt_emit_ip(struct ipt *ipt, enum ipt_packet_type type, uint64_t ip)
{
    ipt_emit_prepare(ipt, type != IPT_FUP);
    if (ipt->enables.trigger)
        ipt_emit_prepared_ip(ipt, type, ip);
}

void ipt_emit_tip(struct ipt *ipt, uint64_t ip)
{
    struct ipt_deferred *deferred = &ipt->deferred;
    bool defers = ipt->profile->pt_deferred_tips && !ipt->timing.cyc_en;

    if (!defers || ipt_tnt_empty(&ipt->tnt) || deferred->count == IPT_DEFERRED_MAX)
        ipt_emit_ip(ipt, IPT_TIP, ip);
    else
        deferred->ip[deferred->count++] = ip;
}

void ipt_emit_deferred(struct ipt *ipt)
{
    for (unsigned i = 0; i < ipt->deferred.count && ipt->enables.trigger; i++)
        ipt_emit_prepared_ip(ipt, IPT_TIP, ipt->deferred.ip[i]);
    ipt->deferred.count = 0;
}

void ipt_emit_no_ip(struct ipt *ipt, enum ipt_packet_type type)
{
    ipt_emit_prepare(ipt, type != IPT_FUP);
    if (ipt->enables.trigger)
        ipt_emit_added(ipt, ipt_put_ip(ipt_emit_next(ipt), type, IPT_IP_SUPPRESSED, 0));
}

struct ipt_mode ipt_mode_of(const struct ipt *ipt, const struct ev_context *context)
{
    bool event_en = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, EventEn);

    return (struct ipt_mode){ true, context->cs_l && context->lma, context->cs_d,
                              event_en && context->rflags_if };
}

void ipt_emit_mode_exec(struct ipt *ipt)
{
    struct ipt_mode mode = ipt_mode_of(ipt, &ipt->context);

    ipt->mode = mode;
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_MODE_EXEC,
                                       .mode_exec = { .cs_l = mode.cs_l,
                                                      .cs_d = mode.cs_d,
                                                      .rflags_if = mode.rflags_if } });
}

void ipt_emit_pip(struct ipt *ipt)
{
    /* CR3[11:5] are address bits in PAE paging alone. */
    uint64_t address = BITS(51, ipt->context.pae ? 5 : 12);

    if (ipt->enables.context && (ipt->ctl & MSR_MASK(IA32_RTIT_CTL, OS)))
        ipt_emit(ipt, (struct ipt_packet){ .type = IPT_PIP,
                                           .pip = { .cr3 = ipt->context.cr3 & address } });
}

/* The last COUNT outcomes of BITS. */
static void emit_tnts(struct ipt *ipt, uint64_t bits, unsigned count)
{
    uint8_t *out = ipt_emit_next(ipt);

    for (; count > IPT_TNT_8_MAX; count -= IPT_TNT_8_MAX)
        out += ipt_put_tnt_8(out, bits >> (count - IPT_TNT_8_MAX) & BITS(IPT_TNT_8_MAX - 1, 0),
                             IPT_TNT_8_MAX);
    out += ipt_put_tnt_8(out, bits & BITS(count - 1, 0), count);
    ipt_emit_added(ipt, (size_t)(out - ipt_emit_next(ipt)));
}

void ipt_emit_tnts(struct ipt *ipt)
{
    emit_tnts(ipt, ipt->tnt.bits, ipt_tnt_count(&ipt->tnt));
}

void ipt_emit_full_tnts(struct ipt *ipt)
{
    unsigned count = ipt_tnt_count(&ipt->tnt), rest = count % IPT_TNT_8_MAX;
    uint64_t bits = ipt->tnt.bits;

    if (count == rest || !ipt->enables.trigger)
        return;
    emit_tnts(ipt, bits >> rest, count - rest);
    while (rest)
        (void)ipt_tnt_add(&ipt->tnt, bits >> --rest & 1);
}
