/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine runs small pieces of real code. Each test is a few bytes of it. */
#include <string.h>

#include "../models/bits.h"
#include "../sim/engine.h"
#include "suite.h"

enum {
    PAGE = 4096,
    MEMORY = 16 << 20,
    CODE = 0x10000,
    DATA = 0x20000,
    STACK = 0x38000,
    MAX_PAGES = 16,
    MAX_SEEN = 64,
};

/* Pages that are not mapped one to one, writable, executable and for everyone. */
struct page {
    uint64_t linear;
    uint64_t phys;
    bool absent;
    bool clean; /* no write permission before the first write, as with a clear dirty flag */
    bool read_only;
    bool supervisor;
};

static struct memory *memory;
static struct mem_port port;
static struct engine *engine;
static struct arch_state state;
static struct page pages[MAX_PAGES];
static size_t page_count;

static struct {
    uint64_t linear;
    uint32_t size;
} blocks[MAX_SEEN], changes[MAX_SEEN];
static size_t block_count, change_count;
static uint64_t stop_at_block; /* linear address; 0: nowhere */

static struct {
    uint64_t linear;
    enum arch_access access;
} walks[MAX_SEEN];
static size_t walk_count;

static void on_block(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    (void)uc;
    (void)ctx;
    if (block_count < MAX_SEEN) {
        blocks[block_count].linear = linear;
        blocks[block_count++].size = size;
    }
    if (stop_at_block && linear == stop_at_block)
        engine_stop(engine);
}

static void on_change(void *ctx, uint64_t linear, uint32_t size)
{
    (void)ctx;
    if (change_count < MAX_SEEN) {
        changes[change_count].linear = linear;
        changes[change_count++].size = size;
    }
}

static struct page *find_page(uint64_t linear)
{
    for (size_t i = 0; i < page_count; i++) {
        if (pages[i].linear == (linear & ~UINT64_C(0xfff)))
            return &pages[i];
    }
    return NULL;
}

static struct arch_fault translate(void *ctx, uint64_t linear, enum arch_access access,
                                   struct arch_translation *out)
{
    struct page *page = find_page(linear);
    bool user = state.cpl == 3;
    uint32_t error = (access == ARCH_WRITE ? 2u : 0) | (user ? 4u : 0);

    (void)ctx;
    if (walk_count < MAX_SEEN) {
        walks[walk_count].linear = linear;
        walks[walk_count++].access = access;
    }
    *out = (struct arch_translation){
        .phys = linear, .page_size = PAGE, .write = true, .user = true, .execute = true
    };
    if (!page)
        return linear < MEMORY || !(linear >> 32) ? ARCH_NO_FAULT : arch_page_fault(linear, error);
    if (page->absent)
        return arch_page_fault(linear, error);
    if ((page->supervisor && user) || (page->read_only && access == ARCH_WRITE))
        return arch_page_fault(linear, error | 1);
    if (access == ARCH_WRITE)
        page->clean = false;
    out->phys = page->phys | (linear & 0xfff);
    out->write = !page->read_only && !page->clean;
    out->user = !page->supervisor;
    return ARCH_NO_FAULT;
}

static const struct engine_ops ops = { .block = on_block,
                                       .translate = translate,
                                       .code_changed = on_change };

static inline void add_page(struct page page)
{
    ck_assert_uint_lt(page_count, MAX_PAGES);
    pages[page_count++] = page;
}

static void setup(void)
{
    page_count = block_count = change_count = walk_count = 0;
    stop_at_block = 0;
    memory = memory_new(MEMORY);
    port = memory_port(memory);
    engine = engine_new(memory, &ops, NULL);
    ck_assert_ptr_nonnull(engine);
}

static void teardown(void)
{
    engine_free(engine);
    memory_free(memory);
}

