/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unicorn behind its wall. What was measured of Unicorn, and why things are done the way they
 * are here, is in docs/unicorn.md. */
#include "engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unicorn/unicorn.h>

#include "hidden.h"

/* A Unicorn context that holds one hidden state. */
struct context {
    struct hidden hidden;
    uc_context *saved; /* NULL: this slot is free */
};

enum {
    CONTEXTS = 64,
    GPRS_AND_RFLAGS = ARCH_GPRS + 1,
    XMMS = 16,
    STS = 8,
};

static const uint32_t IA32_EFER = 0xc0000080;

/* x87, MMX and SSE state. It belongs to no hidden state: it is carried from one to the next. */
struct fpu {
    uint64_t xmm[XMMS][2];
    uint8_t st[STS][16]; /* 10 bytes each are used */
    uint64_t fip, fdp;
    uint32_t mxcsr;
    uint16_t fpcw, fpsw, fptag, fcs, fds, fop;
};

struct intercept {
    uint64_t linear;
    uc_hook hook;
};

/* What a TLB fill asks. */
enum fill_mode {
    FILL_GUEST,    /* ops->translate */
    FILL_STUB,     /* the stub's page and nothing else */
    FILL_PHYSICAL, /* linear addresses are physical */
};

struct engine {
    uc_engine *uc;
    struct memory *memory;
    const struct engine_ops *ops;
    void *ctx;

    /* Physical addresses after RAM: the stub's page, and one for all where nothing answers. */
    uint8_t *stub_page;
    uint64_t stub_phys;
    uint64_t void_phys;
    enum fill_mode fill;

    uc_context *long_mode; /* flat 64-bit mode at CPL 0 */
    uc_context *protected; /* flat 32-bit protected mode at CPL 0 */
    struct context contexts[CONTEXTS];
    unsigned oldest; /* the slot to be taken next */
    struct fpu fpu;

    /* What Unicorn holds. */
    struct arch_state loaded;
    struct hidden hidden;
    bool hidden_loaded; /* else an exception left traces in Unicorn, or nothing is loaded yet */
    bool near_loaded;   /* selectors, FS and GS base and descriptor tables */
    bool gprs_loaded;   /* general registers and RFLAGS */
    bool fpu_saved;     /* nothing ran since FPU was read */

    struct engine_exit exit; /* what a hook found out */
    bool stepping;

    struct intercept *intercepts; /* ascending addresses */
    size_t intercept_count;
    size_t intercept_room;
    bool out_of_memory;
};

static const int gpr_ids[ARCH_GPRS] = {
    UC_X86_REG_RAX, UC_X86_REG_RCX, UC_X86_REG_RDX, UC_X86_REG_RBX, UC_X86_REG_RSP, UC_X86_REG_RBP,
    UC_X86_REG_RSI, UC_X86_REG_RDI, UC_X86_REG_R8,  UC_X86_REG_R9,  UC_X86_REG_R10, UC_X86_REG_R11,
    UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14, UC_X86_REG_R15,
};

/* A bug here or in Unicorn: every register and range that is asked for exists. */
static void must(uc_err err)
{
    assert(err == UC_ERR_OK);
    (void)err;
}

/*
 * Hooks
 */

static bool fill_guest(struct engine *engine, uint64_t linear, enum arch_access access,
                       uc_tlb_entry *entry)
{
    struct arch_translation t;
    struct arch_fault fault = engine->ops->translate(engine->ctx, linear, access, &t);

    if (fault.raised) {
        engine->exit = (struct engine_exit){ .kind = ENGINE_FAULT, .fault = fault };
        return false;
    }
    /* A page with code may be one that data accesses at the same privilege must not touch
     * (SMAP), so a fetch says nothing of them; and a data access says nothing of fetches, so
     * that every page with code is seen here before it is translated. */
    if (access == ARCH_FETCH) {
        entry->perms = UC_PROT_EXEC;
        memory_mark_code(engine->memory, t.phys);
        if (!t.user || engine->loaded.cpl == 3)
            entry->perms |= UC_PROT_READ | (t.write ? UC_PROT_WRITE : 0);
    } else {
        entry->perms = UC_PROT_READ | (t.write ? UC_PROT_WRITE : 0);
    }
    entry->paddr = t.phys < memory_size(engine->memory) ? t.phys : engine->void_phys;
    return true;
}

