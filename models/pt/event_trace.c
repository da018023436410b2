/* SPDX-License-Identifier: MIT */
#include "event_trace.h"

#include "../arch/fault.h"
#include "emit.h"
#include "rtit_msr.h"

/* What table 33-50 calls each kind; 0: nothing. */
static const uint8_t cfe_types[EV_KINDS] = {
    [EV_SW_INTERRUPT] = IPT_CFE_INTR, [EV_FAULT] = IPT_CFE_INTR,        [EV_TRAP] = IPT_CFE_INTR,
    [EV_INTERRUPT] = IPT_CFE_INTR,    [EV_NMI] = IPT_CFE_INTR,          [EV_IRET] = IPT_CFE_IRET,
    [EV_SMI] = IPT_CFE_SMI,           [EV_SHUTDOWN] = IPT_CFE_SHUTDOWN, [EV_RSM] = IPT_CFE_RSM,
    [EV_INIT] = IPT_CFE_INIT,         [EV_INIT_WAIT] = IPT_CFE_INIT,    [EV_SIPI] = IPT_CFE_SIPI,
};

static bool event_en(const struct ipt *ipt)
{
    return ipt->ctl & MSR_MASK(IA32_RTIT_CTL, EventEn);
}

void ipt_event_trace(struct ipt *ipt, const struct ptsim_event *event, bool context_after,
                     bool fup_follows, uint64_t ip)
{
    enum ipt_cfe_type type = cfe_types[event->kind];
    bool page_fault = event->kind == EV_FAULT && event->vector == ARCH_PF;
    bool context = ipt->enables.context;
    bool fup = context && !fup_follows && type != IPT_CFE_RSM && type != IPT_CFE_SIPI;
    bool vector = type == IPT_CFE_INTR || type == IPT_CFE_SIPI;

    if (!type || !event_en(ipt))
        return;
    /* ContextEn before or after will do, but for #PF, which table 33-59 wants to begin in context
     * (case 7). */
    if (!context && (!context_after || page_fault))
        return;
    if (page_fault)
        ipt_emit(ipt, (struct ipt_packet){ .type = IPT_EVD,
                                           .evd = { IPT_EVD_PFA, .payload = event->value } });
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_CFE,
                                       .cfe = { .type = (uint8_t)type,
                                                .ip = fup,
                                                .vector = vector ? event->vector : 0 } });
    if (fup)
        ipt_emit_ip(ipt, IPT_FUP, ip);
}

void ipt_event_trace_if(struct ipt *ipt, const struct ptsim_event *event, bool context_before,
                        uint64_t ip)
{
    if (event->kind != EV_CONTEXT || event->before.rflags_if == event->after.rflags_if)
        return;
    if (!event_en(ipt) || !context_before || !ipt->enables.context)
        return;
    ipt_emit_mode_exec(ipt);
    ipt_emit_ip(ipt, IPT_FUP, ip);
}
