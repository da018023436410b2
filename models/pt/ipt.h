/* SPDX-License-Identifier: MIT */
/* Intel Processor Trace of one logical processor: its MSRs, the packet generator, and the
 * output (SDM chapter 33). */
#ifndef PTSIM_PT_IPT_H
#define PTSIM_PT_IPT_H

#include "../clock.h"
#include "../event.h"
#include "../ports.h"
#include "../profile.h"

#define IPT_RANGES_MAX 4

/* Sees every store of trace bytes where it lands, in order. */
struct ipt_tap {
    void *ctx;
    void (*store)(void *ctx, uint64_t phys, const uint8_t *data, size_t size);
};

struct ipt {
    const struct cpu_profile *profile;
    const struct clock *clock;
    struct mem_port mem;
    struct ipt_tap tap;    /* store may be NULL */
    struct ipt_tap fabric; /* where FabricEn sends the bytes; phys is then a running offset */

    /* The MSRs, as RDMSR gives them once everything is flushed. */
    uint64_t ctl;
    uint64_t status;
    uint64_t cr3_match;
    uint64_t output_base;
    uint64_t output_mask_ptrs;
    uint64_t addr[IPT_RANGES_MAX][2]; /* ADDRn_A, ADDRn_B */

    bool topa_pmi; /* a region with INT was filled: core/ takes it and clears it */
};

/* Cold reset (33.2.8.1). All pointers must outlive IPT. */
void ipt_init(struct ipt *ipt, const struct cpu_profile *profile, const struct clock *clock,
              const struct mem_port *mem);
/* Warm reset (33.3.4). */
void ipt_warm_reset(struct ipt *ipt);

/* Shows EVENT to the generator; the clock has already been advanced to it. */
void ipt_event(struct ipt *ipt, const struct ptsim_event *event);

/* Writes out every byte that is still buffered inside the processor, so that the status and output
 * MSRs are those of everything generated so far (33.3.3). No packet comes of it. */
void ipt_flush(struct ipt *ipt);

/* The write of IA32_RTIT_CTL, after its checks: all that TraceEn 0->1 and 1->0 does (33.2.8.3).
 * EVENT as for lp_wrmsr(). */
void ipt_write_ctl(struct ipt *ipt, uint64_t value, const struct ptsim_event *event);

bool ipt_packet_en(const struct ipt *ipt);

#endif