static bool on_tlb_fill(uc_engine *uc, uint64_t linear, uc_mem_type type, uc_tlb_entry *entry,
                        void *ctx)
{
    struct engine *engine = ctx;
    enum arch_access access = type == UC_MEM_FETCH   ? ARCH_FETCH
                              : type == UC_MEM_WRITE ? ARCH_WRITE
                                                     : ARCH_READ;

    (void)uc;
    switch (engine->fill) {
    case FILL_GUEST:
        return fill_guest(engine, linear, access, entry);
    case FILL_STUB:
        entry->paddr = engine->stub_phys;
        entry->perms = linear == STUB_CODE ? UC_PROT_EXEC : UC_PROT_READ | UC_PROT_WRITE;
        return linear == STUB_CODE || linear == STUB_DATA;
    case FILL_PHYSICAL:
        entry->paddr = linear;
        entry->perms = UC_PROT_EXEC;
        return linear < memory_size(engine->memory);
    }
    return false;
}

static void on_edge(uc_engine *uc, uc_tb *current, uc_tb *previous, void *ctx)
{
    struct engine *engine = ctx;

    (void)uc;
    (void)previous;
    if (engine->fill == FILL_GUEST && engine->ops->code_changed)
        engine->ops->code_changed(engine->ctx, current->pc, current->size);
}

/* An exception that is no page fault: Unicorn believes from here on that it is being delivered,
 * until a clean context is restored. */
static void on_exception(uc_engine *uc, uint32_t vector, void *ctx)
{
    struct engine *engine = ctx;
    bool trap = vector == ARCH_DB || vector == ARCH_BP || vector == ARCH_OF;

    engine->exit.kind = trap ? ENGINE_TRAP : ENGINE_FAULT;
    engine->exit.fault = arch_fault((enum arch_vector)vector);
    switch (vector) {
    case ARCH_DF:
    case ARCH_TS:
    case ARCH_NP:
    case ARCH_SS_FAULT:
    case ARCH_GP:
    case ARCH_AC:
        engine->exit.fault.has_error = true;
        break;
    default:
        break;
    }
    if (vector != ARCH_DB)
        engine->hidden_loaded = false;
    uc_emu_stop(uc);
}

static bool on_invalid(uc_engine *uc, void *ctx)
{
    struct engine *engine = ctx;

    (void)uc;
    engine->exit.kind = ENGINE_INVALID;
    return false;
}

static uint64_t on_void_read(uc_engine *uc, uint64_t offset, unsigned size, void *ctx)
{
    (void)uc;
    (void)offset;
    (void)size;
    (void)ctx;
    return UINT64_MAX;
}

static void on_void_write(uc_engine *uc, uint64_t offset, unsigned size, uint64_t value, void *ctx)
{
    (void)uc;
    (void)offset;
    (void)size;
    (void)value;
    (void)ctx;
}

/* Models wrote to translated code: Unicorn drops it by linear address only, so linear is made
 * physical for as long as that takes. */
static void on_code_written(void *ctx, uint64_t phys, size_t size)
{
    struct engine *engine = ctx;
    enum fill_mode fill = engine->fill;

    engine->fill = FILL_PHYSICAL;
    must(uc_ctl_flush_tlb(engine->uc));
    must(uc_ctl_remove_cache(engine->uc, phys, phys + size));
    must(uc_ctl_flush_tlb(engine->uc));
    engine->fill = fill;
}

/*
 * Registers
 */

static void write_reg(struct engine *engine, int id, uint64_t value)
{
    must(uc_reg_write(engine->uc, id, &value));
}

static void write_msr(struct engine *engine, uint32_t index, uint64_t value)
{
    uc_x86_msr msr = { .rid = index, .value = value };

    must(uc_reg_write(engine->uc, UC_X86_REG_MSR, &msr));
}

