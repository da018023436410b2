/* SPDX-License-Identifier: MIT */
/* INIT and SIPI (SDM vol. 3A, 8.4 and 9.1.1; table 33-55, cases 22 to 24). */
#include "../bits.h"
#include "lp.h"

static const uint64_t APIC_BASE_BSP = BIT(8);

static void depart(const struct lp *lp, struct ptsim_event *event)
{
    event->from_ip = arch_linear_ip(&lp->arch, lp->arch.rip);
    event->next_ip = 0;
    event->before = arch_context(&lp->arch);
}

static void arrive(struct lp *lp, struct ptsim_event *event)
{
    event->to_ip = arch_linear_ip(&lp->arch, lp->arch.rip);
    event->after = arch_context(&lp->arch);
    lp_event(lp, event);
}

bool lp_takes_init(const struct lp *lp)
{
    return !lp->smm.in_smm && lp->arch.activity != ARCH_WAIT_FOR_SIPI;
}

void lp_take_init(struct lp *lp, struct ptsim_event *event)
{
    bool bsp = lp->apic_base & APIC_BASE_BSP;

    depart(lp, event);
    event->kind = bsp ? EV_INIT : EV_INIT_WAIT;
    arch_init(&lp->arch, lp->profile->signature);
    lp->arch.activity = bsp ? ARCH_ACTIVE : ARCH_WAIT_FOR_SIPI;
    arrive(lp, event);
}

bool lp_takes_sipi(const struct lp *lp)
{
    return lp->arch.activity == ARCH_WAIT_FOR_SIPI;
}

void lp_take_sipi(struct lp *lp, uint8_t vector, struct ptsim_event *event)
{
    struct arch_seg *cs = &lp->arch.sreg[ARCH_CS];

    depart(lp, event);
    event->kind = EV_SIPI;
    event->vector = vector;
    cs->selector = (uint16_t)(vector << 8);
    cs->base = (uint64_t)vector << 12;
    lp->arch.rip = 0;
    lp->arch.activity = ARCH_ACTIVE;
    arrive(lp, event);
}
