/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unicorn behind its wall. What was measured of Unicorn, and why things are done the way they
 * are here, is in docs/unicorn.md. */
#include "engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "code_map.h"
#include "hidden.h"
#include "intercepts.h"

/* A Unicorn context that holds one hidden state. */
struct context {
    struct hidden hidden;
    uc_context *saved; /* NULL: this slot is free */
};

enum {
    CONTEXTS = 64,
    XMMS = 16,
    STS = 8,
    PROBE_PAGES = 16,
    MAX_INSN = 15,

    /* Translations: how much room Unicorn has for them; when they are all dropped, which it must
     * never come to do by itself (it would leave its lists of them dangling); and what one takes
     * at most, going by how many instructions it is of. */
    TRANSLATIONS_ROOM = 512 << 20,
    TRANSLATIONS_LIMIT = TRANSLATIONS_ROOM / 2,
    TRANSLATION_MAX = 72 << 10,
    TRANSLATION_SIZE = 512,
    TRANSLATION_INSN = 384,
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

/* What a TLB fill asks. */
enum fill_mode {
    FILL_GUEST,    /* ops->translate */
    FILL_STUB,     /* the stub's page and nothing else */
    FILL_PHYSICAL, /* linear addresses are physical */
    FILL_PROBE,    /* the stub's code; data pages go where every access is told of */
};

/* The last translation that was refused. Not every one ends the run: Unicorn also probes. */
struct refused {
    struct engine_exit exit; /* how the run ends if this ended it */
    bool ended_run;
    uint64_t linear;
    enum arch_access access;
};

/* One instruction run for the addresses that it accesses. */
struct probe {
    uint64_t pages[PROBE_PAGES]; /* linear addresses of those accessed, in order */
    unsigned count;
    uint64_t moved; /* by how much the instruction is away from its place */
    bool found;
    uint64_t address;
};

struct engine {
    uc_engine *uc;
    struct memory *memory;
    const struct engine_ops *ops;
    void *ctx;

    /* Physical addresses after RAM: the stub's page, one for all where nothing answers, and
     * those that a probed instruction accesses. */
    uint8_t *stub_page;
    uint64_t stub_phys;
    uint64_t void_phys;
    uint64_t probe_phys;
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

    struct engine_exit exit; /* what an exception or invalid opcode was */
    struct refused refused;
    struct probe probe;
    uc_context *before_probe;
    struct code_map *code;
    uint32_t translated; /* bytes of translations, at most */
    bool stopped;        /* the run ends because it was asked to */
    bool stepping;