static void write_table(struct engine *engine, int id, uint16_t selector, uint64_t base,
                        uint32_t limit, uint32_t flags)
{
    uc_x86_mmr mmr = { .selector = selector, .base = base, .limit = limit, .flags = flags };

    must(uc_reg_write(engine->uc, id, &mmr));
}

/* Access rights where Unicorn wants them: as in the upper half of a descriptor. */
static uint32_t seg_flags(const struct arch_seg *seg)
{
    return (seg->ar & 0xf0ff) << 8;
}

struct batch {
    int ids[XMMS + STS + 16];
    void *values[XMMS + STS + 16];
    int count;
};

static void batch_add(struct batch *batch, int id, void *value)
{
    batch->ids[batch->count] = id;
    batch->values[batch->count++] = value;
}

static struct batch fpu_batch(struct fpu *fpu)
{
    struct batch batch = { .count = 0 };

    /* the stack pointer in FPSW first: ST(i) are relative to it */
    batch_add(&batch, UC_X86_REG_FPSW, &fpu->fpsw);
    batch_add(&batch, UC_X86_REG_FPCW, &fpu->fpcw);
    for (int i = 0; i < STS; i++)
        batch_add(&batch, UC_X86_REG_ST0 + i, fpu->st[i]);
    batch_add(&batch, UC_X86_REG_FPTAG, &fpu->fptag);
    batch_add(&batch, UC_X86_REG_FIP, &fpu->fip);
    batch_add(&batch, UC_X86_REG_FCS, &fpu->fcs);
    batch_add(&batch, UC_X86_REG_FDP, &fpu->fdp);
    batch_add(&batch, UC_X86_REG_FDS, &fpu->fds);
    batch_add(&batch, UC_X86_REG_FOP, &fpu->fop);
    batch_add(&batch, UC_X86_REG_MXCSR, &fpu->mxcsr);
    for (int i = 0; i < XMMS; i++)
        batch_add(&batch, UC_X86_REG_XMM0 + i, fpu->xmm[i]);
    return batch;
}

static void fpu_save(struct engine *engine)
{
    struct batch batch = fpu_batch(&engine->fpu);

    if (!engine->fpu_saved)
        must(uc_reg_read_batch(engine->uc, batch.ids, batch.values, batch.count));
    engine->fpu_saved = true;
}

static void fpu_restore(struct engine *engine)
{
    struct batch batch = fpu_batch(&engine->fpu);

    must(uc_reg_write_batch(engine->uc, batch.ids, batch.values, batch.count));
}

static struct batch gpr_batch(struct arch_state *state)
{
    struct batch batch = { .count = 0 };

    for (int i = 0; i < ARCH_GPRS; i++)
        batch_add(&batch, gpr_ids[i], &state->gpr[i]);
    batch_add(&batch, UC_X86_REG_RFLAGS, &state->rflags);
    return batch;
}

/*
 * Contexts: one for each hidden state that was ever loaded
 */

/* Loads a selector into FS or GS through the stub's flat data descriptor, which a descriptor
 * table that starts in the right place puts at the selector's index. */
static void load_fs_gs(struct engine *engine, int id, uint16_t selector)
{
    uint64_t table = STUB_FLAT_DATA - (selector & ~7u);

    write_table(engine, selector & 4 ? UC_X86_REG_LDTR : UC_X86_REG_GDTR, 0, table, 0xffff,
                ARCH_AR_P << 8);
    must(uc_reg_write(engine->uc, id, &selector));
}

