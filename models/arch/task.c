/* SPDX-License-Identifier: MIT */
#include "task.h"

#include "transfer.h"

/* Where a TSS has what (SDM vol. 3A, figures 8-2 and 8-10). The link is at 0 in both. */
struct tss_layout {
    uint32_t min_limit;
    unsigned size; /* of a register */
    unsigned ip, flags, gpr, sreg, ldt;
    unsigned sregs; /* ES, CS, SS, DS and, with 6, FS, GS: the order of enum arch_sreg */
};

static const struct tss_layout tss16 = { .min_limit = 0x2b,
                                         .size = 2,
                                         .ip = 0x0e,
                                         .flags = 0x10,
                                         .gpr = 0x12,
                                         .sreg = 0x22,
                                         .ldt = 0x2a,
                                         .sregs = 4 };
static const struct tss_layout tss32 = { .min_limit = 0x67,
                                         .size = 4,
                                         .ip = 0x20,
                                         .flags = 0x24,
                                         .gpr = 0x28,
                                         .sreg = 0x48,
                                         .ldt = 0x60,
                                         .sregs = 6 };
enum {
    TSS32_CR3 = 0x1c,
    TSS32_T = 0x64,
    TASK_GPRS = 8,
};

/* The breakpoints that are the old task's alone: L0 to L3 and LE of DR7 (SDM 18.2.4). */
#define DR7_LOCAL UINT64_C(0x155)

static const struct tss_layout *layout_of(uint32_t ar)
{
    return arch_ar_type(ar) & 8 ? &tss32 : &tss16;
}

/* What the new TSS holds. */
struct image {
    uint64_t cr3, ip, flags;
    uint64_t gpr[TASK_GPRS];
    uint16_t sreg[ARCH_SREGS];
    uint16_t ldt;
    bool trap;
};

