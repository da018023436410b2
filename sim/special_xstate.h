/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handlers of XSAVES and XRSTORS, for the supervisor state that the models have: component 8,
 * Intel PT (SDM 33.3.5.2; vol. 1, 13.11 and 13.12). Those of x87 and SSE are in the engine, and
 * with them the run ends. */
#ifndef PTSIM_SIM_SPECIAL_XSTATE_H
#define PTSIM_SIM_SPECIAL_XSTATE_H

#include "special.h"

struct arch_fault special_xsaves(struct special_call *call);
struct arch_fault special_xrstors(struct special_call *call);

#endif
