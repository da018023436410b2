/* SPDX-License-Identifier: MIT */
/* Intel Processor Trace of one logical processor: its MSRs, the packet generator, and the
 * output (SDM chapter 33). */
#ifndef PTSIM_PT_IPT_H
#define PTSIM_PT_IPT_H

#include "../clock.h"
#include "../event.h"
#include "../ports.h"
#include "../profile.h"
#include "enable.h"
#include "filter.h"
#include "last_ip.h"
#include "output.h"
#include "overflow.h"
#include "psb.h"
#include "ret_stack.h"
#include "timing.h"
#include "tnt.h"

/* Sees every store of trace bytes where it lands, in order. */
struct ipt_tap {
    void *ctx;
    void (*store)(void *ctx, uint64_t phys, const uint8_t *data, size_t size);
};

/* Until which core clock a near branch can be dealt with by fast.h; 0 where it cannot at present.
 */
struct ipt_fast {
    uint64_t branch;   /* PacketEn is set and stays so, and no timing packet is due */
    uint64_t untraced; /* PacketEn is clear and stays so, and no timing packet is due */
};

/* TIPs that wait behind the outcomes in the TNT buffer (33.4.2.3). */
#define IPT_DEFERRED_MAX 16

struct ipt_deferred {
    uint64_t ip[IPT_DEFERRED_MAX];
    unsigned count;
};

struct ipt {
    struct ipt_tnt_buffer tnt;
    struct ipt_fast fast;

    /* An IP of a packet is (linear address - ip_base) & ip_mask: 33.3.1.1, RIP or LIP. */
    uint64_t ip_base;
    uint64_t ip_mask;

    struct ipt_enables enables;
    struct ipt_filter filter;
    struct ev_context context; /* of the logical processor, since the last event that had one */
    struct ipt_last_ip last_ip;
    bool last_ip_unknown; /* to the decoder: the next IP is not to be compressed */
    struct ipt_mode mode;
    struct ipt_timing timing;
    struct ipt_psb psb;
    struct ipt_ret_stack ret_stack;
    struct ipt_overflow overflow;
    struct ipt_deferred deferred;
    struct ipt_output output;

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

/* Cold reset (33.2.8.1). All pointers must outlive IPT; the taps are cleared. */
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
 * EVENT as for lp_wrmsr(); the clock has already been advanced to it. It is shown to the
 * generator here, so not to ipt_event() as well. */
void ipt_write_ctl(struct ipt *ipt, uint64_t value, const struct ptsim_event *event);

/* PacketEn (33.2.6.1). */
static inline bool ipt_packet_en(const struct ipt *ipt)
{
    return ipt_enables_packet(ipt->enables);
}

/* The IP that a packet carries for LINEAR in the present context. */
static inline uint64_t ipt_packet_ip(const struct ipt *ipt, uint64_t linear)
{
    return (linear - ipt->ip_base) & ipt->ip_mask;
}

/* Bytes of packets since reset: those in the buffer are included, and the TNTs that the TNT buffer
 * has the outcomes for. */
static inline uint64_t ipt_output_total(const struct ipt *ipt)
{
    return ipt->output.stored + ipt->output.used + ipt_tnt_count(&ipt->tnt) / IPT_TNT_8_MAX;
}

#endif
