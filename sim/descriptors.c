/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "descriptors.h"

#include <string.h>

enum {
#define ENV_PLACE(name, address)          ENV_##name = (address),
#define ENV_SEGMENT(name, selector, kind) SEL_##name = (selector),
#include "environment.def"
};

enum segment_kind {
    OWN,
    CODE16,
    CODE32,
    CODE64,
    CONFORMING,
    DATA,
    TSS,
};

static const struct segment {
    uint16_t selector;
    enum segment_kind kind;
} segments[] = {
#define ENV_SEGMENT(name, selector, kind) { selector, kind },
#include "environment.def"
};

enum {
    TSS_SIZE = 0x68, /* both sorts */
    TSS_PITCH = 0x100,
    IDT_VECTORS = 256,
};

static void put(const struct lp *lp, uint64_t at, uint64_t value, size_t size)
{
    mem_port_write(&lp->mem, at, value, size);
}

/* ---- segments ---- */

/* L and D/B of code of the mode's own size. */
static uint32_t own_size(const struct scenario *s)
{
    if (scn_ia32e(s))
        return ARCH_AR_L;
    return scn_code_bits(s) == 32 || s->mode == SCN_V86 ? ARCH_AR_DB : 0;
}

static uint32_t segment_rights(const struct scenario *s, enum segment_kind kind)
{
    const uint32_t any = ARCH_AR_P | ARCH_AR_S | ARCH_AR_G | ARCH_TYPE_ACCESSED;
    const uint32_t code = any | ARCH_TYPE_CODE | ARCH_TYPE_READABLE;

    switch (kind) {
    case OWN:
        return code | own_size(s);
    case CODE16:
        return code;
    case CODE32:
        return code | ARCH_AR_DB;
    case CODE64:
        return code | (scn_ia32e(s) ? ARCH_AR_L : ARCH_AR_DB);
    case CONFORMING:
        return code | own_size(s) | ARCH_TYPE_CONFORMING;
    case DATA:
        return any | ARCH_TYPE_WRITABLE | ARCH_AR_DB;
    case TSS:
        return ARCH_AR_P | ARCH_TYPE_TSS32_BUSY;
    }
    return 0;
}

static struct arch_seg segment_make(const struct scenario *s, const struct segment *segment)
{
    unsigned dpl = segment->kind == TSS ? 0 : segment->selector & 3;

    return (struct arch_seg){
        .selector = segment->selector,
        .ar = segment_rights(s, segment->kind) | dpl << ARCH_AR_DPL_SHIFT,
        .limit = segment->kind == TSS ? TSS_SIZE - 1 : UINT32_MAX,
        .base = segment->kind == TSS ? ENV_tss : 0,
    };
}

static struct arch_seg segment_find(const struct scenario *s, uint16_t selector)
{
    for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++)
        if (segments[i].selector == selector)
            return segment_make(s, &segments[i]);
    return (struct arch_seg){ .selector = selector };
}

/* The selectors of flat code and data for CPL, in code of the mode at the start. */
static uint16_t code_selector(const struct scenario *s, unsigned cpl)
{
    static const uint16_t own[] = { SEL_CODE0, SEL_CODE1, SEL_CODE2 };

    if (s->mode == SCN_COMPAT32)
        return cpl ? SEL_CODE3_32 : SEL_CODE0_32;
    if (cpl < 3)
        return own[cpl];
    return scn_code_bits(s) == 64  ? SEL_CODE3_64
           : s->mode == SCN_PROT16 ? SEL_CODE3_16
                                   : SEL_CODE3_32;
}

static uint16_t data_selector(unsigned cpl)
{
    static const uint16_t data[] = { SEL_DATA0, SEL_DATA1, SEL_DATA2, SEL_DATA3 };

    return data[cpl];
}

static void load_segments(const struct scenario *s, struct arch_state *state)
{
    for (int i = 0; i < ARCH_SREGS; i++)
        state->sreg[i] = segment_find(s, data_selector(s->cpl));
    state->sreg[ARCH_CS] = segment_find(s, code_selector(s, s->cpl));
}

static void build_gdt(const struct scenario *s, struct lp *lp)
{
    unsigned more = s->file->tasks_count + s->file->gates_count;

    for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
        struct arch_seg seg = segment_make(s, &segments[i]);

        put(lp, ENV_gdt + (seg.selector & ~3u), arch_seg_encode(&seg), 8);
    }
    lp->arch.gdtr = (struct arch_table){
        .base = ENV_gdt,
        .limit = (uint16_t)(SCN_FIRST_SELECTOR + more * SCN_SELECTOR_STEP - 1),
    };
}

/* ---- task-state segments (SDM vol. 3A, figures 7-2 and 7-11) ---- */

