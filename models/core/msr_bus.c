/* SPDX-License-Identifier: MIT */
/* RDMSR and WRMSR. Three separate things, as the rows of msrs.def say them: whether an access may
 * happen, what reading gives, and what writing does. */
#include <stddef.h>

#include "../pt/rtit_msr.h"
#include "lp.h"
#include "msr.h"

/* How the MSRs of one kind are accessed. AT is where the value is, for the kinds that have one. */
struct accessor {
    /* Rules beyond the fields of the table; VALUE breaks none of those. */
    bool (*may_write)(const struct lp *lp, uint32_t index, uint64_t value);
    uint64_t (*read)(struct lp *lp, const struct msr *msr, const uint64_t *at);
    /* EVENT has been charged to the clock and is still to be shown. */
    void (*write)(struct lp *lp, const struct msr *msr, uint64_t *at, uint64_t value,
                  const struct ptsim_event *event);
};

static uint64_t read_at(struct lp *lp, const struct msr *msr, const uint64_t *at)
{
    (void)lp, (void)msr;
    return *at;
}

static void write_at(struct lp *lp, const struct msr *msr, uint64_t *at, uint64_t value,
                     const struct ptsim_event *event)
{
    (void)msr;
    *at = value;
    ipt_event(&lp->pt, event);
}

static const struct accessor stored = { NULL, read_at, write_at };

static uint64_t read_constant(struct lp *lp, const struct msr *msr, const uint64_t *at)
{
    (void)at;
    return msr->reset(lp->profile);
}

static const struct accessor constant = { NULL, read_constant, NULL };

static uint64_t read_tsc(struct lp *lp, const struct msr *msr, const uint64_t *at)
{
    (void)msr, (void)at;
    return clock_tsc_at(&lp->clock, lp->clock.core);
}

static void write_tsc(struct lp *lp, const struct msr *msr, uint64_t *at, uint64_t value,
                      const struct ptsim_event *event)
{
    (void)msr, (void)at;
    ipt_event(&lp->pt, event);
    clock_set_tsc(&lp->clock, value);
}

static const struct accessor tsc = { NULL, read_tsc, write_tsc };

/* LME cannot change while paging is on (SDM vol. 3A, 9.8.5). */
static bool may_write_efer(const struct lp *lp, uint32_t index, uint64_t value)
{
    (void)index;
    return !(lp->arch.cr0 & CR0_PG) || !((value ^ lp->arch.efer) & EFER_LME);
}

static void write_efer(struct lp *lp, const struct msr *msr, uint64_t *at, uint64_t value,
                       const struct ptsim_event *event)
{
    struct ptsim_event context = *event;

    (void)msr;
    *at = value;
    context.kind = EV_CONTEXT;
    context.after = arch_context(&lp->arch);
    ipt_event(&lp->pt, &context);
}

static const struct accessor efer = { may_write_efer, read_at, write_efer };

static bool may_write_rtit(const struct lp *lp, uint32_t index, uint64_t value)
{
    return ipt_wrmsr_allowed(&lp->pt, index, value);
}

/* What is still buffered counts: the output pointers are where the next byte will go. */
static uint64_t read_rtit(struct lp *lp, const struct msr *msr, const uint64_t *at)
{
    (void)msr;
    ipt_flush(&lp->pt);
    return *at;
}

static void write_rtit(struct lp *lp, const struct msr *msr, uint64_t *at, uint64_t value,
                       const struct ptsim_event *event)
{
    if (msr->index == IA32_RTIT_CTL) {
        ipt_write_ctl(&lp->pt, value, event);
        return;
    }
    *at = value;
    ipt_event(&lp->pt, event);
}

static const struct accessor rtit = { may_write_rtit, read_rtit, write_rtit };

/* One for each row, in the table's order. */
static const struct wiring {
    const struct accessor *access;
    size_t offset; /* of the value in struct lp; 0: there is none */
} wirings[] = {
/* clang-format off */
#define STORED(member) &stored, offsetof(struct lp, member)
#define RTIT(member) &rtit, offsetof(struct lp, pt.member)
#define EFER() &efer, offsetof(struct lp, arch.efer)
#define TSC() &tsc, offsetof(struct lp, clock.tsc_offset)
#define CONSTANT() &constant, 0
#define MSR(index, name, at, exists, reset, section) { at },
#define FIELD(msr, name, hi, lo, access, exists, allows, meaning)
#include "msrs.def"
    /* clang-format on */
};

static const struct wiring *wiring_of(const struct msr *msr)
{
    return &wirings[msr - msr_at(0)];
}

static uint64_t *value_at(struct lp *lp, const struct msr *msr)
{
    return (uint64_t *)(void *)((unsigned char *)lp + wiring_of(msr)->offset);
}

void lp_reset_msrs(struct lp *lp)
{
    const struct msr *msr;

    for (unsigned i = 0; (msr = msr_at(i)); i++)
        if (wiring_of(msr)->offset)
            *value_at(lp, msr) = msr->reset(lp->profile);
}

struct arch_fault lp_rdmsr(struct lp *lp, uint32_t index, uint64_t *value)
{
    const struct msr *msr = msr_find(index);

    if (!msr || !msr->exists(lp->profile))
        return arch_fault_error(ARCH_GP, 0);
    *value = wiring_of(msr)->access->read(lp, msr, value_at(lp, msr));
    return ARCH_NO_FAULT;
}

static bool may_write(const struct lp *lp, const struct msr *msr, uint64_t value)
{
    if (!msr || !msr->exists(lp->profile) || !msr->writable)
        return false;
    if (!msr_allows(msr, lp->profile, value))
        return false;

    const struct accessor *access = wiring_of(msr)->access;

    return !access->may_write || access->may_write(lp, msr->index, value);
}

struct arch_fault lp_wrmsr(struct lp *lp, uint32_t index, uint64_t value,
                           const struct ptsim_event *event)
{
    const struct msr *msr = msr_find(index);

    if (!may_write(lp, msr, value))
        return arch_fault_error(ARCH_GP, 0);

    uint64_t *at = value_at(lp, msr);

    lp->clock.core += event->cycles;
    wiring_of(msr)->access->write(lp, msr, at, msr_legal(msr, *at, value), event);
    return ARCH_NO_FAULT;
}