/* Leaves Unicorn in hidden state WANT. */
static bool build(struct engine *engine, const struct hidden *want)
{
    struct stub stub;
    uc_err err;

    hidden_stub(want, &stub);
    memcpy(engine->stub_page, stub.page, STUB_SIZE);
    must(uc_context_restore(engine->uc,
                            want->efer & EFER_LMA ? engine->long_mode : engine->protected));
    engine->fill = FILL_STUB;
    must(uc_ctl_flush_tlb(engine->uc));
    if (!want->v86) {
        load_fs_gs(engine, UC_X86_REG_FS, want->fs);
        load_fs_gs(engine, UC_X86_REG_GS, want->gs);
    }
    write_table(engine, UC_X86_REG_GDTR, 0, STUB_GDT, STUB_GDT_LIMIT, 0);
    write_reg(engine, UC_X86_REG_RAX, stub.rax);
    write_reg(engine, UC_X86_REG_RCX, stub.rcx);
    write_reg(engine, UC_X86_REG_RDX, stub.rdx);
    write_reg(engine, UC_X86_REG_RBX, stub.rbx);
    write_reg(engine, UC_X86_REG_RSP, stub.rsp);
    /* where it lands is refused, and that ends the run */
    err = uc_emu_start(engine->uc, stub.entry, 0, 0, 0);
    engine->fill = FILL_GUEST;
    must(uc_ctl_flush_tlb(engine->uc));
    write_reg(engine, UC_X86_REG_CR4, want->cr4);
    write_msr(engine, IA32_EFER, want->efer);
    write_reg(engine, UC_X86_REG_CR0, want->cr0);
    return err == UC_ERR_EXCEPTION && engine->exit.kind == ENGINE_STOPPED;
}

static struct context *find_context(struct engine *engine, const struct hidden *want)
{
    for (unsigned i = 0; i < CONTEXTS && engine->contexts[i].saved; i++) {
        if (hidden_equal(&engine->contexts[i].hidden, want))
            return &engine->contexts[i];
    }
    return NULL;
}

static enum ptsim_status load_hidden(struct engine *engine, const struct hidden *want)
{
    struct context *context = find_context(engine, want);

    fpu_save(engine);
    if (context) {
        must(uc_context_restore(engine->uc, context->saved));
    } else {
        if (!build(engine, want))
            return PTSIM_INVALID;
        context = &engine->contexts[engine->oldest];
        engine->oldest = (engine->oldest + 1) % CONTEXTS;
        if (!context->saved && uc_context_alloc(engine->uc, &context->saved) != UC_ERR_OK)
            return PTSIM_NO_SPACE;
        context->hidden = *want;
        must(uc_context_save(engine->uc, context->saved));
    }
    fpu_restore(engine);
    engine->hidden = *want;
    engine->hidden_loaded = true;
    engine->near_loaded = false;
    engine->gprs_loaded = false;
    return PTSIM_OK;
}

/*
 * Loading, saving and running
 */

static bool same_seg_selectors(const struct arch_state *a, const struct arch_state *b)
{
    for (unsigned i = ARCH_ES; i <= ARCH_DS; i++) {
        if (a->sreg[i].selector != b->sreg[i].selector)
            return false;
    }
    return true;
}

static bool same_seg(const struct arch_seg *a, const struct arch_seg *b)
{
    return a->selector == b->selector && a->base == b->base && a->limit == b->limit &&
           a->ar == b->ar;
}

static bool same_table(const struct arch_table *a, const struct arch_table *b)
{
    return a->base == b->base && a->limit == b->limit;
}

static bool same_near(const struct arch_state *a, const struct arch_state *b)
{
    return same_seg_selectors(a, b) && a->sreg[ARCH_FS].base == b->sreg[ARCH_FS].base &&
           a->sreg[ARCH_GS].base == b->sreg[ARCH_GS].base && same_table(&a->gdtr, &b->gdtr) &&
           same_table(&a->idtr, &b->idtr) && same_seg(&a->ldtr, &b->ldtr) &&
           same_seg(&a->tr, &b->tr);
}

/* What Unicorn's interface reaches beside the general registers. Of CS, SS, DS and ES that is
 * the selector alone. */