/* Steps 1, 3 and 4: the descriptor of the new TSS. */
static struct arch_fault find_tss(const struct arch_cpu *cpu, uint16_t selector,
                                  const struct arch_task *how, struct arch_descriptor *tss)
{
    bool iret = how->source == ARCH_TASK_IRET;
    enum arch_vector vector = iret ? ARCH_TS : ARCH_GP;
    struct arch_fault wrong = arch_selector_fault(vector, selector, how->ext);
    unsigned type;

    if (arch_selector_ti(selector) || arch_selector_null(selector))
        return wrong;
    ARCH_TRY(arch_descriptor_read(cpu, selector, vector, how->ext, tss));
    type = arch_ar_type(tss->seg.ar);
    if ((tss->seg.ar & ARCH_AR_S) ||
        (type & ~8u) != (iret ? ARCH_TYPE_TSS16_BUSY : ARCH_TYPE_TSS16))
        return wrong;
    if (!(tss->seg.ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, selector, how->ext);
    if (tss->seg.limit < layout_of(tss->seg.ar)->min_limit)
        return arch_selector_fault(ARCH_TS, selector, how->ext);
    return ARCH_NO_FAULT;
}

/* Step 5: what is about to be read and written is there. */
static struct arch_fault probe(const struct arch_cpu *cpu, const struct arch_descriptor *tss)
{
    const struct arch_state *state = cpu->state;
    const struct tss_layout *old = layout_of(state->tr.ar);
    const struct tss_layout *new = layout_of(tss->seg.ar);
    unsigned end = old->sreg + old->sregs * old->size;

    ARCH_TRY(arch_linear_probe(state, cpu->limits, cpu->mem, state->tr.base + old->ip,
                               end - old->ip, ARCH_WRITE, ARCH_IMPLICIT));
    ARCH_TRY(arch_linear_probe(state, cpu->limits, cpu->mem, tss->seg.base, new->min_limit + 1,
                               ARCH_READ, ARCH_IMPLICIT));
    return arch_linear_probe(state, cpu->limits, cpu->mem, tss->seg.base, 2, ARCH_WRITE,
                             ARCH_IMPLICIT);
}

/* Steps 6 to 8: the old task into its TSS, which JMP and IRET leave available. */
static struct arch_fault save_old(const struct arch_cpu *cpu, const struct arch_task *how)
{
    const struct arch_state *state = cpu->state;
    const struct tss_layout *tss = layout_of(state->tr.ar);
    bool iret = how->source == ARCH_TASK_IRET;
    uint64_t flags = iret ? how->rflags & ~(uint64_t)RFLAGS_NT : how->rflags;
    uint64_t base = state->tr.base;

    if (iret || how->source == ARCH_TASK_JMP) {
        struct arch_descriptor old;

        ARCH_TRY(arch_descriptor_read(cpu, state->tr.selector, ARCH_TS, how->ext, &old));
        ARCH_TRY(arch_descriptor_clear(cpu, &old, ARCH_TYPE_BUSY));
    }
    ARCH_TRY(arch_system_write(cpu, base + tss->ip, tss->size, how->rip));
    ARCH_TRY(arch_system_write(cpu, base + tss->flags, tss->size, flags));
    for (unsigned i = 0; i < TASK_GPRS; i++)
        ARCH_TRY(arch_system_write(cpu, base + tss->gpr + i * tss->size, tss->size, state->gpr[i]));
    for (unsigned i = 0; i < tss->sregs; i++)
        ARCH_TRY(
            arch_system_write(cpu, base + tss->sreg + i * tss->size, 2, state->sreg[i].selector));
    return ARCH_NO_FAULT;
}

static struct arch_fault read_image(const struct arch_cpu *cpu, const struct arch_seg *seg,
                                    struct image *image)
{
    const struct tss_layout *tss = layout_of(seg->ar);
    uint8_t raw[0x68];

    *image = (struct image){ .trap = false };
    ARCH_TRY(arch_linear_read(cpu->state, cpu->limits, cpu->mem, seg->base, raw, tss->min_limit + 1,
                              ARCH_IMPLICIT));
    image->ip = le_load(raw + tss->ip, tss->size);
    image->flags = le_load(raw + tss->flags, tss->size);
    image->ldt = (uint16_t)le_load(raw + tss->ldt, 2);
    for (unsigned i = 0; i < TASK_GPRS; i++)
        image->gpr[i] = le_load(raw + tss->gpr + i * tss->size, tss->size);
    for (unsigned i = 0; i < tss->sregs; i++)
        image->sreg[i] = (uint16_t)le_load(raw + tss->sreg + i * tss->size, 2);
    if (tss == &tss32) {
        image->cr3 = le_load(raw + TSS32_CR3, 4);
        image->trap = le_load(raw + TSS32_T, 2) & 1;
    }
    return ARCH_NO_FAULT;
}

/* Steps 9 to 12: the new task's registers; segments as selectors alone. A 16-bit TSS has the
 * low halves of registers; the high ones, which the manual leaves open, become 0. */
static void load_image(struct arch_state *state, struct arch_descriptor *tss,
                       const struct image *image, const struct arch_task *how)
{
    bool nested = how->source == ARCH_TASK_CALL || how->source == ARCH_TASK_EVENT;

    state->tr = tss->seg;
    state->tr.ar |= ARCH_TYPE_BUSY;
    state->cr0 |= CR0_TS;
    state->dr[7] &= ~DR7_LOCAL;
    if ((state->cr0 & CR0_PG) && layout_of(tss->seg.ar) == &tss32)
        state->cr3 = image->cr3;
    state->rip = image->ip;
    state->rflags = (image->flags & 0x3f7fd5) | RFLAGS_FIXED1 | (nested ? RFLAGS_NT : 0);
    for (unsigned i = 0; i < TASK_GPRS; i++)
        state->gpr[i] = image->gpr[i];
    state->ldtr = (struct arch_seg){ .selector = image->ldt, .ar = ARCH_AR_UNUSABLE };
    state->cpl = image->flags & RFLAGS_VM ? 3 : image->sreg[ARCH_CS] & 3;
    for (int i = 0; i < ARCH_SREGS; i++)
        arch_seg_load_null(state, (enum arch_sreg)i, image->sreg[i]);
}

static struct arch_fault load_ldt(const struct arch_cpu *cpu, unsigned ext)
{
    uint16_t selector = cpu->state->ldtr.selector;
    struct arch_fault wrong = arch_selector_fault(ARCH_TS, selector, ext);
    struct arch_descriptor desc;

    if (arch_selector_null(selector))
        return ARCH_NO_FAULT;
    if (arch_selector_ti(selector))
        return wrong;
    ARCH_TRY(arch_descriptor_read(cpu, selector, ARCH_TS, ext, &desc));
    if ((desc.seg.ar & ARCH_AR_S) || arch_ar_type(desc.seg.ar) != ARCH_TYPE_LDT ||
        !(desc.seg.ar & ARCH_AR_P))
        return wrong;
    cpu->state->ldtr = desc.seg;
    return ARCH_NO_FAULT;
}

static struct arch_fault load_code(const struct arch_cpu *cpu, unsigned ext)
{
    struct arch_state *state = cpu->state;
    uint16_t selector = state->sreg[ARCH_CS].selector;
    struct arch_descriptor desc;
    uint32_t ar;

    if (arch_selector_null(selector))
        return arch_fault_error(ARCH_TS, ext);
    ARCH_TRY(arch_descriptor_read(cpu, selector, ARCH_TS, ext, &desc));
    ar = desc.seg.ar;
    if (!arch_ar_is_code(ar) ||
        (ar & ARCH_TYPE_CONFORMING ? arch_ar_dpl(ar) > state->cpl : arch_ar_dpl(ar) != state->cpl))
        return arch_selector_fault(ARCH_TS, selector, ext);
    if (!(ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, selector, ext);
    ARCH_TRY(arch_mark_accessed(cpu, &desc));
    state->sreg[ARCH_CS] = desc.seg;
    return ARCH_NO_FAULT;
}

static struct arch_fault load_data(const struct arch_cpu *cpu, enum arch_sreg sreg, unsigned ext)
{
    struct arch_state *state = cpu->state;
    uint16_t selector = state->sreg[sreg].selector;
    struct arch_descriptor desc;

    if (arch_selector_null(selector))
        return sreg == ARCH_SS ? arch_fault_error(ARCH_TS, ext) : ARCH_NO_FAULT;
    ARCH_TRY(arch_descriptor_read(cpu, selector, ARCH_TS, ext, &desc));
    if (sreg == ARCH_SS)
        ARCH_TRY(arch_check_stack_segment(&desc, state->cpl, ARCH_TS, ext));
    else
        ARCH_TRY(arch_check_data_segment(&desc, state->cpl, ARCH_TS, ext));
    ARCH_TRY(arch_mark_accessed(cpu, &desc));
    state->sreg[sreg] = desc.seg;
    return ARCH_NO_FAULT;
}

/* Step 13: LDT, code, stack, data (SDM table 8-1). */
static struct arch_fault load_segments(const struct arch_cpu *cpu, unsigned ext)
{
    static const enum arch_sreg order[] = { ARCH_SS, ARCH_ES, ARCH_DS, ARCH_FS, ARCH_GS };
    struct arch_state *state = cpu->state;

    ARCH_TRY(load_ldt(cpu, ext));
    if (arch_v86_mode(state)) {
        for (int i = 0; i < ARCH_SREGS; i++)
            ARCH_TRY(arch_load_sreg(cpu, (enum arch_sreg)i, state->sreg[i].selector));
    } else {
        ARCH_TRY(load_code(cpu, ext));
        for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
            ARCH_TRY(load_data(cpu, order[i], ext));
    }
    if (state->rip > state->sreg[ARCH_CS].limit)
        return arch_fault_error(ARCH_GP, ext);
    return ARCH_NO_FAULT;
}

/* In the new task: its segments, the error code of what was delivered, and the T flag. */
static struct arch_fault enter_task(const struct arch_cpu *cpu, const struct image *image,
                                    const struct arch_task *how)
{
    struct arch_state *state = cpu->state;
    struct arch_pushes pushes;

    if ((state->cr0 & CR0_PG) && (state->cr4 & CR4_PAE))
        ARCH_TRY(arch_load_pdptes(state, cpu->limits, cpu->mem, state->cr3));
    ARCH_TRY(load_segments(cpu, how->ext));
    if (how->has_error) {
        pushes = arch_push_begin(cpu, how->ext);
        ARCH_TRY(arch_push(&pushes, layout_of(state->tr.ar)->size, how->error));
        ARCH_TRY(arch_push_end(&pushes));
    }
    if (image->trap) {
        state->dr[6] |= DR6_BT;
        return arch_fault(ARCH_DB);
    }
    return ARCH_NO_FAULT;
}

struct arch_fault arch_task_switch(const struct arch_cpu *cpu, uint16_t selector,
                                   const struct arch_task *how)
{
    uint16_t old_tr = cpu->state->tr.selector;
    struct arch_descriptor tss;
    struct arch_fault fault;
    struct image image;

    ARCH_TRY(find_tss(cpu, selector, how, &tss));
    ARCH_TRY(probe(cpu, &tss));
    ARCH_TRY(save_old(cpu, how));
    if (how->source == ARCH_TASK_CALL || how->source == ARCH_TASK_EVENT)
        ARCH_TRY(arch_system_write(cpu, tss.seg.base, 2, old_tr));
    ARCH_TRY(read_image(cpu, &tss.seg, &image));
    ARCH_TRY(arch_descriptor_set(cpu, &tss, ARCH_TYPE_BUSY));
    load_image(cpu->state, &tss, &image, how);
    fault = enter_task(cpu, &image, how);
    fault.new_task = fault.raised;
    return fault;
}
