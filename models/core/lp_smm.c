/* SPDX-License-Identifier: MIT */
/* SMM and tracing: an SMI clears TraceEn after it was saved, before anything of SMM can be seen;
 * RSM restores it when the context is the old one again (SDM 33.2.9.3). */
#include "../pt/rtit_msr.h"
#include "lp.h"

struct smm_cpu lp_smm_cpu(struct lp *lp)
{
    return (struct smm_cpu){
        .smm = &lp->smm,
        .arch = { .state = &lp->arch, .limits = &lp->limits, .mem = &lp->mem },
        .profile = lp->profile,
    };
}

static struct smm_tracing tracing_of(const struct lp *lp)
{
    return (struct smm_tracing){ .trace_en = lp->pt.ctl & MSR_MASK(IA32_RTIT_CTL, TraceEn) };
}

static void arrive(const struct lp *lp, struct ptsim_event *event)
{
    event->to_ip = arch_linear_ip(&lp->arch, lp->arch.rip);
    event->after = arch_context(&lp->arch);
}

void lp_smi(struct lp *lp, struct ptsim_event *event)
{
    const uint64_t trace_en = MSR_MASK(IA32_RTIT_CTL, TraceEn);
    struct smm_cpu cpu = lp_smm_cpu(lp);
    struct smm_tracing was = tracing_of(lp);

    event->kind = EV_SMI;
    event->from_ip = arch_linear_ip(&lp->arch, lp->arch.rip);
    event->next_ip = 0;
    event->before = arch_context(&lp->arch);
    smm_enter(&cpu, &was);
    arrive(lp, event);
    lp->clock.core += event->cycles;
    if (was.trace_en)
        ipt_write_ctl(&lp->pt, lp->pt.ctl & ~trace_en, event);
}

bool lp_rsm(struct lp *lp, struct ptsim_event *event)
{
    const uint64_t trace_en = MSR_MASK(IA32_RTIT_CTL, TraceEn);
    struct smm_cpu cpu = lp_smm_cpu(lp);
    struct smm_tracing now = tracing_of(lp), restored;

    if (smm_resume(&cpu, &now, &restored) == SMM_SHUTDOWN)
        return false;
    event->kind = EV_RSM;
    arrive(lp, event);
    lp->clock.core += event->cycles;
    if (restored.trace_en)
        ipt_write_ctl(&lp->pt, lp->pt.ctl | trace_en, event);
    return true;
}