static struct arch_seg code_seg(uint16_t selector, uint64_t base, unsigned bits, unsigned dpl)
{
    return (struct arch_seg){
        .selector = selector,
        .base = base,
        .limit = bits == 16 ? 0xffff : UINT32_MAX,
        .ar = 0xb | ARCH_AR_S | ARCH_AR_P | dpl << ARCH_AR_DPL_SHIFT |
              (bits == 64   ? (uint32_t)ARCH_AR_L
               : bits == 32 ? (uint32_t)ARCH_AR_DB
                            : 0),
    };
}

static struct arch_seg data_seg(uint16_t selector, uint64_t base, unsigned bits, unsigned dpl)
{
    return (struct arch_seg){
        .selector = selector,
        .base = base,
        .limit = bits == 16 ? 0xffff : UINT32_MAX,
        .ar = 0x3 | ARCH_AR_S | ARCH_AR_P | dpl << ARCH_AR_DPL_SHIFT |
              (bits == 32 ? (uint32_t)ARCH_AR_DB : 0),
    };
}

static void start_64(unsigned cpl)
{
    memset(&state, 0, sizeof(state));
    state.cr0 = CR0_PE | CR0_PG | CR0_ET | CR0_NE | CR0_MP;
    state.cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT;
    state.efer = EFER_LME | EFER_LMA | EFER_SCE | EFER_NXE;
    state.rflags = RFLAGS_FIXED1;
    state.cpl = (uint8_t)cpl;
    state.rip = CODE;
    state.gpr[ARCH_RSP] = STACK;
    for (unsigned i = 0; i < ARCH_SREGS; i++)
        state.sreg[i] = data_seg((uint16_t)(0x10 | cpl), 0, 32, cpl);
    state.sreg[ARCH_CS] = code_seg((uint16_t)(0x8 | cpl), 0, 64, cpl);
}

static void put(uint64_t phys, const void *bytes, size_t size)
{
    port.write(port.ctx, phys, bytes, size);
}

#define PUT(phys, ...)                                                                             \
    put(phys, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

/* Loads, runs until something ends it and saves. */
static struct engine_exit run(void)
{
    struct engine_exit exit;

    ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
    exit = engine_run(engine);
    engine_save(engine, &state);
    return exit;
}

/* Runs up to the instruction at linear address END. */
static void run_to(uint64_t end)
{
    struct engine_exit exit;

    engine_intercept(engine, end);
    exit = run();
    ck_assert_msg(exit.kind == ENGINE_STOPPED, "kind %d vector %d error %s", exit.kind,
                  exit.fault.vector, exit.error ? exit.error : "");
    ck_assert_uint_eq(arch_linear_ip(&state, state.rip), end);
}

START_TEST(runs_64_bit_code)
{
    start_64((unsigned)_i ? 3 : 0);
    /* mov rax, 0x1122334455667788; push rax; mov rcx, cs; nop */
    PUT(CODE, 0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x50, 0x48, 0x8c, 0xc9,
        0x90);
    run_to(CODE + 14);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], UINT64_C(0x1122334455667788));
    ck_assert_uint_eq(state.gpr[ARCH_RSP], STACK - 8);
    ck_assert_uint_eq(mem_port_read(&port, STACK - 8, 8), UINT64_C(0x1122334455667788));
    ck_assert_uint_eq(state.gpr[ARCH_RCX], _i ? 0xb : 0x8);
}
END_TEST

