/* SPDX-License-Identifier: MIT */
/* IP filtering and TraceStop: where an IP lies among the ADDRn ranges (SDM 33.2.5.3). */
#ifndef PTSIM_PT_FILTER_H
#define PTSIM_PT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define IPT_RANGES_MAX 4

/* What ADDRn_CFG of IA32_RTIT_CTL makes of the ranges, one bit a range. */
struct ipt_filter {
    uint8_t filter; /* ADDRn_CFG = 1: tracing is for IPs in one of these */
    uint8_t stop;   /* ADDRn_CFG = 2: landing in one of these stops tracing */
};

struct ipt_filter ipt_filter_of_ctl(uint64_t ctl);

/* Whether IP is in a range that has its bit in RANGES; both limits, ADDRn_A and ADDRn_B, are in
 * the range. IP is of the kind that packets carry, linear or effective (33.3.1.1). */
bool ipt_filter_hit(const uint64_t addr[IPT_RANGES_MAX][2], uint8_t ranges, uint64_t ip);

#endif
