/* SPDX-License-Identifier: MIT */
/* The PTW packet: what PTWRITE writes into the trace (SDM 33.4.2.21). */
#ifndef PTSIM_PT_PTWRITE_H
#define PTSIM_PT_PTWRITE_H

#include "../event.h"

struct ipt;

/* EVENT, a PTWRITE, has retired: PTW, and with FUPonPTW the FUP that tells where, as far as
 * TriggerEn, ContextEn, FilterEn and PTWEn allow it. BranchEn has no part in it. IP is that of the
 * instruction, of the kind that packets carry. */
void ipt_ptwrite(struct ipt *ipt, const struct ptsim_event *event, uint64_t ip);

#endif