static void load_near(struct engine *engine, const struct arch_state *state)
{
    write_reg(engine, UC_X86_REG_ES, state->sreg[ARCH_ES].selector);
    write_reg(engine, UC_X86_REG_CS, state->sreg[ARCH_CS].selector);
    write_reg(engine, UC_X86_REG_SS, state->sreg[ARCH_SS].selector);
    write_reg(engine, UC_X86_REG_DS, state->sreg[ARCH_DS].selector);
    write_reg(engine, UC_X86_REG_FS_BASE, state->sreg[ARCH_FS].base);
    write_reg(engine, UC_X86_REG_GS_BASE, state->sreg[ARCH_GS].base);
    write_table(engine, UC_X86_REG_GDTR, 0, state->gdtr.base, state->gdtr.limit, 0);
    write_table(engine, UC_X86_REG_IDTR, 0, state->idtr.base, state->idtr.limit, 0);
    write_table(engine, UC_X86_REG_LDTR, state->ldtr.selector, state->ldtr.base, state->ldtr.limit,
                seg_flags(&state->ldtr));
    write_table(engine, UC_X86_REG_TR, state->tr.selector, state->tr.base, state->tr.limit,
                seg_flags(&state->tr));
}

enum ptsim_status engine_load(struct engine *engine, const struct arch_state *state)
{
    struct arch_state *loaded = &engine->loaded;
    struct hidden want;
    enum ptsim_status status = hidden_of(state, &want);

    if (status)
        return status;
    if (!engine->hidden_loaded || !hidden_equal(&engine->hidden, &want)) {
        engine->hidden_loaded = false;
        status = load_hidden(engine, &want);
        if (status)
            return status;
    }
    if (!engine->near_loaded || !same_near(loaded, state))
        load_near(engine, state);
    engine->near_loaded = true;
    if (!engine->gprs_loaded || memcmp(loaded->gpr, state->gpr, sizeof(state->gpr)) ||
        loaded->rflags != state->rflags) {
        struct arch_state copy = *state;
        struct batch batch = gpr_batch(&copy);

        must(uc_reg_write_batch(engine->uc, batch.ids, batch.values, batch.count));
    }
    engine->gprs_loaded = true;
    *loaded = *state;
    return PTSIM_OK;
}

void engine_save(struct engine *engine, struct arch_state *state)
{
    struct arch_state *loaded = &engine->loaded;

    if (!engine->gprs_loaded) {
        struct batch batch = gpr_batch(loaded);

        batch_add(&batch, UC_X86_REG_RIP, &loaded->rip);
        batch_add(&batch, UC_X86_REG_FS_BASE, &loaded->sreg[ARCH_FS].base);
        batch_add(&batch, UC_X86_REG_GS_BASE, &loaded->sreg[ARCH_GS].base);
        must(uc_reg_read_batch(engine->uc, batch.ids, batch.values, batch.count));
        engine->gprs_loaded = true;
    }
    memcpy(state->gpr, loaded->gpr, sizeof(state->gpr));
    state->rip = loaded->rip;
    state->rflags = loaded->rflags;
    state->sreg[ARCH_FS].base = loaded->sreg[ARCH_FS].base;
    state->sreg[ARCH_GS].base = loaded->sreg[ARCH_GS].base;
}

struct engine_exit engine_run(struct engine *engine)
{
    uc_err err;

    if (engine->out_of_memory)
        return (struct engine_exit){ .kind = ENGINE_ERROR, .error = "out of memory" };
    engine->exit = (struct engine_exit){ .kind = ENGINE_STOPPED };
    engine->gprs_loaded = false;
    engine->fpu_saved = false;
    err = uc_emu_start(engine->uc, engine->loaded.rip, 0, 0, 0);
    if (err == UC_ERR_OK || (err == UC_ERR_EXCEPTION && engine->exit.kind == ENGINE_FAULT) ||
        (err == UC_ERR_INSN_INVALID && engine->exit.kind == ENGINE_INVALID))
        return engine->exit;
    return (struct engine_exit){ .kind = ENGINE_ERROR, .error = uc_strerror(err) };
}

/* With RFLAGS.TF set every translation block is one instruction long and ends with #DB; such
 * blocks are kept apart from all others. */
struct engine_exit engine_step(struct engine *engine)
{
    uint64_t tf = engine->loaded.rflags & RFLAGS_TF;
    struct engine_exit exit;

