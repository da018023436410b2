/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The descriptor tables of the standard environment: GDT, IDT, IVT, TSS, and what a scenario adds
 * to them with idt, ivt, gates and tasks. */
#ifndef PTSIM_SIM_DESCRIPTORS_H
#define PTSIM_SIM_DESCRIPTORS_H

#include "../models/core/lp.h"
#include "scenario.h"

/* Writes them to memory, and loads GDTR, IDTR, TR and, but in real-address and virtual-8086 mode,
 * the segment registers. False on a mistake. */
bool descriptors_build(const struct scenario *scenario, struct lp *lp);

#endif
