/* SPDX-License-Identifier: MIT */
#include "lp.h"

void lp_init(struct lp *lp, const struct cpu_profile *profile, const struct mem_port *mem)
{
    *lp = (struct lp){
        .profile = profile,
        .mem = *mem,
        .limits = { .maxphyaddr = profile->maxphyaddr, .linear_width = profile->linear_width },
    };
    arch_reset(&lp->arch);
    clock_init(&lp->clock, profile);
    ipt_init(&lp->pt, profile, &lp->clock, &lp->mem);
    smm_reset(&lp->smm);
    lp_reset_msrs(lp);
}

void lp_event(struct lp *lp, const struct ptsim_event *event)
{
    lp->clock.core += event->cycles;
    ipt_event(&lp->pt, event);
}
