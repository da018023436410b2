/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.jsonl: what was delivered to the processor and what else changed its context, one JSON
 * object a line:
 *
 *     {"event": "fault", "n": 17, "tsc": 420, "from": "0x401136", "to": "0xffffffff810001e0",
 *      "cpl": [3, 0], "vector": 14, "value": "0x0"}
 *
 * n is the number of instructions that had retired, the event's own included; from and to are
 * linear addresses; cpl is that before and after. vector and value are there where events.def gives
 * them a meaning. Near branches are left out. */
#ifndef PTSIM_SIM_EVENTS_JSONL_H
#define PTSIM_SIM_EVENTS_JSONL_H

#include <stdio.h>

#include "../models/event.h"

/* Writes EVENT, if it is one of those, which came at TSC. Errors are FILE's: ferror(). */
void events_jsonl_write(FILE *file, uint64_t n, uint64_t tsc, const struct ptsim_event *event);

#endif
