/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PT generator with a clock and memory, and events built by hand. */
#ifndef PTSIM_TESTS_PT_RIG_H
#define PTSIM_TESTS_PT_RIG_H

#include "../models/pt/fast.h"
#include "../models/pt/rtit_msr.h"
#include "pt_text.h"
#include "suite.h"

#define CTL(field)         MSR_MASK(IA32_RTIT_CTL, field)
#define CTL_(field, value) ((uint64_t)(value) << IA32_RTIT_CTL_##field##_LO)
/* Everything at every CPL, branches. */
#define CTL_BRANCHES       (CTL(TraceEn) | CTL(OS) | CTL(User) | CTL(BranchEn))

#define RIG_MEMORY 0x200000u

struct rig {
    struct cpu_profile profile;
    struct clock clock;
    struct ipt ipt;
    uint8_t memory[RIG_MEMORY];
    uint8_t stream[1 << 22]; /* what was stored, in order */
    size_t stored;
    size_t taken; /* by rig_take() */
    struct pt_text text;
};

static inline void rig_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    struct rig *rig = ctx;

    for (size_t i = 0; i < size; i++)
        ((uint8_t *)buf)[i] = phys + i < RIG_MEMORY ? rig->memory[phys + i] : 0xff;
}

static inline void rig_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    struct rig *rig = ctx;

    for (size_t i = 0; i < size; i++)
        if (phys + i < RIG_MEMORY)
            rig->memory[phys + i] = ((const uint8_t *)buf)[i];
}

static inline void rig_tap(void *ctx, uint64_t phys, const uint8_t *data, size_t size)
{
    struct rig *rig = ctx;

    (void)phys;
    ck_assert_uint_le(rig->stored + size, sizeof(rig->stream));
    memcpy(rig->stream + rig->stored, data, size);
    rig->stored += size;
}

/* Initialisers of contexts, by CPL and CR3. */
#define CONTEXT_64(at_cpl, with_cr3)                                                               \
    {                                                                                              \
        .cr3 = (with_cr3), .cpl = (at_cpl), .cs_l = true, .lma = true, .rflags_if = true           \
    }
#define CONTEXT_32(at_cpl, with_cr3)                                                               \
    {                                                                                              \
        .cr3 = (with_cr3), .cpl = (at_cpl), .cs_d = true                                           \
    }
#define CONTEXT_PAE(at_cpl, with_cr3)                                                              \
    {                                                                                              \
        .cr3 = (with_cr3), .cpl = (at_cpl), .cs_d = true, .pae = true                              \
    }
#define CONTEXT_REAL(base)                                                                         \
    {                                                                                              \
        .cr3 = 0x5000, .cs_base = (base)                                                           \
    }

/* Initialisers of events: a conditional branch and others, two and LENGTH bytes long. */
#define COND(holds, from, to)                                                                      \
    {                                                                                              \
        .kind = EV_COND_BRANCH, .taken = (holds), .from_ip = (from), .next_ip = (from) + 2,        \
        .to_ip = (holds) ? (to) : (from) + 2                                                       \
    }
#define NEAR(what, from, length, to)                                                               \
    {                                                                                              \
        .kind = EV_##what, .from_ip = (from), .next_ip = (from) + (length), .to_ip = (to)          \
    }
#define FAR(what, from, in, to, then)                                                              \
    {                                                                                              \
        .kind = EV_##what, .from_ip = (from), .to_ip = (to), .before = in, .after = then           \
    }

/* A single range of 4 KBytes at 10000H, 100 core clocks after reset; nothing enabled. */
static inline struct rig *rig_new(const char *profile)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    ck_assert_ptr_nonnull(rig);
    rig->profile = *cpu_profile_find(profile);
    clock_init(&rig->clock, &rig->profile);
    rig->clock.core = 100;
    ipt_init(&rig->ipt, &rig->profile, &rig->clock, &(struct mem_port){ rig, rig_read, rig_write });
    rig->ipt.tap = rig->ipt.fabric = (struct ipt_tap){ rig, rig_tap };
    rig->ipt.output_base = 0x10000;
    rig->ipt.output_mask_ptrs = 0xfff;
    return rig;
}

static inline void rig_event(struct rig *rig, const struct ptsim_event *event)
{
    rig->clock.core += event->cycles;
    ipt_event(&rig->ipt, event);
}

/* EVENTS up to the first with from_ip 0, each after CYCLES more than it says. */
static inline void rig_events(struct rig *rig, const struct ptsim_event *events, uint64_t cycles)
{
    for (; events->from_ip; events++) {
        rig->clock.core += cycles;
        rig_event(rig, events);
    }
}

/* WRMSR to IA32_RTIT_CTL, 2 bytes long, at FROM in CONTEXT. */
static inline void rig_ctl(struct rig *rig, uint64_t value, uint64_t from,
                           const struct ev_context *context)
{
    ipt_write_ctl(&rig->ipt, value,
                  &(struct ptsim_event){ .kind = EV_WRMSR,
                                         .from_ip = from,
                                         .next_ip = from + 2,
                                         .to_ip = from + 2,
                                         .before = *context,
                                         .after = *context });
}

/* The packets since the last rig_take(). */
static inline const char *rig_take(struct rig *rig)
{
    ipt_flush(&rig->ipt);
    rig->text.length = 0;
    rig->text.text[0] = '\0';
    pt_text_decode(&rig->text, rig->stream + rig->taken, rig->stored - rig->taken);
    rig->taken = rig->stored;
    return rig->text.text;
}

#endif
