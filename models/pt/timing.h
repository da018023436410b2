/* SPDX-License-Identifier: MIT */
/* The timing packets: TSC, TMA, MTC, CYC, CBR (SDM 33.3.6, 33.4.2.10-14, 33.8.3). */
#ifndef PTSIM_PT_TIMING_H
#define PTSIM_PT_TIMING_H

#include <stdbool.h>
#include <stdint.h>

struct ipt;

#define IPT_NEVER UINT64_MAX

struct ipt_timing {
    uint64_t now;           /* core clock of the packets being made */
    uint64_t mtc_due;       /* core clock of the next MTC, or IPT_NEVER */
    uint64_t cycle_start;   /* core clock at which the cycle counter was 0 */
    uint64_t wrap_due;      /* core clock of the next stand-alone CYC, or IPT_NEVER */
    uint32_t cyc_threshold; /* cycles that CycThresh asks for */
    bool cyc_en;            /* CYCEn */
    bool cyc_sent;          /* a CYC was sent since TriggerEn was set */
    bool cyc_alone;         /* the last CYC went with no packet */
};

/* TriggerEn is set at core clock NOW: the clocks of the packets start. */
void ipt_timing_start(struct ipt *ipt, uint64_t now);

/* The core clock goes on after it stood still, or goes on otherwise (table 33-55, case 25): TSC,
 * TMA, CBR, and the MTCs that were due meanwhile are not sent. The cycle counter has stood still
 * too. */
void ipt_timing_resume(struct ipt *ipt);

/* An overflow begins, in which there are no CYCs, and ends: the CYC in front of OVF has the time
 * that it took, as far as the counter tells (33.3.8.2). */
void ipt_timing_overflow_begin(struct ipt *ipt);
void ipt_timing_overflow_end(struct ipt *ipt);

/* The core clock at which the next MTC or stand-alone CYC is due, or IPT_NEVER. */
uint64_t ipt_timing_due(const struct ipt *ipt);

/* Time reaches core clock NOW: what is due until then is sent, each at its own core clock. */
void ipt_timing_advance(struct ipt *ipt, uint64_t now);

/* The CYC in front of a CYC-eligible packet, where there is to be one (33.3.6). */
void ipt_timing_cyc(struct ipt *ipt);

/* A CYC that goes with no packet: the cycle counter is reset. */
void ipt_timing_cyc_alone(struct ipt *ipt);

/* TSC and TMA where they are enabled. */
void ipt_timing_tsc(struct ipt *ipt);

void ipt_timing_cbr(struct ipt *ipt);

#endif
