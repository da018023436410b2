/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <stddef.h>

struct row {
    struct smm_field field;
    size_t at; /* in struct smm_image */
};

#define ROW(offset_, size_, shift_, name_, access_, member)                                        \
    { { offset_, size_, shift_, SMM_##access_, name_ }, offsetof(struct smm_image, member) },

static const struct row rows32[] = {
#define SAVE32 ROW
#include "save_map.def"
};

static const struct row rows64[] = {
#define SAVE64 ROW
#include "save_map.def"
};

/* The row at INDEX, NULL at the end. */
static const struct row *row_at(bool map64, unsigned index)
{
    if (map64)
        return index < sizeof(rows64) / sizeof(rows64[0]) ? &rows64[index] : NULL;
    return index < sizeof(rows32) / sizeof(rows32[0]) ? &rows32[index] : NULL;
}

bool smm_field_at(bool map64, unsigned index, struct smm_field *field)
{
    const struct row *row = row_at(map64, index);

    if (row)
        *field = row->field;
    return row;
}

static struct arch_seg *seg_of(struct arch_state *state, unsigned n)
{
    return n == SMM_TR ? &state->tr : n == SMM_LDTR ? &state->ldtr : &state->sreg[n];
}

static void take_segments(struct smm_image *image, const struct arch_state *state)
{
    struct arch_state copy = *state;

    for (unsigned n = 0; n < SMM_SEGS; n++) {
        const struct arch_seg *seg = seg_of(&copy, n);

        image->seg[n].selector = seg->selector;
        image->seg[n].base = seg->base;
        image->seg[n].limit = seg->limit;
        image->seg[n].ar = seg->ar;
    }
}

void smm_image_take(struct smm_image *image, const struct arch_state *state)
{
    *image = (struct smm_image){
        .cr0 = state->cr0,
        .cr3 = state->cr3,
        .cr4 = state->cr4,
        .rflags = state->rflags,
        .efer = state->efer,
        .rip = state->rip,
        .dr6 = state->dr[6],
        .dr7 = state->dr[7],
        .gdtr = { state->gdtr.base, state->gdtr.limit },
        .idtr = { state->idtr.base, state->idtr.limit },
        .halt_restart = state->activity == ARCH_HLT,
        .kept = state->cpl | (state->blocking_by_nmi ? SMM_KEPT_NMI : 0u) |
                (state->activity == ARCH_HLT ? SMM_KEPT_HALTED : 0u),
    };
    take_segments(image, state);
    for (unsigned i = 0; i < ARCH_GPRS; i++)
        image->gpr[i] = state->gpr[i];
    for (unsigned i = 0; i < 4; i++)
        image->pdpte[i] = state->pdpte[i];
}

void smm_image_give(const struct smm_image *image, struct arch_state *state)
{
    state->cr0 = image->cr0;
    state->cr3 = image->cr3;
    state->cr4 = image->cr4;
    state->rflags = image->rflags;
    state->efer = image->efer;
    state->rip = image->rip;
    state->dr[6] = image->dr6;
    state->dr[7] = image->dr7;
    state->gdtr = (struct arch_table){ image->gdtr.base, (uint16_t)image->gdtr.limit };
    state->idtr = (struct arch_table){ image->idtr.base, (uint16_t)image->idtr.limit };
    state->cpl = image->kept & SMM_KEPT_CPL;
    state->blocking_by_nmi = image->kept & SMM_KEPT_NMI;
    for (unsigned n = 0; n < SMM_SEGS; n++)
        *seg_of(state, n) = (struct arch_seg){ .selector = (uint16_t)image->seg[n].selector,
                                               .ar = (uint32_t)image->seg[n].ar,
                                               .limit = (uint32_t)image->seg[n].limit,
                                               .base = image->seg[n].base };
    for (unsigned i = 0; i < ARCH_GPRS; i++)
        state->gpr[i] = image->gpr[i];
    for (unsigned i = 0; i < 4; i++)
        state->pdpte[i] = image->pdpte[i];
}

void smm_image_save(const struct smm_image *image, bool map64, const struct mem_port *mem,
                    uint64_t base)
{
    const struct row *row;

    for (unsigned i = 0; (row = row_at(map64, i)); i++) {
        const uint64_t *value = (const void *)((const unsigned char *)image + row->at);

        mem_port_write(mem, base + row->field.offset, *value >> row->field.shift, row->field.size);
    }
}

void smm_image_load(struct smm_image *image, bool map64, const struct mem_port *mem, uint64_t base)
{
    const struct row *row;

    *image = (struct smm_image){ .cr0 = 0 };
    for (unsigned i = 0; (row = row_at(map64, i)); i++) {
        uint64_t *value = (void *)((unsigned char *)image + row->at);

        *value |= mem_port_read(mem, base + row->field.offset, row->field.size) << row->field.shift;
    }
}
