/* SPDX-License-Identifier: MIT */
/* Event trace: CFE and EVD packets, and the interrupt flag (SDM 33.2.4, 33.4.2.29, 33.4.2.30). */
#ifndef PTSIM_PT_EVENT_TRACE_H
#define PTSIM_PT_EVENT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "../event.h"

struct ipt;

/* EVENT begins: EVD and CFE where it is one that event trace shows, with a FUP of their own unless
 * FUP_FOLLOWS as a part of the control flow packets. ContextEn is still as it was before;
 * CONTEXT_AFTER is what it becomes. IP is where the event happened, of the kind that packets carry.
 */
void ipt_event_trace(struct ipt *ipt, const struct ptsim_event *event, bool context_after,
                     bool fup_follows, uint64_t ip);

/* EVENT, an instruction that is no transfer, is over: MODE.Exec and FUP where it changed RFLAGS.IF
 * with ContextEn set all the while (table 33-59, case 22). IP is that of the instruction. */
void ipt_event_trace_if(struct ipt *ipt, const struct ptsim_event *event, bool context_before,
                        uint64_t ip);

#endif