static void build_tss32(const struct scenario *s, struct lp *lp)
{
    static const uint16_t stacks[][2] = { { 0x04, SEL_DATA0 },
                                          { 0x0c, SEL_DATA1 },
                                          { 0x14, SEL_DATA2 } };

    for (unsigned i = 0; i < 3; i++) {
        put(lp, ENV_tss + stacks[i][0], ENV_stack0_top + i * 0x1000, 4);
        put(lp, ENV_tss + stacks[i][0] + 4u, stacks[i][1], 2);
    }
    put(lp, ENV_tss + 0x1c, s->paging == SCN_PAGING_NONE ? 0 : SCN_ROOT(0), 4);
    put(lp, ENV_tss + 0x66, TSS_SIZE, 2);
}

static void build_tss64(struct lp *lp)
{
    for (unsigned i = 0; i < 3; i++)
        put(lp, ENV_tss + 0x04 + 8 * i, ENV_stack0_top + i * 0x1000, 8);
    for (unsigned i = 0; i < 7; i++)
        put(lp, ENV_tss + 0x24 + 8 * i, ENV_ist1_top + i * 0x1000, 8);
    put(lp, ENV_tss + 0x66, TSS_SIZE, 2);
}

static void build_tss(const struct scenario *s, struct lp *lp)
{
    if (scn_ia32e(s))
        build_tss64(lp);
    else
        build_tss32(s, lp);
    if (s->mode != SCN_REAL16)
        lp->arch.tr = segment_find(s, SEL_TSS);
}

/* A field of a task's TSS. */
static void put_task(const struct lp *lp, unsigned index, unsigned offset, uint64_t value)
{
    put(lp, ENV_tasks + index * TSS_PITCH + offset, value, 4);
}

static void put_task_segments(const struct scenario *s, struct lp *lp, unsigned index, unsigned cpl,
                              bool v86)
{
    uint16_t data = v86 ? 0 : data_selector(cpl);

    for (unsigned offset = 0x48; offset <= 0x5c; offset += 4)
        put_task(lp, index, offset, data);
    put_task(lp, index, 0x4c, v86 ? 0 : code_selector(s, cpl));
}

static bool build_task(const struct scenario *s, struct lp *lp, unsigned index)
{
    static const char *const words[] = { "false", "true", NULL };
    const struct scn_task *task = &s->file->tasks[index];
    struct arch_seg seg = segment_find(s, SEL_TSS);
    uint64_t at, stack, rflags, cr3, cpl;
    unsigned v86;

    if (scn_ia32e(s))
        return SCN_MISTAKE(s, &task->here, "IA-32e mode has no task switches");
    if (!scn_value(s, &task->at, 0, &at) || !scn_value(s, &task->stack, ENV_stack0_top, &stack) ||
        !scn_value(s, &task->rflags, RFLAGS_FIXED1, &rflags) ||
        !scn_root(s, &task->root, SCN_ROOT(0), &cr3) || !scn_number(s, &task->cpl, 0, 0, 3, &cpl) ||
        !scn_word(s, &task->v86, words, 0, &v86))
        return false;
    put_task(lp, index, 0x04, ENV_stack0_top);
    put_task(lp, index, 0x08, SEL_DATA0);
    put_task(lp, index, 0x1c, s->paging == SCN_PAGING_NONE ? 0 : cr3);
    put_task(lp, index, 0x20, at);
    put_task(lp, index, 0x24, rflags | (v86 ? RFLAGS_VM : 0));
    put_task(lp, index, 0x38, stack);
    put_task_segments(s, lp, index, (unsigned)cpl, v86);
    put_task(lp, index, 0x64, (uint64_t)TSS_SIZE << 16);
    seg.base = ENV_tasks + index * TSS_PITCH;
    seg.ar &= ~(uint32_t)ARCH_TYPE_BUSY;
    put(lp, ENV_gdt + SCN_FIRST_SELECTOR + index * SCN_SELECTOR_STEP, arch_seg_encode(&seg), 8);
    return true;
}

/* ---- gates (SDM vol. 3A, figures 5-8, 6-2 and 6-8) ---- */

struct gate {
    unsigned type;
    unsigned dpl;
    uint16_t selector;
    uint64_t offset;
    unsigned low; /* bits 7:0 of the second doubleword: parameters, or IST */
};

static void put_gate(const struct scenario *s, const struct lp *lp, uint64_t at,
                     const struct gate *gate)
{
    put(lp, at, (gate->offset & 0xffff) | (uint32_t)gate->selector << 16, 4);
    put(lp, at + 4,
        gate->low | gate->type << 8 | gate->dpl << 13 | ARCH_AR_P << 8 |
            (gate->offset & 0xffff0000),
        4);
    if (scn_ia32e(s))
        put(lp, at + 8, gate->offset >> 32, 8);
}

static bool need(const struct scenario *s, const struct scn_text *here, const struct scn_text *text,
                 const char *key)
{
    return text->text || SCN_MISTAKE(s, here, "the key '%s' is missing", key);
}

static const char *const handler_words[] = {
#define SCN_GATE(id, name, type) name,
#include "scenario_tables.def"
    NULL,
};

static const unsigned handler_types[] = {
#define SCN_GATE(id, name, type) type,
#include "scenario_tables.def"
};