    struct intercepts intercepts;
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

static void code_changed(struct engine *engine, uint64_t linear, uint32_t size)
{
    if (engine->ops->code_changed)
        engine->ops->code_changed(engine->ctx, linear, size);
}

/* The page at LINEAR is about to be executed. Where it is another one than before, Unicorn
 * finds the right translations by itself, without a word. A block of the page before may run on
 * into this one. */
static void execute_page(struct engine *engine, uint64_t linear, uint64_t phys)
{
    memory_mark_code(engine->memory, phys);
    switch (code_map_execute(engine->code, linear, phys)) {
    case CODE_MAP_NONE:
    case CODE_MAP_NEW:
        break;
    case CODE_MAP_OTHER:
        if (linear >= MEMORY_PAGE_SIZE)
            code_changed(engine, linear - MEMORY_PAGE_SIZE, 2 * MEMORY_PAGE_SIZE);
        else
            code_changed(engine, linear, MEMORY_PAGE_SIZE);
        break;
    case CODE_MAP_NO_MEM:
        engine->out_of_memory = true;
        break;
    }
}

static bool refuse(struct engine *engine, uint64_t linear, enum arch_access access,
                   const struct engine_exit *exit)
{
    engine->refused = (struct refused){ .exit = *exit, .linear = linear, .access = access };
    return false;
}

static bool fill_guest(struct engine *engine, uint64_t linear, enum arch_access access,
                       uc_tlb_entry *entry)
{
    static const struct engine_exit last_page = {
        .kind = ENGINE_ERROR,
        .error = "code in the last page of the linear address space is not supported",
    };
    /* FF FF is no instruction */
    static const struct engine_exit all_ones = { .kind = ENGINE_INVALID };
    struct engine_exit exit = { .kind = ENGINE_FAULT };
    struct arch_translation t;

    exit.fault = engine->ops->translate(engine->ctx, linear, access, &t);
    if (exit.fault.raised)
        return refuse(engine, linear, access, &exit);
    if (access == ARCH_FETCH && linear == STUB_CODE)
        return refuse(engine, linear, access, &last_page);
    if (access == ARCH_FETCH && t.phys >= memory_size(engine->memory))
        return refuse(engine, linear, access, &all_ones);
    /* With SMAP a page with code may be one that data accesses at the same privilege must not
     * touch, so a fetch says nothing of them; and a data access says nothing of fetches, so that
     * every page with code is seen here before it is translated. */
    entry->perms = access == ARCH_FETCH ? UC_PROT_EXEC : 0;
    if (access != ARCH_FETCH || !t.user || engine->loaded.cpl == 3 ||
        !(engine->loaded.cr4 & CR4_SMAP))
        entry->perms |= UC_PROT_READ | (t.write ? UC_PROT_WRITE : 0);
    if (access == ARCH_FETCH)
        execute_page(engine, linear, t.phys);
    if (entry->perms & UC_PROT_WRITE)
        code_map_write(engine->code, linear, t.phys);
    entry->paddr = t.phys < memory_size(engine->memory) ? t.phys : engine->void_phys;
    return true;
}

/* Data pages give one sort of access at a time, so that Unicorn asks for the other too. */
static bool fill_probe(struct engine *engine, uint64_t linear, enum arch_access access,
                       uc_tlb_entry *entry)
{
    struct probe *probe = &engine->probe;

    if (access == ARCH_FETCH) {
        entry->paddr = engine->stub_phys;
        entry->perms = UC_PROT_EXEC;
        return linear == STUB_CODE;
    }
    if (probe->count == PROBE_PAGES)
        return false;
    entry->paddr = engine->probe_phys + probe->count * MEMORY_PAGE_SIZE;
    entry->perms = access == ARCH_WRITE ? UC_PROT_WRITE : UC_PROT_READ;
    probe->pages[probe->count++] = linear;
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
    linear &= ~(MEMORY_PAGE_SIZE - 1);
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
    case FILL_PROBE:
        return fill_probe(engine, linear, access, entry);
    }
    return false;
}

/* Whether SIZE bytes at LINEAR are in the page that was refused, and from where on. */
static bool probe_at(struct engine *engine, uint64_t linear, uint64_t size)
{
    uint64_t page = engine->refused.linear;

    engine->probe.address = linear - page < MEMORY_PAGE_SIZE ? linear : page;
    return engine->probe.address - linear < size;
}

/* The probed instruction accesses physical address PHYS. A relative address moved with it. */
static bool on_probe(uc_engine *uc, uc_mem_type type, uint64_t phys, int size, int64_t value,
                     void *ctx)
{
    struct engine *engine = ctx;
    struct probe *probe = &engine->probe;
    enum arch_access access = type == UC_MEM_WRITE_PROT ? ARCH_WRITE : ARCH_READ;
    uint64_t at = phys - engine->probe_phys;
    uint64_t linear = probe->pages[at / MEMORY_PAGE_SIZE] | at % MEMORY_PAGE_SIZE;

    (void)uc;
    (void)value;
    if (!probe->found && access == engine->refused.access)
        probe->found = probe_at(engine, linear, (uint64_t)size) ||
                       probe_at(engine, linear - probe->moved, (uint64_t)size);
    return !probe->found;
}

static uint32_t translation_size(uint32_t insns)
{
    uint32_t size = TRANSLATION_SIZE + TRANSLATION_INSN * insns;

    return size < TRANSLATION_MAX ? size : TRANSLATION_MAX;
}

/* A block was translated. From now on Unicorn notices writes to it at its linear address; at
 * others it does after the next TLB fill. */
static void on_edge(uc_engine *uc, uc_tb *current, uc_tb *previous, void *ctx)
{
    struct engine *engine = ctx;
    uint64_t first = current->pc & ~(MEMORY_PAGE_SIZE - 1);
    uint64_t last = (current->pc + current->size - 1) & ~(MEMORY_PAGE_SIZE - 1);
    bool alias;

    (void)previous;
    engine->translated += translation_size(current->icount);
    if (engine->fill != FILL_GUEST)
        return;
    if (engine->translated > TRANSLATIONS_LIMIT)
        uc_emu_stop(uc);
    alias = code_map_has_alias(engine->code, first);
    if (last != first)
        alias |= code_map_has_alias(engine->code, last);
    if (alias)
        must(uc_ctl_flush_tlb(uc));
    code_changed(engine, current->pc, current->size);
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
    (void)uc;
    if (vector != ARCH_DB)
        engine->hidden_loaded = false;
    engine_stop(engine);
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

void engine_finit(struct engine *engine)
{
    engine->fpu = (struct fpu){ .fpcw = 0x37f, .fptag = 0xffff, .mxcsr = 0x1f80 };
    fpu_restore(engine);
    engine->fpu_saved = true;
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
    int ids[] = {
        UC_X86_REG_RAX, UC_X86_REG_RBX, UC_X86_REG_RCX, UC_X86_REG_RDX,
        UC_X86_REG_RSI, UC_X86_REG_RDI, UC_X86_REG_RBP, UC_X86_REG_RSP,
    };
    void *values[] = {
        &stub.rax, &stub.rbx, &stub.rcx, &stub.rdx, &stub.rsi, &stub.rdi, &stub.rbp, &stub.rsp,
    };
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
    must(uc_reg_write_batch(engine->uc, ids, values, 8));
    engine->exit = (struct engine_exit){ .kind = ENGINE_STOPPED };
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

/* What Unicorn's interface reaches beside the general registers. Of CS, SS, DS and ES that is
 * the selector alone. */
static void load_near(struct engine *engine)
{
    const struct arch_state *state = &engine->loaded;

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
    bool near, gprs;

    if (status)
        return status;
    if (!engine->hidden_loaded || !hidden_equal(&engine->hidden, &want)) {
        engine->hidden_loaded = false;
        status = load_hidden(engine, &want);
        if (status)
            return status;
    }
    near = engine->near_loaded && near_equal(loaded, state);
    gprs = engine->gprs_loaded && !memcmp(loaded->gpr, state->gpr, sizeof(state->gpr)) &&
           loaded->rflags == state->rflags;
    *loaded = *state;
    if (!near)
        load_near(engine);
    if (!gprs) {
        struct batch batch = gpr_batch(loaded);

        must(uc_reg_write_batch(engine->uc, batch.ids, batch.values, batch.count));
    }
    engine->near_loaded = engine->gprs_loaded = true;
    return PTSIM_OK;
}

/* What native code changes. */
static void read_back(struct engine *engine)
{
    struct arch_state *loaded = &engine->loaded;
    struct batch batch = gpr_batch(loaded);

    if (engine->gprs_loaded)
        return;
    batch_add(&batch, UC_X86_REG_RIP, &loaded->rip);
    batch_add(&batch, UC_X86_REG_FS_BASE, &loaded->sreg[ARCH_FS].base);
    batch_add(&batch, UC_X86_REG_GS_BASE, &loaded->sreg[ARCH_GS].base);
    must(uc_reg_read_batch(engine->uc, batch.ids, batch.values, batch.count));
    engine->gprs_loaded = true;
}

void engine_save(struct engine *engine, struct arch_state *state)
{
    const struct arch_state *loaded = &engine->loaded;

    read_back(engine);
    memcpy(state->gpr, loaded->gpr, sizeof(state->gpr));
    state->rip = loaded->rip;
    state->rflags = loaded->rflags;
    state->sreg[ARCH_FS].base = loaded->sreg[ARCH_FS].base;
    state->sreg[ARCH_GS].base = loaded->sreg[ARCH_GS].base;
}

/* From RIP on, making room for translations whenever it has run out. */
static uc_err start_at(struct engine *engine, uint64_t rip)
{
    uc_err err;

    engine->stopped = false;
    do {
        if (engine->translated > TRANSLATIONS_LIMIT) {
            must(uc_ctl_flush_tb(engine->uc));
            engine->translated = 0;
        }
        err = uc_emu_start(engine->uc, rip, 0, 0, 0);
        must(uc_reg_read(engine->uc, UC_X86_REG_RIP, &rip));
    } while (err == UC_ERR_OK && engine->translated > TRANSLATIONS_LIMIT && !engine->stopped);
    return err;
}

static struct engine_exit run_native(struct engine *engine)
{
    uc_err err;

    if (engine->out_of_memory)
        return (struct engine_exit){ .kind = ENGINE_ERROR, .error = "out of memory" };
    engine->exit = (struct engine_exit){ .kind = ENGINE_STOPPED };
    engine->refused = (struct refused){ .exit.kind = ENGINE_STOPPED };
    engine->gprs_loaded = false;
    engine->fpu_saved = false;
    err = start_at(engine, engine->loaded.rip);
    if (err == UC_ERR_OK || (err == UC_ERR_INSN_INVALID && engine->exit.kind == ENGINE_INVALID))
        return engine->exit;
    if (err == UC_ERR_EXCEPTION && engine->refused.exit.kind != ENGINE_STOPPED) {
        engine->refused.ended_run = true;
        return engine->refused.exit;
    }
    return (struct engine_exit){ .kind = ENGINE_ERROR, .error = uc_strerror(err) };
}

/* The linear address of the loaded state's next instruction. */
static uint64_t linear_ip(const struct engine *engine)
{
    return arch_linear_ip(&engine->loaded, engine->loaded.rip);
}

/* The bytes of code at LINEAR as the TLB shows them; how many there are, at most MAX_INSN. */
static size_t code_bytes(struct engine *engine, uint64_t linear, uint8_t *bytes)
{
    struct mem_port port = memory_port(engine->memory);
    size_t size;

    for (size = 0; size < MAX_INSN; size++) {
        uint64_t offset = (linear + size) % MEMORY_PAGE_SIZE;
        uint64_t phys;

        if (!code_map_find(engine->code, linear + size - offset, &phys))
            break;
        port.read(port.ctx, phys + offset, &bytes[size], 1);
    }
    return size;
}

/* One instruction; DONE is whether it was executed. With RFLAGS.TF set every translation block
 * is one instruction long and ends with #DB, and such blocks are kept apart from all others. */
static struct engine_exit step_native(struct engine *engine, bool *done)
{
    struct arch_state *loaded = &engine->loaded;
    uint64_t tf = loaded->rflags & RFLAGS_TF;
    struct engine_exit exit;

    write_reg(engine, UC_X86_REG_RFLAGS, loaded->rflags | RFLAGS_TF);
    exit = run_native(engine);
    read_back(engine);
    loaded->rflags = (loaded->rflags & ~(uint64_t)RFLAGS_TF) | tf;
    write_reg(engine, UC_X86_REG_RFLAGS, loaded->rflags);
    *done = exit.kind == ENGINE_TRAP && exit.fault.vector == ARCH_DB;
    return exit;
}

/* Unicorn translates past the end of a page, and a fault there comes before the block's first
 * instruction is executed. */
static bool fetched_ahead(const struct engine *engine)
{
    return engine->refused.ended_run && engine->refused.access == ARCH_FETCH &&
           (engine->refused.linear ^ linear_ip(engine)) >= MEMORY_PAGE_SIZE;
}

/* Unicorn tells only the page of an access that is refused. So the instruction is run once more,
 * on the stub's page, without a block hook and with all its data elsewhere; then all is put back.
 */
static uint64_t probe_address(struct engine *engine)
{
    struct arch_state *loaded = &engine->loaded;
    uint64_t at = STUB_CODE + STUB_SCRATCH;
    uint64_t linear = linear_ip(engine);
    uint64_t rip = arch_64bit_mode(loaded) ? at : at - loaded->sreg[ARCH_CS].base;

    code_bytes(engine, linear, &engine->stub_page[STUB_SCRATCH]);
    must(uc_context_save(engine->uc, engine->before_probe));
    engine->probe = (struct probe){ .moved = at - linear };
    engine->fill = FILL_PROBE;
    must(uc_ctl_flush_tlb(engine->uc));
    must(uc_ctl_remove_cache(engine->uc, at, at + MAX_INSN));
    write_reg(engine, UC_X86_REG_RFLAGS, loaded->rflags | RFLAGS_TF);
    uc_emu_start(engine->uc, rip, 0, 0, 0);
    engine->fill = FILL_GUEST;
    must(uc_ctl_flush_tlb(engine->uc));
    must(uc_context_restore(engine->uc, engine->before_probe));
    return engine->probe.found ? engine->probe.address : engine->refused.linear;
}

/* FAULT with its address complete: the first byte that could not be accessed. */
static struct engine_exit complete(struct engine *engine, struct engine_exit exit)
{
    uint64_t linear = linear_ip(engine);

    if (!engine->refused.ended_run || exit.fault.vector != ARCH_PF)
        return exit;
    if (engine->refused.access != ARCH_FETCH)
        exit.fault.address = probe_address(engine);
    else if ((engine->refused.linear ^ linear) < MEMORY_PAGE_SIZE)
        exit.fault.address = linear;
    return exit;
}

struct engine_exit engine_run(struct engine *engine)
{
    for (;;) {
        struct engine_exit exit = run_native(engine);
        bool done = true;
        uint64_t page;

        if (!engine->refused.ended_run)
            return exit;
        read_back(engine);
        if (!fetched_ahead(engine))
            return complete(engine, exit);
        page = linear_ip(engine) / MEMORY_PAGE_SIZE;
        while (done && linear_ip(engine) / MEMORY_PAGE_SIZE == page)
            exit = step_native(engine, &done);
        if (!done)
            return complete(engine, exit);
    }
}

struct engine_exit engine_step(struct engine *engine)
{
    struct engine_exit exit;
    bool done;

    engine->stepping = true;
    exit = step_native(engine, &done);
    engine->stepping = false;
    return done ? (struct engine_exit){ .kind = ENGINE_STOPPED } : complete(engine, exit);
}

void engine_stop(struct engine *engine)
{
    engine->stopped = true;
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

/* Unicorn calls this also for hooks that were deleted, from code translated before. */
static void on_intercept(uc_engine *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct engine *engine = ctx;

    (void)size;
    (void)uc;
    if (!engine->stepping && intercepts_find(&engine->intercepts, linear))
        engine_stop(engine);
}

bool engine_intercept(struct engine *engine, uint64_t linear)
{
    struct intercept *intercept = intercepts_find(&engine->intercepts, linear);

    if (intercept)
        return false;
    intercept = intercepts_add(&engine->intercepts, linear);
    if (!intercept || uc_hook_add(engine->uc, &intercept->hook, UC_HOOK_CODE, (void *)on_intercept,
                                  engine, linear, linear) != UC_ERR_OK)
        engine->out_of_memory = true;
    else
        must(uc_ctl_remove_cache(engine->uc, linear, linear + 1));
    return true;
}

void engine_forget(struct engine *engine, uint64_t linear)
{
    struct intercept *intercept = intercepts_find(&engine->intercepts, linear);

    if (!intercept)
        return;
    must(uc_hook_del(engine->uc, intercept->hook));
    intercepts_remove(&engine->intercepts, intercept);
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
    engine->probe_phys = engine->void_phys + MEMORY_PAGE_SIZE;
    if (!err)
        err = uc_mem_map_ptr(engine->uc, engine->stub_phys, STUB_SIZE, UC_PROT_ALL,
                             engine->stub_page);
    if (!err)
        err = uc_mmio_map(engine->uc, engine->void_phys, MEMORY_PAGE_SIZE, on_void_read, NULL,
                          on_void_write, NULL);
    if (!err)
        err = uc_mem_map(engine->uc, engine->probe_phys, PROBE_PAGES * MEMORY_PAGE_SIZE,
                         UC_PROT_NONE);
    return err;
}

static uc_err add_hooks(struct engine *engine)
{
    const struct {
        int type;
        void *fn;
    } hooks[] = {
        { UC_HOOK_TLB_FILL, (void *)on_tlb_fill },
        { UC_HOOK_MEM_READ_PROT | UC_HOOK_MEM_WRITE_PROT, (void *)on_probe },
        { UC_HOOK_EDGE_GENERATED, (void *)on_edge },
        { UC_HOOK_INTR, (void *)on_exception },
        { UC_HOOK_INSN_INVALID, (void *)on_invalid },
    };
    uc_err err = UC_ERR_OK;
    uc_hook hook;

    /* not where the stub's code is */
    if (engine->ops->block)
        err = uc_hook_add(engine->uc, &hook, UC_HOOK_BLOCK, (void *)engine->ops->block, engine->ctx,
                          (uint64_t)0, STUB_CODE - 1);
    for (size_t i = 0; !err && i < sizeof(hooks) / sizeof(hooks[0]); i++)
        err = uc_hook_add(engine->uc, &hook, hooks[i].type, hooks[i].fn, engine, (uint64_t)1,
                          (uint64_t)0);
    return err;
}

/* Unicorn starts in long mode with paging off and everything flat. */
static uc_err capture_start_contexts(struct engine *engine)
{
    uc_engine *uc = engine->uc;
    uc_err err = uc_context_alloc(uc, &engine->long_mode);

    if (!err)
        err = uc_context_alloc(uc, &engine->protected);
    if (!err)
        err = uc_context_alloc(uc, &engine->before_probe);
    if (err)
        return err;
    write_reg(engine, UC_X86_REG_CR4, CR4_PAE | CR4_OSXSAVE);
    write_reg(engine, UC_X86_REG_CR0, CR0_PE | CR0_PG);
    must(uc_context_save(uc, engine->long_mode));
    write_reg(engine, UC_X86_REG_CR0, CR0_PE);
    write_msr(engine, IA32_EFER, 0);
    must(uc_context_save(uc, engine->protected));
    return UC_ERR_OK;
}

static uc_err start(struct engine *engine)
{
    uc_err err = uc_open(UC_ARCH_X86, UC_MODE_64, &engine->uc);

    /* the model with most of what this Unicorn executes */
    if (!err)
        err = uc_ctl_set_cpu_model(engine->uc, UC_CPU_X86_ICELAKE_SERVER);
    if (!err)
        err = uc_ctl_set_tcg_buffer_size(engine->uc, TRANSLATIONS_ROOM);
    /* without this, each run looks up and drops the code where it was to end */
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
    engine->code = code_map_new(memory_size(memory));
    if (!engine->stub_page || !engine->code || start(engine) != UC_ERR_OK) {
        engine_free(engine);
        return NULL;
    }
    memory_on_code_written(memory, on_code_written, engine);
    /* the state after power-up (SDM vol. 3A, table 10-1) */
    engine->fpu = (struct fpu){ .fpcw = 0x40, .fptag = 0x5555, .mxcsr = 0x1f80 };
    fpu_restore(engine);
    return engine;
}

static void free_context(uc_context *context)
{
    if (context)
        uc_context_free(context);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    memory_on_code_written(engine->memory, NULL, NULL);
    free_context(engine->long_mode);
    free_context(engine->protected);
    free_context(engine->before_probe);
    for (unsigned i = 0; i < CONTEXTS; i++)
        free_context(engine->contexts[i].saved);
    if (engine->uc)
        uc_close(engine->uc);
    free(engine->stub_page);
    code_map_free(engine->code);
    intercepts_free(&engine->intercepts);
    free(engine);
}
