/* SPDX-License-Identifier: MIT */
/* Packets into the stream. Whatever is in the TNT buffer goes out first, then the CYC that a
 * CYC-eligible packet has in front of it, then the packet. Once TriggerEn is clear nothing goes
 * out any more. */
#ifndef PTSIM_PT_EMIT_H
#define PTSIM_PT_EMIT_H

#include "ipt.h"

/* Any packet but TNT, IP packets and CYC. */
void ipt_emit(struct ipt *ipt, struct ipt_packet packet);

/* TIP, TIP.PGE, TIP.PGD or FUP with the IP, of the kind that packets carry. */
void ipt_emit_ip(struct ipt *ipt, enum ipt_packet_type type, uint64_t ip);
/* The same with its IP suppressed. */
void ipt_emit_no_ip(struct ipt *ipt, enum ipt_packet_type type);

/* What a MODE.Exec would tell of CONTEXT. */
struct ipt_mode ipt_mode_of(const struct ev_context *context);
/* MODE.Exec with the present mode. */
void ipt_emit_mode_exec(struct ipt *ipt);
/* PIP with the present CR3, where ContextEn and OS allow it (33.4.2.7). */
void ipt_emit_pip(struct ipt *ipt);

/* The outcome of a conditional branch or compressed RET, which goes out in a TNT some time. */
void ipt_emit_outcome(struct ipt *ipt, bool taken);
/* The TNT buffer, unless it is empty. */
void ipt_emit_tnt(struct ipt *ipt);

/* A CYC; it is the caller who knows that there is to be one. */
void ipt_emit_cyc(struct ipt *ipt, uint64_t cycles);

#endif
