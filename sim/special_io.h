/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handlers of IN, OUT, INS and OUTS. At no port anything answers, so reads give all ones; but a
 * write to B2H, the port of the chipset's APM control register, signals an SMI. */
#ifndef PTSIM_SIM_SPECIAL_IO_H
#define PTSIM_SIM_SPECIAL_IO_H

#include "special.h"

struct arch_fault special_in(struct special_call *call);
struct arch_fault special_out(struct special_call *call);
/* One iteration where they are repeated. */
struct arch_fault special_ins(struct special_call *call);
struct arch_fault special_outs(struct special_call *call);

#endif