    engine->stepping = true;
    write_reg(engine, UC_X86_REG_RFLAGS, engine->loaded.rflags | RFLAGS_TF);
    exit = engine_run(engine);
    engine->stepping = false;
    engine_save(engine, &engine->loaded);
    engine->loaded.rflags = (engine->loaded.rflags & ~(uint64_t)RFLAGS_TF) | tf;
    write_reg(engine, UC_X86_REG_RFLAGS, engine->loaded.rflags);
    if (exit.kind == ENGINE_TRAP && exit.fault.vector == ARCH_DB)
        exit = (struct engine_exit){ .kind = ENGINE_STOPPED };
    return exit;
}

void engine_stop(struct engine *engine)
{
    uc_emu_stop(engine->uc);
}

void engine_flush_tlb(struct engine *engine)
{
    must(uc_ctl_flush_tlb(engine->uc));
}

uint64_t engine_gpr(struct engine *engine, enum arch_gpr gpr)
{
    uint64_t value;

    must(uc_reg_read(engine->uc, gpr_ids[gpr], &value));
    return value;
}

uint64_t engine_rflags(struct engine *engine)
{
    uint64_t value;

    must(uc_reg_read(engine->uc, UC_X86_REG_RFLAGS, &value));
    return value;
}

/*
 * Intercepts
 */

