/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include "emit.h"
#include "rtit_msr.h"

/* The core clock of the MTC after core clock CORE: when the range ART[N+7:N] that it carries next
 * changes (33.4.2.12). */
static uint64_t mtc_after(const struct ipt *ipt, uint64_t core)
{
    unsigned n = (unsigned)MSR_GET(ipt->ctl, IA32_RTIT_CTL, MTCFreq);

    return clock_core_at_art(ipt->clock, ((clock_art_at(ipt->clock, core) >> n) + 1) << n);
}

/* The counter is reset: it is all ones next, and about to wrap, after so many cycles (33.3.6.1). */
static void cycle_counter_reset(struct ipt *ipt, uint64_t core)
{
    struct ipt_timing *t = &ipt->timing;

    t->cycle_start = core;
    t->wrap_due = t->cyc_en ? core + BITS(ipt->profile->pt_cycle_counter_bits - 1, 0) : IPT_NEVER;
}

static uint32_t cyc_threshold(uint64_t ctl)
{
    uint64_t encoding = MSR_GET(ctl, IA32_RTIT_CTL, CycThresh);

    return encoding ? UINT32_C(1) << (encoding - 1) : 0;
}

void ipt_timing_start(struct ipt *ipt, uint64_t now)
{
    struct ipt_timing *t = &ipt->timing;

    *t = (struct ipt_timing){ .now = now,
                              .mtc_due = IPT_NEVER,
                              .cyc_threshold = cyc_threshold(ipt->ctl),
                              .cyc_en = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, CYCEn) };
    if (ipt->ctl & MSR_MASK(IA32_RTIT_CTL, MTCEn))
        t->mtc_due = mtc_after(ipt, now);
    cycle_counter_reset(ipt, now);
}

void ipt_timing_resume(struct ipt *ipt)
{
    struct ipt_timing *t = &ipt->timing;

    if (t->mtc_due != IPT_NEVER)
        t->mtc_due = mtc_after(ipt, t->now);
    ipt_timing_tsc(ipt);
    ipt_timing_cbr(ipt);
}

uint64_t ipt_timing_due(const struct ipt *ipt)
{
    const struct ipt_timing *t = &ipt->timing;

    return t->mtc_due < t->wrap_due ? t->mtc_due : t->wrap_due;
}

static void send_cyc(struct ipt *ipt, bool alone)
{
    struct ipt_timing *t = &ipt->timing;
    uint64_t cycles = t->now - t->cycle_start;

    t->cyc_sent = true;
    t->cyc_alone = alone;
    cycle_counter_reset(ipt, t->now);
    ipt_emit_cyc(ipt, cycles);
}

void ipt_timing_cyc(struct ipt *ipt)
{
    const struct ipt_timing *t = &ipt->timing;
    uint64_t cycles = t->now - t->cycle_start;

    if (!t->cyc_en || ipt->overflow.lasts)
        return;
    if (cycles == 0 && t->cyc_sent)
        return; /* one in a cycle, for all its packets */
    /* After a stand-alone CYC there is another before the next eligible packet (33.4.2.14), below
     * the threshold too: else the first would seem to tell that packet's time. */
    if (cycles < t->cyc_threshold && !t->cyc_alone)
        return;
    send_cyc(ipt, false);
}

void ipt_timing_cyc_alone(struct ipt *ipt)
{
    if (!ipt->timing.cyc_en || ipt->overflow.lasts)
        return;
    ipt_emit_tnt(ipt);
    send_cyc(ipt, true);
}

void ipt_timing_overflow_begin(struct ipt *ipt)
{
    ipt->timing.wrap_due = IPT_NEVER;
}

void ipt_timing_overflow_end(struct ipt *ipt)
{
    struct ipt_timing *t = &ipt->timing;
    uint64_t counted = (t->now - t->cycle_start) & BITS(ipt->profile->pt_cycle_counter_bits - 1, 0);

    if (!t->cyc_en)
        return;
    t->cyc_sent = true;
    t->cyc_alone = false;
    cycle_counter_reset(ipt, t->now);
    ipt_emit_cyc(ipt, counted);
}

static void send_mtc(struct ipt *ipt)
{
    struct ipt_timing *t = &ipt->timing;
    unsigned n = (unsigned)MSR_GET(ipt->ctl, IA32_RTIT_CTL, MTCFreq);
    uint64_t art = clock_art_at(ipt->clock, t->now);

    t->mtc_due = mtc_after(ipt, t->now);
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_MTC, .mtc = { .ctc = (uint8_t)(art >> n) } });
}

void ipt_timing_advance(struct ipt *ipt, uint64_t now)
{
    struct ipt_timing *t = &ipt->timing;

    while (ipt->enables.trigger && ipt_timing_due(ipt) <= now) {
        t->now = ipt_timing_due(ipt);
        if (t->mtc_due == t->now)
            send_mtc(ipt);
        if (t->wrap_due == t->now)
            ipt_timing_cyc_alone(ipt);
    }
    t->now = now;
}

void ipt_timing_tsc(struct ipt *ipt)
{
    const struct clock *clock = ipt->clock;
    uint64_t now = ipt->timing.now;

    if (!(ipt->ctl & MSR_MASK(IA32_RTIT_CTL, TSCEn)))
        return;
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_TSC,
                                       .tsc = { .tsc = clock_tsc_at(clock, now) & BITS(55, 0) } });
    if (!(ipt->ctl & MSR_MASK(IA32_RTIT_CTL, MTCEn)))
        return;
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_TMA,
                                       .tma = { .ctc = (uint16_t)clock_art_at(clock, now),
                                                .fc = (uint16_t)(clock_fast_counter_at(clock, now) &
                                                                 BITS(8, 0)) } });
}

void ipt_timing_cbr(struct ipt *ipt)
{
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_CBR, .cbr = { ipt->clock->core_ratio } });
}
