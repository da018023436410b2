/* SPDX-License-Identifier: MIT */
/* PSB+: when a PSB is due, and what comes with it (SDM 33.3.7, 33.4.2.17). */
#ifndef PTSIM_PT_PSB_H
#define PTSIM_PT_PSB_H

#include <stdbool.h>
#include <stdint.h>

struct ipt;

/* In bytes of the stream, as ipt_output_total() counts them. */
struct ipt_psb {
    uint64_t last; /* where the last PSB began: PacketByteCnt counts from here */
    uint64_t due;  /* from where on the next one is due */
};

/* TraceEn is set: PacketByteCnt is taken up. Returns whether a PSB is due at once. */
bool ipt_psb_start(struct ipt *ipt);

/* Sends PSB+. IP is where execution goes on; PACKET_EN whether MODE.Exec and FUP are to tell of
 * it. */
void ipt_psb_send(struct ipt *ipt, bool packet_en, uint64_t ip);

/* PacketByteCnt of IA32_RTIT_STATUS. The field has 17 bits; where the PSB period does not fit, it
 * counts units of 2^(PSBFreq-5) bytes, begun ones in full, so that it is 0 only at a PSB. */
uint64_t ipt_psb_packet_byte_cnt(const struct ipt *ipt);

#endif
