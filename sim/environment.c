/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "environment.h"

#include <inttypes.h>
#include <string.h>

#include "descriptors.h"
#include "page_tables.h"

enum place_in_memory {
#define ENV_PLACE(name, address) ENV_##name = (address),
#include "environment.def"
};

/* Frames for page tables, behind the roots; where identity mapping ends. */
#define TABLES_BEGIN SCN_ROOT(SCN_ROOTS_MAX)
#define TABLES_END   UINT64_C(0x80000)
#define IDENTITY_END UINT64_C(0x400000)

struct build {
    const struct scenario *s;
    struct lp *lp;
    struct page_tables tables;
};

bool scenario_assemble(struct scenario *scenario, bool listing, struct assembly *code)
{
    const struct asm_source source = {
        .path = scenario->path,
        .at = scn_place(&scenario->file->code),
        .text = scenario->file->code.text,
        .bits = scn_code_bits(scenario),
        .origin = SCN_ORIGIN,
        .listing = listing,
    };

    return assemble(&source, &scenario->symbols, code, scenario->mistake);
}

/* ---- page tables ---- */

static unsigned roots(const struct scenario *s)
{
    return 1 + s->file->roots_count;
}

static bool map_all_roots(struct build *b, uint64_t linear, uint64_t phys, uint64_t flags)
{
    for (unsigned i = 0; i < roots(b->s); i++)
        if (!page_tables_map(&b->tables, SCN_ROOT(i), linear, phys, flags))
            return false;
    return true;
}

enum page_flag {
    FLAG_SUPERVISOR,
    FLAG_READONLY,
    FLAG_NX,
    FLAG_ABSENT,
};

static bool pages_flags(struct build *b, const struct scn_pages *pages, uint64_t *flags)
{
    static const char *const words[] = { "supervisor", "readonly", "nx", "absent", NULL };
    unsigned set;

    if (!scn_words(b->s, pages->flags, pages->flags_count, words, &set))
        return false;
    if ((set & 1u << FLAG_NX) && b->tables.format == PAGES_32BIT)
        return SCN_MISTAKE(b->s, &pages->here, "32-bit paging has no nx");
    *flags = PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;
    if (set & 1u << FLAG_SUPERVISOR)
        *flags &= ~(uint64_t)PAGE_USER;
    if (set & 1u << FLAG_READONLY)
        *flags &= ~(uint64_t)PAGE_WRITABLE;
    if (set & 1u << FLAG_NX) {
        *flags |= PAGE_NX;
        b->lp->arch.efer |= EFER_NXE;
    }
    if (set & 1u << FLAG_ABSENT)
        *flags = 0;
    return true;
}

static bool map_pages(struct build *b, const struct scn_pages *pages)
{
    uint64_t linear, phys, size, root, flags = 0;

    if (!scn_value(b->s, &pages->linear, 0, &linear) || !scn_value(b->s, &pages->phys, 0, &phys) ||
        !scn_number(b->s, &pages->size, 4096, 4096, UINT64_C(64) << 20, &size) ||
        !scn_root(b->s, &pages->root, 0, &root) || !pages_flags(b, pages, &flags))
        return false;
    if ((linear | phys | size) % 4096)
        return SCN_MISTAKE(b->s, &pages->here, "linear, phys and size must be multiples of 4K");
    if (!page_format_has(b->tables.format, linear) ||
        !page_format_has(b->tables.format, linear + size - 1))
        return SCN_MISTAKE(b->s, &pages->linear, "'%s' is not a linear address of this paging mode",
                           pages->linear.text);
    if (flags && !pages->phys.text)
        return SCN_MISTAKE(b->s, &pages->here, "the key 'phys' is missing");
    for (uint64_t at = 0; at < size; at += 4096)
        if (root ? !page_tables_map(&b->tables, root, linear + at, phys + at, flags)
                 : !map_all_roots(b, linear + at, phys + at, flags))
            return SCN_MISTAKE(b->s, &pages->here, "no room left for page tables");
    return true;
}

/* The tables as they are in memory; not for SCN_PAGING_NONE. */
static struct page_tables tables_of(const struct scenario *s, const struct lp *lp)
{
    static const enum page_format formats[] = {
        [SCN_PAGING_32BIT] = PAGES_32BIT,
        [SCN_PAGING_PAE] = PAGES_PAE,
        [SCN_PAGING_4LEVEL] = PAGES_4LEVEL,
    };

    return (struct page_tables){
        .mem = lp->mem,
        .format = formats[s->paging],
        .next = TABLES_BEGIN,
        .end = TABLES_END,
    };
}

bool environment_find(const struct scenario *scenario, const struct lp *lp, uint64_t root,
                      uint64_t linear, uint64_t *phys)
{
    struct page_tables tables;

    *phys = linear;
    if (scenario->paging == SCN_PAGING_NONE)
        return linear < scenario->memory;
    tables = tables_of(scenario, lp);
    return page_tables_find(&tables, root, linear, phys) && *phys < scenario->memory;
}

static bool build_pages(struct build *b)
{
    const struct scn_file *file = b->s->file;
    uint64_t end = b->s->memory < IDENTITY_END ? b->s->memory : IDENTITY_END;

    if (b->s->paging == SCN_PAGING_NONE) {
        if (file->pages_count)
            return SCN_MISTAKE(b->s, &file->pages[0].here, "pages, but no paging in this mode");
        return true;
    }
    b->tables = tables_of(b->s, b->lp);
    for (uint64_t at = 0; at < end; at += 4096)
        if (!map_all_roots(b, at, at, PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER))
            return SCN_MISTAKE(b->s, &file->roots[0], "no room left for page tables");
    for (unsigned i = 0; i < file->pages_count; i++)
        if (!map_pages(b, &file->pages[i]))
            return false;
    return true;
}

