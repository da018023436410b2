/* SPDX-License-Identifier: MIT */
#include "power.h"

#include "emit.h"
#include "rtit_msr.h"

static bool pwr_evt_en(const struct ipt *ipt)
{
    return ipt->ctl & MSR_MASK(IA32_RTIT_CTL, PwrEvtEn);
}

void ipt_power_stop(struct ipt *ipt, const struct ptsim_event *event, uint64_t ip)
{
    const struct ev_cstate *to = &event->cstate;
    bool context = ipt->enables.context;

    if (!pwr_evt_en(ipt))
        return;
    if (to->sleep && to->mwait && context)
        ipt_emit(ipt, (struct ipt_packet){
                          .type = IPT_MWAIT,
                          .mwait = { .hints = to->hints, .extensions = to->extensions } });
    if (to->sleep)
        ipt_emit(ipt,
                 (struct ipt_packet){
                     .type = IPT_PWRE,
                     .pwre = { .hw = to->hw, .state = to->state, .sub_state = to->sub_state } });
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_EXSTOP, .exstop = { .ip = context } });
    if (context)
        ipt_emit_ip(ipt, IPT_FUP, ip);
}

void ipt_power_start(struct ipt *ipt, const struct ptsim_event *event)
{
    const struct ev_cstate *from = &event->cstate;

    ipt_timing_resume(ipt);
    if (from->sleep && pwr_evt_en(ipt))
        ipt_emit(ipt, (struct ipt_packet){ .type = IPT_PWRX,
                                           .pwrx = { .last = from->last,
                                                     .deepest = from->deepest,
                                                     .wake = from->wake } });
}