/* Every mode and CPL that an Intel processor has. */
static const struct mode {
    const char *name;
    uint64_t cr0, efer;
    unsigned code_bits, stack_bits;
    unsigned cpl;
    bool v86;
} modes[] = {
    { "real", CR0_ET, 0, 16, 16, 0, false },
    { "real, big stack", CR0_ET, 0, 16, 32, 0, false },
    { "16-bit protected, CPL 0", CR0_PE, 0, 16, 16, 0, false },
    { "16-bit protected, CPL 1", CR0_PE, 0, 16, 16, 1, false },
    { "16-bit protected, CPL 3", CR0_PE, 0, 16, 16, 3, false },
    { "32-bit protected, CPL 0", CR0_PE, 0, 32, 32, 0, false },
    { "32-bit protected, CPL 1", CR0_PE | CR0_PG, 0, 32, 32, 1, false },
    { "32-bit protected, CPL 2", CR0_PE | CR0_PG, 0, 32, 32, 2, false },
    { "32-bit protected, CPL 3", CR0_PE | CR0_PG, 0, 32, 32, 3, false },
    { "32-bit protected, 16-bit stack", CR0_PE, 0, 32, 16, 0, false },
    { "32-bit protected, EFER.LME", CR0_PE, EFER_LME, 32, 32, 0, false },
    { "virtual-8086", CR0_PE, 0, 16, 16, 3, true },
    { "64-bit, CPL 0", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 64, 32, 0, false },
    { "64-bit, CPL 1", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 64, 32, 1, false },
    { "64-bit, CPL 3", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 64, 32, 3, false },
    { "compatibility 32, CPL 0", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 32, 32, 0, false },
    { "compatibility 32, CPL 3", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 32, 32, 3, false },
    { "compatibility 16, CPL 0", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 16, 16, 0, false },
    { "compatibility 16, CPL 3", CR0_PE | CR0_PG, EFER_LME | EFER_LMA, 16, 16, 3, false },
};
enum {
    MODES = sizeof(modes) / sizeof(modes[0])
};

/* Bases that no other segment has; multiples of 16, as virtual-8086 mode needs them. */
static const uint32_t bases[ARCH_SREGS] = {
    [ARCH_ES] = 0x21000, [ARCH_CS] = 0x10000, [ARCH_SS] = 0x30000,
    [ARCH_DS] = 0x22000, [ARCH_FS] = 0x23000, [ARCH_GS] = 0x24000,
};

static void start(const struct mode *mode)
{
    bool paragraphs = !(mode->cr0 & CR0_PE) || mode->v86;

    start_64(mode->cpl);
    state.cr0 = mode->cr0;
    state.cr4 = CR4_OSFXSR | (mode->efer & EFER_LMA ? CR4_PAE : 0);
    state.efer = mode->efer;
    if (mode->v86)
        state.rflags |= RFLAGS_VM;
    for (unsigned i = 0; i < ARCH_SREGS; i++) {
        uint16_t selector = (uint16_t)(i << 3 | mode->cpl);

        state.sreg[i] =
            data_seg(selector, bases[i], i == ARCH_SS ? mode->stack_bits : 32, mode->cpl);
        if (i == ARCH_CS)
            state.sreg[i] = code_seg(selector, bases[i], mode->code_bits, mode->cpl);
        if (paragraphs)
            state.sreg[i].selector = (uint16_t)(bases[i] >> 4);
    }
    state.rip = mode->code_bits == 64 ? bases[ARCH_CS] : 0;
    state.gpr[ARCH_RSP] = mode->code_bits == 64 ? bases[ARCH_SS] + 0x800 : 0x800;
}

static uint64_t base_of(enum arch_sreg sreg)
{
    bool flat = arch_64bit_mode(&state) && sreg != ARCH_FS && sreg != ARCH_GS;

    return flat ? 0 : bases[sreg];
}

