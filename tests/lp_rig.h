/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A logical processor with memory round it, and MSR accesses that are checked. */
#ifndef PTSIM_TESTS_LP_RIG_H
#define PTSIM_TESTS_LP_RIG_H

#include <string.h>

#include "../models/bits.h"
#include "../models/core/lp.h"
#include "../models/core/msr.h"
#include "suite.h"

/* Memory of 64 KBytes from 0, with a ToPA table at 1000H: one region of 4 KBytes at 2000H, then
 * END back to the table. */
struct lp_rig {
    struct lp lp;
    uint8_t memory[0x10000];
};

static inline void lp_rig_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    const struct lp_rig *rig = ctx;

    memset(buf, 0xff, size);
    if (phys < sizeof(rig->memory) && size <= sizeof(rig->memory) - phys)
        memcpy(buf, rig->memory + phys, size);
}

static inline void lp_rig_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    struct lp_rig *rig = ctx;

    if (phys < sizeof(rig->memory) && size <= sizeof(rig->memory) - phys)
        memcpy(rig->memory + phys, buf, size);
}

static inline void power_on(struct lp_rig *rig, const struct cpu_profile *profile)
{
    const struct mem_port port = { rig, lp_rig_read, lp_rig_write };

    memset(rig->memory, 0, sizeof(rig->memory));
    le_store(rig->memory + 0x1000, 0x2000, 8);
    le_store(rig->memory + 0x1008, 0x1001, 8);
    lp_init(&rig->lp, profile, &port);
}

static struct lp_rig lp_rig;

static inline struct lp *processor(const char *profile)
{
    power_on(&lp_rig, cpu_profile_find(profile));
    return &lp_rig.lp;
}

static inline bool is_gp(struct arch_fault fault)
{
    ck_assert(!fault.raised || (fault.vector == ARCH_GP && fault.has_error && !fault.error));
    return fault.raised;
}

static inline bool write_ok(struct lp *lp, uint32_t index, uint64_t value)
{
    const struct ptsim_event event = {
        .kind = EV_WRMSR, .insns = 1, .from_ip = 0x1000, .next_ip = 0x1002, .to_ip = 0x1002
    };

    return !is_gp(lp_wrmsr(lp, index, value, &event));
}

static inline uint64_t read_back(struct lp *lp, uint32_t index)
{
    uint64_t value = 0;

    ck_assert_msg(!is_gp(lp_rdmsr(lp, index, &value)), "RDMSR %x", index);
    return value;
}

/* The write must be taken and read back as READS, or fault and change nothing. */
static inline void check_write(struct lp *lp, uint32_t index, uint64_t value, bool ok,
                               uint64_t reads)
{
    uint64_t before = read_back(lp, index);
    bool taken = write_ok(lp, index, value);
    uint64_t after = read_back(lp, index);

    ck_assert_msg(taken == ok, "%s: WRMSR %x of %#llx: %s", lp->profile->name, index,
                  (unsigned long long)value, taken ? "taken" : "#GP");
    ck_assert_msg(after == (ok ? reads : before), "%s: WRMSR %x of %#llx: reads %#llx",
                  lp->profile->name, index, (unsigned long long)value, (unsigned long long)after);
}

#endif