/* ---- code ---- */

static bool load_piece(const struct build *b, const struct asm_piece *piece)
{
    uint64_t phys, part;

    for (uint64_t done = 0; done < piece->size; done += part) {
        uint64_t linear = piece->address + done;

        part = 4096 - linear % 4096;
        if (part > piece->size - done)
            part = piece->size - done;
        if (!environment_find(b->s, b->lp, SCN_ROOT(0), linear, &phys))
            return SCN_MISTAKE(b->s, &b->s->file->code,
                               "the code has bytes at 0x%" PRIx64 ", where there is no memory",
                               linear);
        b->lp->mem.write(b->lp->mem.ctx, phys, piece->bytes + done, part);
    }
    return true;
}

/* ---- the start state ---- */

static const enum arch_mode arch_modes[] = {
#define SCN_MODE(id, name, arch, bits, paging) arch,
#include "scenario_tables.def"
};

static void set_control_registers(const struct scenario *s, struct arch_state *state)
{
    if (s->mode != SCN_REAL16 && s->mode != SCN_PROT16) {
        state->cr0 |= CR0_WP;
        state->cr4 |= CR4_OSFXSR | CR4_OSXMMEXCPT;
    }
    if (s->paging != SCN_PAGING_NONE) {
        state->cr0 |= CR0_PG;
        state->cr3 = SCN_ROOT(0);
    }
    if (s->paging == SCN_PAGING_PAE)
        state->cr4 |= CR4_PAE;
}

/* IA32_STAR, IA32_SYSENTER_CS and _ESP: so that the fast system calls need only their target. */
static void set_system_call_msrs(bool intel64, struct arch_state *state)
{
    if (intel64) {
        state->efer |= EFER_SCE;
        state->star = UINT64_C(0x0018000800000000);
    }
    state->sysenter_cs = 0x08;
    state->sysenter_esp = ENV_stack0_top;
}

static void set_state(const struct scenario *s, struct arch_state *state)
{
    arch_setup(state, arch_modes[s->mode], s->cpl);
    set_control_registers(s, state);
    state->rflags |= RFLAGS_IF;
    if (s->mode == SCN_V86)
        state->rflags |= RFLAGS_IOPL;
    state->gpr[ARCH_RSP] = ENV_stack_top;
    if (s->mode != SCN_REAL16)
        set_system_call_msrs(s->cpu->intel64, state);
}

/* The address in `start`, else that of the label `start`, else the origin. */
static bool set_start(const struct scenario *s, struct arch_state *state)
{
    const struct symbol *label = symbols_find(&s->symbols, "start", 5);

    return scn_value(s, &s->file->start, label ? label->value : SCN_ORIGIN, &state->rip);
}

struct reg {
    const char *name;
    void (*set)(struct arch_state *state, uint64_t value);
};

#define SCN_REG(name, member, at_start)                                                            \
    static void set_##name(struct arch_state *state, uint64_t value)                               \
    {                                                                                              \
        state->member = (__typeof__(state->member))value;                                          \
    }
#include "scenario_tables.def"

static const struct reg regs[] = {
#define SCN_REG(name, member, at_start) { #name, at_start ? set_##name : NULL },
#include "scenario_tables.def"
};

static bool set_reg(const struct scenario *s, const struct scn_pair *pair, struct arch_state *state)
{
    uint64_t value;

    for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
        if (!regs[i].set || strcmp(regs[i].name, pair->name.text))
            continue;
        if (pair->value_count != 1)
            return SCN_MISTAKE(s, &pair->name, "'%s' is a list, expected a value", pair->name.text);
        if (!scn_value(s, &pair->value[0], 0, &value))
            return false;
        regs[i].set(state, value);
        return true;
    }
    return SCN_MISTAKE(s, &pair->name,
                       "unknown register '%s', expected one of rax to r15 (64-bit names), rflags, "
                       "cr0, cr4, cr8, dr0 to dr3, dr6, dr7",
                       pair->name.text);
}

/* With PAE paging the processor has read the four entries of the first table (SDM 4.4.1). */
static bool load_pdptes(const struct scenario *s, struct lp *lp)
{
    return s->paging != SCN_PAGING_PAE ||
           !arch_load_pdptes(&lp->arch, &lp->limits, &lp->mem, lp->arch.cr3).raised ||
           SCN_MISTAKE(s, &s->file->here, "the page-directory-pointer table has reserved bits");
}

bool environment_build(const struct scenario *scenario, const struct assembly *code, struct lp *lp)
{
    struct build b = { .s = scenario, .lp = lp };
    const struct scn_file *file = scenario->file;

    set_state(scenario, &lp->arch);
    if (!build_pages(&b) || !descriptors_build(scenario, lp))
        return false;
    for (size_t i = 0; i < code->pieces; i++)
        if (!load_piece(&b, &code->piece[i]))
            return false;
    if (!set_start(scenario, &lp->arch))
        return false;
    for (unsigned i = 0; i < file->regs_count; i++)
        if (!set_reg(scenario, &file->regs[i], &lp->arch))
            return false;
    return load_pdptes(scenario, lp);
}