/* The first intercept at LINEAR or above. */
static size_t find_intercept(const struct engine *engine, uint64_t linear)
{
    size_t low = 0;
    size_t high = engine->intercept_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (engine->intercepts[middle].linear < linear)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_intercept(const struct engine *engine, uint64_t linear)
{
    size_t i = find_intercept(engine, linear);

    return i < engine->intercept_count && engine->intercepts[i].linear == linear;
}

static bool room_for_intercept(struct engine *engine)
{
    size_t room = engine->intercept_room ? engine->intercept_room * 2 : 64;
    struct intercept *grown;

    if (engine->intercept_count < engine->intercept_room)
        return true;
    grown = realloc(engine->intercepts, room * sizeof(*grown));
    if (!grown)
        return false;
    engine->intercepts = grown;
    engine->intercept_room = room;
    return true;
}

/* Unicorn calls this also for hooks that were deleted, from code translated before. */
static void on_intercept(uc_engine *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct engine *engine = ctx;

    (void)size;
    if (!engine->stepping && is_intercept(engine, linear))
        uc_emu_stop(uc);
}

bool engine_intercept(struct engine *engine, uint64_t linear)
{
    size_t i = find_intercept(engine, linear);
    uc_hook hook;

    if (is_intercept(engine, linear))
        return false;
    if (!room_for_intercept(engine) ||
        uc_hook_add(engine->uc, &hook, UC_HOOK_CODE, (void *)on_intercept, engine, linear,
                    linear) != UC_ERR_OK) {
        engine->out_of_memory = true;
        return true;
    }
    memmove(&engine->intercepts[i + 1], &engine->intercepts[i],
            (engine->intercept_count - i) * sizeof(engine->intercepts[0]));
    engine->intercepts[i] = (struct intercept){ .linear = linear, .hook = hook };
    engine->intercept_count++;
    must(uc_ctl_remove_cache(engine->uc, linear, linear + 1));
    return true;
}

void engine_forget(struct engine *engine, uint64_t linear)
{
    size_t i = find_intercept(engine, linear);

    if (!is_intercept(engine, linear))
        return;
    must(uc_hook_del(engine->uc, engine->intercepts[i].hook));
    engine->intercept_count--;
    memmove(&engine->intercepts[i], &engine->intercepts[i + 1],
            (engine->intercept_count - i) * sizeof(engine->intercepts[0]));
}

/*
 * Making and freeing
 */

/* RAM, and after it the stub's page and the one for all physical addresses without RAM. */
static uc_err map_memory(struct engine *engine)
{
    uint64_t size = memory_size(engine->memory);
    uc_err err = uc_mem_map_ptr(engine->uc, 0, size, UC_PROT_ALL, memory_page(engine->memory, 0));

    engine->stub_phys = size;
    engine->void_phys = size + STUB_SIZE;
    if (!err)
        err = uc_mem_map_ptr(engine->uc, engine->stub_phys, STUB_SIZE, UC_PROT_ALL,
                             engine->stub_page);
    if (!err)
        err = uc_mmio_map(engine->uc, engine->void_phys, MEMORY_PAGE_SIZE, on_void_read, NULL,
                          on_void_write, NULL);
    return err;
}

static uc_err add_hook(struct engine *engine, int type, void *fn)
{
    uc_hook hook;

    return uc_hook_add(engine->uc, &hook, type, fn, engine, (uint64_t)1, (uint64_t)0);
}

static uc_err add_hooks(struct engine *engine)
{
    uc_engine *uc = engine->uc;
    uc_hook hook;
    uc_err err = UC_ERR_OK;

    /* not where the stub's code is */
    if (engine->ops->block)
        err = uc_hook_add(uc, &hook, UC_HOOK_BLOCK, (void *)engine->ops->block, engine->ctx,
                          (uint64_t)0, STUB_CODE - 1);
    if (!err)
        err = add_hook(engine, UC_HOOK_TLB_FILL, (void *)on_tlb_fill);
    if (!err)
        err = add_hook(engine, UC_HOOK_EDGE_GENERATED, (void *)on_edge);
    if (!err)
        err = add_hook(engine, UC_HOOK_INTR, (void *)on_exception);
    if (!err)
        err = add_hook(engine, UC_HOOK_INSN_INVALID, (void *)on_invalid);
    return err;
}

/* Unicorn starts in long mode with paging off and everything flat. */
static uc_err capture_start_contexts(struct engine *engine)
{
    uc_engine *uc = engine->uc;
    uc_err err = uc_context_alloc(uc, &engine->long_mode);

    if (err)
        return err;
    err = uc_context_alloc(uc, &engine->protected);
    if (err)
        return err;
    write_reg(engine, UC_X86_REG_CR4, CR4_PAE);
    write_reg(engine, UC_X86_REG_CR0, CR0_PE | CR0_PG);
    err = uc_context_save(uc, engine->long_mode);
    if (err)
        return err;
    write_reg(engine, UC_X86_REG_CR0, CR0_PE);
    write_msr(engine, IA32_EFER, 0);
    return uc_context_save(uc, engine->protected);
}

static uc_err start(struct engine *engine)
{
    uc_err err = uc_open(UC_ARCH_X86, UC_MODE_64, &engine->uc);

    if (!err)
        err = uc_ctl_exits_enable(engine->uc);
    if (!err)
        err = map_memory(engine);
    if (!err)
        err = uc_ctl_tlb_mode(engine->uc, UC_TLB_VIRTUAL);
    if (!err)
        err = add_hooks(engine);
    if (!err)
        err = capture_start_contexts(engine);
    return err;
}

struct engine *engine_new(struct memory *memory, const struct engine_ops *ops, void *ctx)
{
    struct engine *engine = calloc(1, sizeof(*engine));

    if (!engine)
        return NULL;
    engine->memory = memory;
    engine->ops = ops;
    engine->ctx = ctx;
    engine->stub_page = aligned_alloc(STUB_SIZE, STUB_SIZE);
    if (!engine->stub_page || start(engine) != UC_ERR_OK) {
        engine_free(engine);
        return NULL;
    }
    memory_on_code_written(memory, on_code_written, engine);
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    memory_on_code_written(engine->memory, NULL, NULL);
    if (engine->long_mode)
        uc_context_free(engine->long_mode);
    if (engine->protected)
        uc_context_free(engine->protected);
    for (unsigned i = 0; i < CONTEXTS; i++) {
        if (engine->contexts[i].saved)
            uc_context_free(engine->contexts[i].saved);
    }
    if (engine->uc)
        uc_close(engine->uc);
    free(engine->stub_page);
    free(engine->intercepts);
    free(engine);
}