/* The same program in every mode. */
START_TEST(mode_is_the_one_loaded)
{
    const struct mode *mode = &modes[_i];
    const struct arch_state *s = &state;
    uint64_t stack;

    start(mode);
    PUT(bases[ARCH_CS], 0x50, /* push ax, eax or rax */
        0x8a, 0x07,           /* mov al, [bx] or [edi] or [rdi] */
        0x26, 0x8a, 0x27,     /* mov ah, es:[same] */
        0x64, 0x8a, 0x0f,     /* mov cl, fs:[same] */
        0x65, 0x8a, 0x2f,     /* mov ch, gs:[same] */
        0x8c, 0xca,           /* mov dx, cs */
        0x8c, 0xd6,           /* mov si, ss */
        0x8c, 0xe5);          /* mov bp, fs */
    state.gpr[ARCH_RAX] = UINT64_C(0xa5a5a5a5a5a5a5a5);
    state.gpr[ARCH_RBX] = state.gpr[ARCH_RDI] = 0x40;
    for (unsigned i = 0; i < ARCH_SREGS; i++)
        PUT(bases[i] + 0x40, (uint8_t)(0x70 + i));
    PUT(0x40, 0x6f);
    stack = base_of(ARCH_SS) + state.gpr[ARCH_RSP];
    run_to(bases[ARCH_CS] + 18);

    ck_assert_uint_eq(s->gpr[ARCH_RSP] + base_of(ARCH_SS), stack - mode->code_bits / 8);
    ck_assert_uint_eq(mem_port_read(&port, stack - mode->code_bits / 8, mode->code_bits / 8),
                      s->gpr[ARCH_R15] + (UINT64_C(0xa5a5a5a5a5a5a5a5) >> (64 - mode->code_bits)));
    ck_assert_uint_eq(s->gpr[ARCH_RAX] & 0xff, base_of(ARCH_DS) ? 0x73 : 0x6f);
    ck_assert_uint_eq(s->gpr[ARCH_RAX] >> 8 & 0xff, base_of(ARCH_ES) ? 0x70 : 0x6f);
    ck_assert_uint_eq(s->gpr[ARCH_RCX] & 0xffff, 0x7574);
    ck_assert_uint_eq(s->gpr[ARCH_RDX] & 0xffff, s->sreg[ARCH_CS].selector);
    ck_assert_uint_eq(s->gpr[ARCH_RSI] & 0xffff, s->sreg[ARCH_SS].selector);
    ck_assert_uint_eq(s->gpr[ARCH_RBP] & 0xffff, s->sreg[ARCH_FS].selector);
}
END_TEST

/* CLI needs CPL <= IOPL; CLTS needs CPL 0. */
START_TEST(cpl_is_the_one_loaded)
{
    const struct mode *mode = &modes[_i];
    uint64_t cs = bases[ARCH_CS];
    struct engine_exit exit;

    PUT(cs, 0xfa /* cli */, 0x90, 0x0f, 0x06 /* clts */, 0x90);
    if (mode->cpl > 0) {
        start(mode);
        state.rflags |= (uint64_t)(mode->cpl - 1) << 12;
        exit = run();
        ck_assert_int_eq(exit.kind, ENGINE_FAULT);
        ck_assert_uint_eq(exit.fault.vector, ARCH_GP);
        ck_assert(exit.fault.has_error && exit.fault.error == 0);
        ck_assert_uint_eq(arch_linear_ip(&state, state.rip), cs);
    }
    start(mode);
    state.rflags |= (uint64_t)mode->cpl << 12;
    run_to(cs + 1);
    if (mode->cpl > 0) {
        exit = run();
        exit = run();
        ck_assert_int_eq(exit.kind, ENGINE_STOPPED);
        engine_forget(engine, cs + 1);
        exit = run();
        ck_assert_int_eq(exit.kind, ENGINE_FAULT);
        ck_assert_uint_eq(exit.fault.vector, ARCH_GP);
        ck_assert_uint_eq(arch_linear_ip(&state, state.rip), cs + 2);
    } else {
        engine_forget(engine, cs + 1);
        run_to(cs + 4);
    }
}
END_TEST

/* Through all modes in one engine, twice: the second time every context is a known one. */
START_TEST(modes_follow_each_other)
{
    PUT(bases[ARCH_CS], 0x50, 0x90);
    engine_intercept(engine, bases[ARCH_CS] + 1);
    for (unsigned i = 0; i < 2 * MODES; i++) {
        const struct mode *mode = &modes[i % MODES];
        uint64_t rsp;

        start(mode);
        rsp = state.gpr[ARCH_RSP];
        ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_msg(rsp - state.gpr[ARCH_RSP] == mode->code_bits / 8, "%s", mode->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tcase = tcase_create("engine");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, runs_64_bit_code, 0, 2);
    tcase_add_loop_test(tcase, mode_is_the_one_loaded, 0, MODES);
    tcase_add_loop_test(tcase, cpl_is_the_one_loaded, 0, MODES);
    tcase_add_test(tcase, modes_follow_each_other);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
