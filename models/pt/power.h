/* SPDX-License-Identifier: MIT */
/* Power event trace: EXSTOP, MWAIT, PWRE and PWRX (SDM 33.2.3, 33.4.2.22-25). */
#ifndef PTSIM_PT_POWER_H
#define PTSIM_PT_POWER_H

#include "ipt.h"

/* EVENT is an EV_CLOCK_STOP, at the instruction whose packets have IP: in order of table 33-57,
 * cases 3 to 6, MWAIT, PWRE, EXSTOP and FUP. */
void ipt_power_stop(struct ipt *ipt, const struct ptsim_event *event, uint64_t ip);

/* EVENT is an EV_CLOCK_START: TSC, TMA and CBR (table 33-55, case 25), then PWRX (table 33-57, case
 * 7). */
void ipt_power_start(struct ipt *ipt, const struct ptsim_event *event);

#endif