static bool build_handler(const struct scenario *s, struct lp *lp,
                          const struct scn_handler *handler)
{
    unsigned pitch = scn_ia32e(s) ? 16 : 8;
    uint64_t vector, at, dpl, ist, selector;
    unsigned word;
    bool task;

    if (!scn_number(s, &handler->vector, 0, 0, IDT_VECTORS - 1, &vector) ||
        !scn_word(s, &handler->type, handler_words, s->mode == SCN_PROT16 ? 3 : 0, &word) ||
        !scn_value(s, &handler->at, 0, &at) || !scn_number(s, &handler->dpl, 3, 0, 3, &dpl) ||
        !scn_number(s, &handler->ist, 0, 0, 7, &ist) ||
        !scn_value(s, &handler->selector, SEL_CODE0, &selector))
        return false;
    task = handler_types[word] == ARCH_TYPE_TASK_GATE;
    if (!need(s, &handler->here, task ? &handler->selector : &handler->at,
              task ? "selector" : "at"))
        return false;
    if (scn_ia32e(s) && (task || handler_types[word] < ARCH_TYPE_INT_GATE32))
        return SCN_MISTAKE(s, &handler->type, "IA-32e mode has no gates of type %s",
                           handler_words[word]);
    if (ist && !scn_ia32e(s))
        return SCN_MISTAKE(s, &handler->ist, "only IA-32e mode has an IST");
    put_gate(s, lp, ENV_idt + vector * pitch,
             &(struct gate){ .type = handler_types[word],
                             .dpl = (unsigned)dpl,
                             .selector = (uint16_t)selector,
                             .offset = at,
                             .low = (unsigned)ist });
    return true;
}

static bool build_ivt_entry(const struct scenario *s, struct lp *lp,
                            const struct scn_handler *handler)
{
    uint64_t vector, at;

    if (handler->type.text || handler->dpl.text || handler->ist.text || handler->selector.text)
        return SCN_MISTAKE(s, &handler->here, "an entry of the IVT is a label alone");
    if (!scn_number(s, &handler->vector, 0, 0, IDT_VECTORS - 1, &vector) ||
        !need(s, &handler->here, &handler->at, "at") || !scn_value(s, &handler->at, 0, &at))
        return false;
    put(lp, 4 * vector, at & 0xffff, 4);
    return true;
}

static bool build_gate(const struct scenario *s, struct lp *lp, unsigned index)
{
    static const char *const words[] = { "call", "task", "call16", NULL };
    static const unsigned types[] = { ARCH_TYPE_CALL_GATE32, ARCH_TYPE_TASK_GATE,
                                      ARCH_TYPE_CALL_GATE16 };
    const struct scn_gate *gate = &s->file->gates[index];
    uint64_t at, dpl, selector, params;
    unsigned word, slot = s->file->tasks_count + index;

    if (!scn_word(s, &gate->type, words, 0, &word) || !scn_value(s, &gate->at, 0, &at) ||
        !scn_number(s, &gate->dpl, 3, 0, 3, &dpl) ||
        !scn_value(s, &gate->selector, SEL_CODE0, &selector) ||
        !scn_number(s, &gate->params, 0, 0, 31, &params))
        return false;
    if (scn_ia32e(s) && types[word] != ARCH_TYPE_CALL_GATE32)
        return SCN_MISTAKE(s, &gate->type, "IA-32e mode has no gates of type %s", words[word]);
    if (types[word] == ARCH_TYPE_TASK_GATE ? !need(s, &gate->here, &gate->selector, "selector")
                                           : !need(s, &gate->here, &gate->at, "at"))
        return false;
    put_gate(s, lp, ENV_gdt + SCN_FIRST_SELECTOR + slot * SCN_SELECTOR_STEP,
             &(struct gate){ .type = types[word],
                             .dpl = (unsigned)dpl,
                             .selector = (uint16_t)selector,
                             .offset = at,
                             .low = (unsigned)params });
    return true;
}

static bool build_scenario_tables(const struct scenario *s, struct lp *lp)
{
    const struct scn_file *file = s->file;

    for (unsigned i = 0; i < file->tasks_count; i++)
        if (!build_task(s, lp, i))
            return false;
    for (unsigned i = 0; i < file->gates_count; i++)
        if (!build_gate(s, lp, i))
            return false;
    for (unsigned i = 0; i < file->idt_count; i++)
        if (!build_handler(s, lp, &file->idt[i]))
            return false;
    for (unsigned i = 0; i < file->ivt_count; i++)
        if (!build_ivt_entry(s, lp, &file->ivt[i]))
            return false;
    return true;
}

bool descriptors_build(const struct scenario *scenario, struct lp *lp)
{
    build_gdt(scenario, lp);
    build_tss(scenario, lp);
    if (scenario->mode != SCN_REAL16)
        lp->arch.idtr = (struct arch_table){
            .base = ENV_idt,
            .limit = (uint16_t)(IDT_VECTORS * (scn_ia32e(scenario) ? 16 : 8) - 1),
        };
    if (scenario->mode != SCN_REAL16 && scenario->mode != SCN_V86)
        load_segments(scenario, &lp->arch);
    return build_scenario_tables(scenario, lp);
}
