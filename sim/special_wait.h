/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handlers of the instructions that wait: HLT, MONITOR, MWAIT, UMONITOR, UMWAIT and TPAUSE. */
#ifndef PTSIM_SIM_SPECIAL_WAIT_H
#define PTSIM_SIM_SPECIAL_WAIT_H

#include "special.h"

struct arch_fault special_hlt(struct special_call *call);
struct arch_fault special_monitor(struct special_call *call);
struct arch_fault special_mwait(struct special_call *call);
struct arch_fault special_umonitor(struct special_call *call);
struct arch_fault special_umwait(struct special_call *call);
struct arch_fault special_tpause(struct special_call *call);

#endif
