/* SPDX-License-Identifier: MIT */
/* The simulator's own outcomes. An architectural outcome (a fault) is never
 * one of these: see models/arch/fault.h. */
#ifndef PTSIM_STATUS_H
#define PTSIM_STATUS_H

enum ptsim_status {
#define STATUS(name, text) PTSIM_##name,
#include "status.def"
#undef STATUS
};

/* A sentence for STATUS, without a full stop. Never NULL. */
const char *ptsim_status_text(enum ptsim_status status);

#endif
