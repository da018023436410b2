/* SPDX-License-Identifier: MIT */
#include "overflow.h"

#include "emit.h"

void ipt_overflow_begin(struct ipt *ipt)
{
    ipt_emit_full_tnts(ipt);
    ipt_output_commit(ipt);
    if (!ipt->enables.trigger)
        return;
    ipt_tnt_clear(&ipt->tnt, IPT_TNT_8_MAX, ipt->timing.cyc_en);
    ipt->deferred.count = 0;
    ipt->overflow = (struct ipt_overflow){ .lasts = true,
                                           .last_ip_unknown = ipt->last_ip_unknown,
                                           .last_ip = ipt->last_ip,
                                           .mode = ipt->mode };
    ipt_timing_overflow_begin(ipt);
    ipt_output_commit(ipt);
}

void ipt_overflow_end(struct ipt *ipt, uint64_t ip)
{
    struct ipt_mode mode = ipt_mode_of(ipt, &ipt->context);
    const struct ipt_mode *told = &ipt->overflow.mode;
    bool same = told->sent && told->cs_l == mode.cs_l && told->cs_d == mode.cs_d &&
                told->rflags_if == mode.rflags_if;

    if (!ipt->overflow.lasts)
        return;
    ipt->overflow.lasts = false;
    ipt->last_ip = ipt->overflow.last_ip;
    ipt->last_ip_unknown = ipt->overflow.last_ip_unknown;
    ipt->mode = ipt->overflow.mode;
    ipt_ret_stack_clear(&ipt->ret_stack);
    ipt_tnt_clear(&ipt->tnt, IPT_TNT_8_MAX, ipt->timing.cyc_en);
    ipt->deferred.count = 0;
    ipt_output_commit(ipt);
    ipt_timing_overflow_end(ipt);
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_OVF });
    if (!ipt_packet_en(ipt))
        return;
    /* A MODE.Exec that was lost is made up for: the code after the FUP could not be read without.
     */
    if (!same)
        ipt_emit_mode_exec(ipt);
    ipt_emit_ip(ipt, IPT_FUP, ip);
}
