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

/* Page faults: code at CODE, with RBX and RDI in absent page BAD and RSI in a good one. */
enum {
    BAD = 0x5000000
};

static const struct {
    const char *name;
    uint8_t code[8];
    unsigned before; /* bytes of instructions that execute first */
    enum arch_access access;
    uint64_t address; /* that CR2 gets */
} page_faults[] = {
    { "read", { 0x8a, 0x03 /* mov al, [rbx] */ }, 0, ARCH_READ, BAD + 0x123 },
    { "read, second", { 0x90, 0x8a, 0x03 }, 1, ARCH_READ, BAD + 0x123 },
    { "unaligned read",
      { 0x48, 0x8b, 0x43, 0x02 /* mov rax, [rbx+2] */ },
      0,
      ARCH_READ,
      BAD + 0x125 },
    { "write", { 0x88, 0x43, 0x01 /* mov [rbx+1], al */ }, 0, ARCH_WRITE, BAD + 0x124 },
    { "unaligned write",
      { 0x48, 0x89, 0x43, 0x01 /* mov [rbx+1], rax */ },
      0,
      ARCH_WRITE,
      BAD + 0x124 },
    { "read and write", { 0x01, 0x43, 0x05 /* add [rbx+5], eax */ }, 0, ARCH_READ, BAD + 0x128 },
    { "locked", { 0xf0, 0x01, 0x43, 0x05 /* lock add [rbx+5], eax */ }, 0, ARCH_READ, BAD + 0x128 },
    { "over the page's start", { 0x48, 0x8b, 0x83, 0xd9, 0xfe, 0xff, 0xff }, 0, ARCH_READ, BAD },
    { "write over its start", { 0x48, 0x89, 0x83, 0xd9, 0xfe, 0xff, 0xff }, 0, ARCH_WRITE, BAD },
    { "movs, to", { 0xa4 /* movsb */ }, 0, ARCH_WRITE, BAD + 0x123 },
    { "push [mem]", { 0xff, 0x73, 0x08 }, 0, ARCH_READ, BAD + 0x12b },
    { "relative to RIP",
      { 0x8b, 0x05, 0x33, 0x00, 0xff, 0x04 },
      0,
      ARCH_READ,
      CODE + 6 + 0x4ff0033 },
    { "SSE read",
      { 0x0f, 0x10, 0x43, 0x07 /* movups xmm0, [rbx+7] */ },
      0,
      ARCH_READ,
      BAD + 0x12a },
    { "SSE write", { 0x0f, 0x11, 0x43, 0x07 }, 0, ARCH_WRITE, BAD + 0x12a },
    { "x87 write", { 0xdb, 0x7b, 0x09 /* fstp tbyte [rbx+9] */ }, 0, ARCH_WRITE, BAD + 0x12c },
    { "bit test", { 0x48, 0x0f, 0xab, 0x03 /* bts [rbx], rax */ }, 0, ARCH_READ, BAD + 0x133 },
};

START_TEST(page_fault_is_precise)
{
    struct engine_exit exit;
    struct arch_state before;

    start_64(3);
    add_page((struct page){ .linear = BAD, .absent = true });
    state.gpr[ARCH_RBX] = state.gpr[ARCH_RDI] = BAD + 0x123;
    state.gpr[ARCH_RSI] = DATA;
    state.gpr[ARCH_RAX] = 0x85;
    state.rflags |= RFLAGS_CF | RFLAGS_ZF;
    put(CODE, page_faults[_i].code, sizeof(page_faults[_i].code));
    before = state;
    for (int again = 0; again < 3; again++) {
        exit = run();
        ck_assert_int_eq(exit.kind, ENGINE_FAULT);
        ck_assert_uint_eq(exit.fault.vector, ARCH_PF);
        ck_assert(exit.fault.has_error);
        ck_assert_uint_eq(exit.fault.error, page_faults[_i].access == ARCH_WRITE ? 6 : 4);
        ck_assert_uint_eq(exit.fault.address, page_faults[_i].address);
        ck_assert_uint_eq(state.rip, CODE + page_faults[_i].before);
        ck_assert_mem_eq(state.gpr, before.gpr, sizeof(state.gpr));
        ck_assert_uint_eq(state.rflags, before.rflags);
    }
    /* and once the page is there, it goes on, with no block announced for what was tried */
    pages[0].absent = false;
    pages[0].phys = DATA + PAGE;
    engine_flush_tlb(engine);
    block_count = 0;
    run_to(CODE + page_faults[_i].before +
           (uint64_t[]){ 2, 2, 4, 3, 4, 3, 4, 7, 7, 1, 3, 6, 4, 4, 3, 4 }[_i]);
    for (size_t i = 0; i < block_count; i++)
        ck_assert_uint_lt(blocks[i].linear, CODE + 16);
}
END_TEST

/* A string instruction stops at the element that faults, with its registers there. */
START_TEST(page_fault_in_repeated_string)
{
    static const struct {
        uint8_t code[3];
        unsigned step;
    } strings[] = {
        { { 0xf3, 0xaa, 0x90 }, 1 }, /* rep stosb */
        { { 0xf3, 0xab, 0x90 }, 4 }, /* rep stosd */
        { { 0xf3, 0xa4, 0x90 }, 1 }, /* rep movsb */
    };
    unsigned step = strings[_i].step;
    struct engine_exit exit;

    start_64(0);
    add_page((struct page){ .linear = BAD, .absent = true });
    add_page((struct page){ .linear = BAD - PAGE, .phys = DATA });
    put(CODE, strings[_i].code, sizeof(strings[_i].code));
    state.gpr[ARCH_RCX] = 100;
    state.gpr[ARCH_RDI] = BAD - 20 * step;
    state.gpr[ARCH_RSI] = DATA + PAGE;
    exit = run();
    ck_assert_int_eq(exit.kind, ENGINE_FAULT);
    ck_assert_uint_eq(exit.fault.address, BAD);
    ck_assert_uint_eq(exit.fault.error, 2);
    ck_assert_uint_eq(state.rip, CODE);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], 80);
    ck_assert_uint_eq(state.gpr[ARCH_RDI], BAD);
    pages[0].absent = false;
    run_to(CODE + 2);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], 0);
    ck_assert_uint_eq(state.gpr[ARCH_RDI], BAD + 80 * step);
}
END_TEST

/* Code that runs on into an absent page: everything before is executed, and the fault is the
 * first instruction's that needs it. */
START_TEST(page_fault_of_the_next_code_page)
{
    static const struct {
        uint8_t code[16];
        unsigned size;
        unsigned start;     /* before the end of the page */
        unsigned faults_at; /* instruction, before the end of the page; 0: after it */
        uint64_t rbx;
    } cases[] = {
        /* inc rbx three times, then two bytes of one more */
        { { 0x48, 0xff, 0xc3, 0x48, 0xff, 0xc3, 0x48, 0xff, 0xc3, 0x48, 0xff }, 11, 11, 2, 3 },
        /* the page ends with an instruction */
        { { 0x48, 0xff, 0xc3, 0x48, 0xff, 0xc3 }, 6, 6, 0, 2 },
        /* nothing before */
        { { 0x48 }, 1, 1, 1, 0 },
    };
    uint64_t end = CODE + PAGE;
    struct engine_exit exit;

    start_64(0);
    add_page((struct page){ .linear = end, .absent = true });
    put(end - cases[_i].start, cases[_i].code, cases[_i].size);
    state.rip = end - cases[_i].start;
    exit = run();
    ck_assert_int_eq(exit.kind, ENGINE_FAULT);
    ck_assert_uint_eq(exit.fault.vector, ARCH_PF);
    ck_assert_uint_eq(exit.fault.address, end);
    ck_assert_uint_eq(state.rip, end - cases[_i].faults_at);
    ck_assert_uint_eq(state.gpr[ARCH_RBX], cases[_i].rbx);
    ck_assert_uint_eq(state.rflags & RFLAGS_TF, 0);
}
END_TEST

START_TEST(intercept_before_the_absent_code_page)
{
    uint64_t end = CODE + PAGE;

    start_64(0);
    add_page((struct page){ .linear = end, .absent = true });
    PUT(end - 4, 0x90, 0x90, 0x90, 0x90);
    state.rip = end - 4;
    run_to(end - 2);
    stop_at_block = end - 1;
    engine_forget(engine, end - 2);
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, end - 1);
    ck_assert_uint_eq(state.rflags & RFLAGS_TF, 0);
}
END_TEST

/* A page whose dirty flag is clear is walked once more, at the first write. */
START_TEST(first_write_walks_again)
{
    start_64(0);
    add_page((struct page){ .linear = BAD, .phys = DATA, .clean = true });
    /* mov al, [rbx]; mov [rbx], al; mov [rbx], al; mov al, [rbx]; nop */
    PUT(CODE, 0x8a, 0x03, 0x88, 0x03, 0x88, 0x03, 0x8a, 0x03, 0x90);
    state.gpr[ARCH_RBX] = BAD;
    run_to(CODE + 8);
    ck_assert_uint_ge(walk_count, 3);
    ck_assert_int_eq(walks[walk_count - 3].access, ARCH_FETCH);
    ck_assert_int_eq(walks[walk_count - 2].access, ARCH_READ);
    ck_assert_int_eq(walks[walk_count - 1].access, ARCH_WRITE);
    ck_assert(!pages[0].clean);
}
END_TEST

START_TEST(user_and_supervisor_have_their_own_translations)
{
    struct engine_exit exit;

    add_page((struct page){ .linear = BAD, .phys = DATA, .supervisor = true });
    PUT(CODE, 0x8a, 0x03 /* mov al, [rbx] */, 0x90);
    PUT(DATA, 0x77);
    start_64(0);
    state.gpr[ARCH_RBX] = BAD;
    run_to(CODE + 2);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x77);
    start_64(3);
    state.gpr[ARCH_RBX] = BAD;
    exit = run();
    ck_assert_int_eq(exit.kind, ENGINE_FAULT);
    ck_assert_uint_eq(exit.fault.error, 5);
    ck_assert_uint_eq(exit.fault.address, BAD);
}
END_TEST

START_TEST(flushed_translations_are_asked_for_again)
{
    add_page((struct page){ .linear = BAD, .phys = DATA });
    PUT(CODE, 0x8a, 0x03 /* mov al, [rbx] */, 0x90);
    PUT(DATA, 0x11);
    PUT(DATA + PAGE, 0x22);
    start_64(0);
    state.gpr[ARCH_RBX] = BAD;
    run_to(CODE + 2);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x11);
    pages[0].phys = DATA + PAGE;
    state.rip = CODE;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x11);
    engine_flush_tlb(engine);
    state.rip = CODE;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x22);
}
END_TEST

/* Physical addresses without RAM read as ones, drop writes, and are no code. */
START_TEST(no_ram)
{
    add_page((struct page){ .linear = BAD, .phys = UINT64_C(0xfee00000) });
    start_64(0);
    /* mov [rbx], eax; mov eax, [rbx]; mov cl, [rbx+3]; jmp rbx */
    PUT(CODE, 0x89, 0x03, 0x8b, 0x03, 0x8a, 0x4b, 0x03, 0xff, 0xe3);
    state.gpr[ARCH_RBX] = BAD;
    run_to(CODE + 7);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0xffffffff);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], 0xff);
    engine_forget(engine, CODE + 7);
    ck_assert_int_eq(run().kind, ENGINE_INVALID);
    ck_assert_uint_eq(state.rip, BAD);
}
END_TEST

/* Code that runs on from RAM to where there is none. */
START_TEST(no_ram_after_code)
{
    start_64(0);
    add_page((struct page){ .linear = CODE + PAGE, .phys = UINT64_C(0xfee00000) });
    PUT(CODE + PAGE - 3, 0x48, 0xff, 0xc0 /* inc rax */);
    state.rip = CODE + PAGE - 3;
    ck_assert_int_eq(run().kind, ENGINE_INVALID);
    ck_assert_uint_eq(state.rip, CODE + PAGE);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 1);
}
END_TEST

/* With SMAP a fetch from a user page gives a supervisor no leave to read it. */
START_TEST(smap_keeps_code_from_being_read)
{
    for (unsigned smap = 0; smap < 2; smap++) {
        size_t reads = 0;

        start_64(0);
        state.cr4 |= smap ? CR4_SMAP : 0;
        state.gpr[ARCH_RBX] = CODE;
        PUT(CODE, 0x8a, 0x03 /* mov al, [rbx] */, 0x90);
        walk_count = 0;
        run_to(CODE + 2);
        engine_forget(engine, CODE + 2);
        for (size_t i = 0; i < walk_count; i++)
            reads += walks[i].access == ARCH_READ && walks[i].linear == CODE;
        ck_assert_uint_eq(reads, smap);
    }
}
END_TEST

/* Exceptions that are no page faults, each three times in a row. */
static const struct {
    const char *name;
    uint8_t code[12];
    unsigned at; /* offset of the instruction */
    enum engine_exit_kind kind;
    unsigned vector;
    bool has_error;
    uint64_t cr0;
} exceptions[] = {
    { "#DE", { 0x31, 0xc9, 0xf7, 0xf1 /* div ecx */ }, 2, ENGINE_FAULT, ARCH_DE, false, 0 },
    { "#UD", { 0x90, 0x0f, 0x0b /* ud2 */ }, 1, ENGINE_INVALID, 0, false, 0 },
    { "#NM", { 0x90, 0xd9, 0xe8 /* fld1 */ }, 1, ENGINE_FAULT, ARCH_NM, false, CR0_TS },
    { "#NM SSE", { 0x0f, 0x57, 0xc0 /* xorps */ }, 0, ENGINE_FAULT, ARCH_NM, false, CR0_TS },
    { "#NM x87 emulated", { 0xd9, 0xe8 }, 0, ENGINE_FAULT, ARCH_NM, false, CR0_EM },
    /* fninit; fldcw [rbx] with all unmasked; fld1; fldz; fdivp; fwait */
    { "#MF",
      { 0xdb, 0xe3, 0xd9, 0x2b, 0xd9, 0xe8, 0xd9, 0xee, 0xde, 0xf9, 0x9b },
      10,
      ENGINE_FAULT,
      ARCH_MF,
      false,
      0 },
    { "#GP, privileged", { 0x90, 0x0f, 0x06 /* clts */ }, 1, ENGINE_FAULT, ARCH_GP, true, 0 },
};

START_TEST(exception_at_its_instruction)
{
    struct engine_exit exit;

    put(CODE, exceptions[_i].code, sizeof(exceptions[_i].code));
    PUT(DATA, 0x00, 0x03);
    for (int again = 0; again < 3; again++) {
        start_64(3);
        state.cr0 |= exceptions[_i].cr0;
        state.gpr[ARCH_RBX] = DATA;
        exit = run();
        ck_assert_int_eq(exit.kind, exceptions[_i].kind);
        ck_assert_uint_eq(state.rip, CODE + exceptions[_i].at);
        if (exit.kind == ENGINE_INVALID)
            continue;
        ck_assert_uint_eq(exit.fault.vector, exceptions[_i].vector);
        ck_assert_int_eq(exit.fault.has_error, exceptions[_i].has_error);
        ck_assert_uint_eq(exit.fault.error, 0);
    }
}
END_TEST

/* BOUND exists in 32-bit code only. */
START_TEST(bound_range_exceeded)
{
    struct engine_exit exit;

    start(&modes[5]);
    PUT(bases[ARCH_CS], 0x90, 0x62, 0x03 /* bound eax, [ebx] */);
    state.gpr[ARCH_RAX] = 1;
    exit = run();
    ck_assert_int_eq(exit.kind, ENGINE_FAULT);
    ck_assert_uint_eq(exit.fault.vector, ARCH_BR);
    ck_assert_uint_eq(state.rip, 1);
}
END_TEST

static bool change_covers(uint64_t linear)
{
    for (size_t i = 0; i < change_count; i++) {
        if (linear - changes[i].linear < changes[i].size)
            return true;
    }
    return false;
}

/* x87, MMX and SSE state lives through changes of mode, CPL and exceptions. */
START_TEST(fpu_state_survives)
{
    /* fninit; fldpi; fld1; movups xmm15, [rbx]; ldmxcsr [rbx+16]; fldcw [rbx+20]; nop */
    static const uint8_t set[] = { 0xdb, 0xe3, 0xd9, 0xeb, 0xd9, 0xe8, 0x44, 0x0f, 0x10,
                                   0x3b, 0x0f, 0xae, 0x53, 0x10, 0xd9, 0x6b, 0x14, 0x90 };
    /* fxsave [rbx]; nop */
    static const uint8_t get[] = { 0x48, 0x0f, 0xae, 0x03, 0x90 };
    static const uint8_t expect[] = { 0x7f, 0x06, 0x00, 0x30, 0xc0 }; /* FCW, FSW, FTW */
    static const uint8_t pi[] = { 0x35, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f, 0xc9, 0x00, 0x40 };
    static const uint8_t one[] = { 0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f };
    uint8_t image[512];

    put(CODE, set, sizeof(set));
    put(CODE + 0x100, get, sizeof(get));
    PUT(CODE + 0x200, 0x0f, 0x06 /* clts: #GP at CPL 3 */);
    PUT(DATA, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, /* MXCSR */ 0x80, 0x7f, 0, 0,
        /* FCW */ 0x7f, 0x06);
    start_64(3);
    state.gpr[ARCH_RBX] = DATA;
    run_to(CODE + sizeof(set) - 1);
    state.rip = CODE + 0x200;
    ck_assert_int_eq(run().kind, ENGINE_FAULT);
    for (unsigned i = 0; i < MODES; i++) {
        start(&modes[i]);
        ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
    }
    start_64(0);
    state.rip = CODE + 0x100;
    state.gpr[ARCH_RBX] = DATA + PAGE;
    run_to(CODE + 0x104);
    port.read(port.ctx, DATA + PAGE, image, sizeof(image));
    ck_assert_mem_eq(image, expect, sizeof(expect));
    ck_assert_uint_eq(le_load(image + 24, 4), 0x7f80);
    ck_assert_mem_eq(image + 32, one, 10);
    ck_assert_mem_eq(image + 48, pi, 10);
    for (unsigned i = 0; i < 16; i++)
        ck_assert_uint_eq(image[160 + 15 * 16 + i], i + 1);
}
END_TEST

/* What FXSAVE shows of a fresh processor (SDM vol. 3A, table 10-1) and of a new process: all
 * of it, so that nothing of the host can be in it. */
START_TEST(fpu_state_at_the_start)
{
    uint8_t image[512], expect[512] = { 0 };

    le_store(expect, _i ? 0x37f : 0x40, 2);
    expect[4] = _i ? 0x00 : 0xff; /* abridged: 1 is not empty */
    le_store(expect + 24, 0x1f80, 4);
    le_store(expect + 28, 0xffff, 4); /* MXCSR_MASK */
    if (_i)
        engine_finit(engine);
    start_64(0);
    state.gpr[ARCH_RBX] = DATA;
    PUT(CODE, 0x48, 0x0f, 0xae, 0x03 /* fxsave64 [rbx] */, 0x90);
    run_to(CODE + 4);
    port.read(port.ctx, DATA, image, sizeof(image));
    ck_assert_mem_eq(image, expect, sizeof(image));
}
END_TEST

/* XSAVE writes what XCR0 enables, and XGETBV shows it. */
START_TEST(xcr0_is_the_one_loaded)
{
    static const uint64_t values[] = { 1, 3 };

    start_64(0);
    state.cr4 |= CR4_OSXSAVE;
    state.xcr0 = values[_i];
    state.gpr[ARCH_RBX] = DATA;
    state.gpr[ARCH_RAX] = 7;
    /* xsave [rbx]; xor ecx, ecx; xgetbv; nop */
    PUT(CODE, 0x0f, 0xae, 0x23, 0x31, 0xc9, 0x0f, 0x01, 0xd0, 0x90);
    run_to(CODE + 8);
    ck_assert_uint_eq(mem_port_read(&port, DATA + 512, 8), values[_i]);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], values[_i]);
    ck_assert_uint_eq(state.gpr[ARCH_RDX], 0);
}
END_TEST

START_TEST(intercepts)
{
    /* inc rax; inc rbx; jmp to the start */
    PUT(CODE, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc3, 0xeb, 0xf8);
    start_64(0);
    stop_at_block = CODE;
    /* translated before it is intercepted */
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert(engine_intercept(engine, CODE + 6));
    ck_assert(!engine_intercept(engine, CODE + 6));
    stop_at_block = 0;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, CODE + 6);
    /* it stays where it is until it is stepped over */
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, CODE + 6);
    ck_assert_uint_eq(state.gpr[ARCH_RBX], 1);
    ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
    ck_assert_int_eq(engine_step(engine).kind, ENGINE_STOPPED);
    engine_save(engine, &state);
    ck_assert_uint_eq(state.rip, CODE);
    ck_assert_uint_eq(state.rflags & RFLAGS_TF, 0);
    /* one more, at the start of a block; then the old one is forgotten */
    engine_intercept(engine, CODE + 3);
    engine_forget(engine, CODE + 6);
    engine_forget(engine, CODE + 6);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_uint_eq(state.rip, CODE + 3);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], 2 + i);
        state.rip = CODE + 6;
    }
    ck_assert(engine_intercept(engine, CODE + 6));
    state.rip = CODE + 6;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, CODE + 6);
}
END_TEST

/* Inside the block hook of the very block, as the machine does it. */
static void intercept_in_hook(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    on_block(uc, linear, size, ctx);
    if (linear == CODE && engine_intercept(engine, CODE + 3))
        engine_stop(engine);
}

START_TEST(intercept_in_a_block_hook)
{
    struct engine_ops in_hook = ops;

    in_hook.block = intercept_in_hook;
    engine_free(engine);
    engine = engine_new(memory, &in_hook, NULL);
    PUT(CODE, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc3, 0xeb, 0xf8);
    start_64(0);
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, CODE);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0);
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, CODE + 3);
    ck_assert_uint_eq(block_count, 2);
}
END_TEST

/* An intercept of code that is not there yet is no error. */
START_TEST(intercept_of_an_absent_page)
{
    struct engine_exit exit;

    add_page((struct page){ .linear = BAD, .absent = true });
    PUT(CODE, 0xff, 0xe3 /* jmp rbx */);
    start_64(0);
    state.gpr[ARCH_RBX] = BAD;
    ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
    ck_assert(engine_intercept(engine, BAD));
    exit = run();
    ck_assert_int_eq(exit.kind, ENGINE_FAULT);
    ck_assert_uint_eq(exit.fault.address, BAD);
    ck_assert_uint_eq(state.rip, BAD);
    pages[0].absent = false;
    pages[0].phys = CODE + PAGE;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(state.rip, BAD);
}
END_TEST

START_TEST(hundreds_of_intercepts)
{
    enum {
        COUNT = 500
    };

    for (unsigned i = 0; i < COUNT; i++)
        PUT(CODE + 3 * i, 0x48, 0xff, 0xc0 /* inc rax */);
    start_64(0);
    ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert(engine_intercept(engine, CODE + 3 * (i * 7 % COUNT)));
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_uint_eq(state.rip, CODE + 3 * i);
        engine_forget(engine, state.rip);
    }
    ck_assert_uint_eq(state.gpr[ARCH_RAX], COUNT - 1);
}
END_TEST

/* Every instruction steps alone, in each mode. */
START_TEST(steps_one_instruction)
{
    const struct mode *mode = &modes[_i];
    /* inc ax or a REX prefix; push ax; nop; pop ax; jmp; nop */
    static const uint8_t code[] = { 0x40, 0x50, 0x90, 0x58, 0xeb, 0x02, 0x00, 0x00, 0x90 };
    static const uint8_t after[] = { 1, 2, 3, 4, 8, 9 };
    bool rex = mode->code_bits == 64;
    uint64_t start_ip;

    start(mode);
    start_ip = state.rip;
    put(bases[ARCH_CS], code, sizeof(code));
    for (unsigned i = rex; i < sizeof(after); i++) {
        ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
        ck_assert_int_eq(engine_step(engine).kind, ENGINE_STOPPED);
        engine_save(engine, &state);
        ck_assert_uint_eq(state.rip, start_ip + after[i]);
        ck_assert_uint_eq(state.rflags & RFLAGS_TF, 0);
    }
}
END_TEST

START_TEST(step_that_faults)
{
    struct engine_exit exit;

    add_page((struct page){ .linear = BAD, .absent = true });
    PUT(CODE, 0x8a, 0x43, 0x07 /* mov al, [rbx+7] */);
    start_64(0);
    state.gpr[ARCH_RBX] = BAD;
    ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
    exit = engine_step(engine);
    engine_save(engine, &state);
    ck_assert_int_eq(exit.kind, ENGINE_FAULT);
    ck_assert_uint_eq(exit.fault.address, BAD + 7);
    ck_assert_uint_eq(state.rip, CODE);
    ck_assert_uint_eq(state.rflags & RFLAGS_TF, 0);
}
END_TEST

START_TEST(step_of_a_repeated_string)
{
    PUT(CODE, 0xf3, 0xaa /* rep stosb */, 0x90);
    start_64(0);
    state.gpr[ARCH_RCX] = 3;
    state.gpr[ARCH_RDI] = DATA;
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert_int_eq(engine_load(engine, &state), PTSIM_OK);
        ck_assert_int_eq(engine_step(engine).kind, ENGINE_STOPPED);
        engine_save(engine, &state);
        ck_assert_uint_eq(state.gpr[ARCH_RDI], DATA + i);
        ck_assert_uint_eq(state.gpr[ARCH_RCX], 3 - i);
    }
    ck_assert_uint_eq(state.rip, CODE + 2);
}
END_TEST

/* The guest's own RFLAGS.TF: one instruction, then the trap. */
START_TEST(trap_flag)
{
    struct engine_exit exit;

    PUT(CODE, 0x48, 0xff, 0xc0, 0x9c /* pushfq */, 0x48, 0xff, 0xc0);
    start_64(3);
    state.rflags |= RFLAGS_TF;
    for (unsigned i = 0; i < 2; i++) {
        exit = run();
        ck_assert_int_eq(exit.kind, ENGINE_TRAP);
        ck_assert_uint_eq(exit.fault.vector, ARCH_DB);
        ck_assert(!exit.fault.has_error);
        ck_assert_uint_eq(state.rip, CODE + 3 + i);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], 1);
        ck_assert(state.rflags & RFLAGS_TF);
    }
    ck_assert(mem_port_read(&port, STACK - 8, 8) & RFLAGS_TF);
}
END_TEST

/* Blocks end after 512 instructions and are all announced. */
START_TEST(long_blocks)
{
    for (unsigned i = 0; i < 1300; i++)
        PUT(CODE + i, 0x90);
    start_64(0);
    run_to(CODE + 1300);
    ck_assert_uint_eq(block_count, 3);
    ck_assert_uint_eq(blocks[0].linear, CODE);
    ck_assert_uint_eq(blocks[1].linear, CODE + 512);
    ck_assert_uint_eq(blocks[2].linear, CODE + 1024);
}
END_TEST

/* More code than Unicorn has room for translations of. */
enum {
    LONG_CODE_END = 0x230000
};
static uint64_t next_block, announced, blocks_in_order;

static void in_order(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    (void)uc;
    (void)ctx;
    blocks_in_order += linear == next_block;
    block_count++;
    announced = linear;
    next_block = linear + size;
    if (linear >= LONG_CODE_END || linear == stop_at_block)
        engine_stop(engine);
}

/* Blocks are announced one after the other, each once, and a write to what was translated
 * before is still noticed. */
START_TEST(more_code_than_room)
{
    struct engine_ops counting = ops;

    counting.block = in_order;
    engine_free(engine);
    engine = engine_new(memory, &counting, NULL);
    start_64(0);
    state.gpr[ARCH_RAX] = 2 * LONG_CODE_END; /* the code is all zeros: add [rax], al */
    next_block = CODE;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_gt(block_count, 3800);
    ck_assert_uint_eq(block_count, blocks_in_order);
    ck_assert_uint_eq(state.rip, announced);
    /* its start is no longer translated */
    state.rip = CODE;
    change_count = 0;
    stop_at_block = CODE;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert(change_covers(CODE));
    stop_at_block = 0;
    PUT(CODE, 0xb0, 0x11, 0x90);       /* mov al, 0x11; nop */
    PUT(DATA, 0x88, 0x0b, 0xff, 0xe2); /* mov [rbx], cl; jmp rdx */
    for (unsigned i = 0; i < 3; i++) {
        state.rip = DATA;
        state.gpr[ARCH_RBX] = CODE + 1;
        state.gpr[ARCH_RCX] = 0x20 + i;
        state.gpr[ARCH_RDX] = CODE;
        run_to(CODE + 2);
        ck_assert_uint_eq(state.gpr[ARCH_RAX] & 0xff, 0x20 + i);
    }
}
END_TEST

START_TEST(stop_in_a_block_hook)
{
    PUT(CODE, 0x48, 0xff, 0xc0, 0xeb, 0xfb);
    start_64(0);
    stop_at_block = CODE;
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_uint_eq(state.rip, CODE);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], 0);
    }
}
END_TEST

/* Code that writes code, through its own or another mapping of the page; the changed
 * instruction is in the block that writes, or in another one. */
START_TEST(self_modifying_code)
{
    bool alias = _i & 1;
    bool same_block = _i & 2;
    uint64_t target = same_block ? CODE + 3 : CODE + 0x100;
    uint64_t end = target + 2;

    /* mov [rbx+1], cl; then in the same block, or over a jump to another: mov al, 0x11; nop */
    PUT(CODE, 0x88, 0x4b, 0x01, 0xe9, 0xf8, 0x00, 0x00, 0x00);
    PUT(target, 0xb0, 0x11, 0x90);
    add_page((struct page){ .linear = BAD, .phys = CODE });
    start_64(0);
    for (unsigned i = 0; i < 5; i++) {
        state.rip = CODE;
        state.gpr[ARCH_RBX] = alias ? target - CODE + BAD : target;
        state.gpr[ARCH_RCX] = 0x20 + i;
        change_count = 0;
        if (i == 0)
            run_to(end);
        else
            ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_uint_eq(state.rip, end);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x20 + i);
        ck_assert(change_covers(target) || change_covers(CODE));
    }
}
END_TEST

/* The engine's models write code: a handler's frame, a debugger, a loader. */
START_TEST(code_written_by_models)
{
    PUT(CODE, 0xb0, 0x11, 0x90);
    start_64(0);
    run_to(CODE + 2);
    for (unsigned i = 0; i < 3; i++) {
        PUT(CODE + 1, (uint8_t)(0x30 + i));
        state.rip = CODE;
        change_count = 0;
        ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x30 + i);
        ck_assert(change_covers(CODE));
    }
}
END_TEST

/* The page tables put another page there, whose code was translated long ago. */
START_TEST(code_of_another_page)
{
    static const uint64_t phys[] = { CODE, CODE + PAGE };

    PUT(CODE, 0xb0, 0x11, 0x90);
    PUT(CODE + PAGE, 0xb0, 0x22, 0x90);
    add_page((struct page){ .linear = BAD, .phys = CODE });
    start_64(0);
    state.rip = BAD;
    run_to(BAD + 2);
    for (unsigned i = 1; i < 6; i++) {
        pages[0].phys = phys[i % 2];
        engine_flush_tlb(engine);
        state.rip = BAD;
        change_count = 0;
        ck_assert_int_eq(run().kind, ENGINE_STOPPED);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], i % 2 ? 0x22 : 0x11);
        ck_assert(change_covers(BAD));
    }
    /* and where nothing changed nothing is said */
    engine_flush_tlb(engine);
    state.rip = BAD;
    change_count = 0;
    ck_assert_int_eq(run().kind, ENGINE_STOPPED);
    ck_assert_uint_eq(change_count, 0);
}
END_TEST

/* Segment bases no selector has, in real mode: SMRAM above 1 MByte, and 4-GByte data. */
START_TEST(real_mode_with_any_base)
{
    static const uint32_t cs_bases[] = { 0x30000, 0xa0000, 0x300000, 0xfffff0 - 0xfff0, 0x1000 };

    start(&modes[0]);
    state.sreg[ARCH_CS] = code_seg(0x3000, cs_bases[_i], 16, 0);
    state.sreg[ARCH_DS] = data_seg(0x0003, 0, 16, 0);
    state.sreg[ARCH_FS] = data_seg(0x1237, 0x400000, 16, 0);
    state.sreg[ARCH_GS] = data_seg(0x0000, 0x500000, 16, 0);
    state.rip = 0x8000;
    state.gpr[ARCH_RBX] = 0x700123;
    /* mov eax, [ebx]; mov cx, cs; mov dx, ds; mov si, fs; mov di, fs:[0]; mov bp, gs:[0] */
    PUT(cs_bases[_i] + 0x8000, 0x67, 0x66, 0x8b, 0x03, 0x8c, 0xc9, 0x8c, 0xda, 0x8c, 0xe6, 0x64,
        0x8b, 0x3e, 0x00, 0x00, 0x65, 0x8b, 0x2e, 0x00, 0x00, 0x90);
    PUT(0x700123, 0x44, 0x33, 0x22, 0x11);
    PUT(0x400000, 0x34, 0x12);
    PUT(0x500000, 0x78, 0x56);
    run_to(cs_bases[_i] + 0x8000 + 20);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 0x11223344);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], 0x3000);
    ck_assert_uint_eq(state.gpr[ARCH_RDX], 0x0003);
    ck_assert_uint_eq(state.gpr[ARCH_RSI], 0x1237);
    ck_assert_uint_eq(state.gpr[ARCH_RDI], 0x1234);
    ck_assert_uint_eq(state.gpr[ARCH_RBP], 0x5678);
}
END_TEST

/* What native code may read of the descriptor tables. */
START_TEST(descriptor_table_registers)
{
    start_64(0);
    state.gdtr = (struct arch_table){ .base = UINT64_C(0xffff800000001230), .limit = 0x7f };
    state.idtr = (struct arch_table){ .base = UINT64_C(0xffff900000004560), .limit = 0xfff };
    state.ldtr = (struct arch_seg){ .selector = 0x28, .ar = 0x82 };
    state.tr = (struct arch_seg){ .selector = 0x40, .ar = 0x8b };
    state.gpr[ARCH_RBX] = DATA;
    /* sgdt [rbx]; sidt [rbx+16]; sldt ecx; str edx; nop */
    PUT(CODE, 0x0f, 0x01, 0x03, 0x0f, 0x01, 0x4b, 0x10, 0x0f, 0x00, 0xc1, 0x0f, 0x00, 0xca, 0x90);
    run_to(CODE + 13);
    ck_assert_uint_eq(mem_port_read(&port, DATA, 2), 0x7f);
    ck_assert_uint_eq(mem_port_read(&port, DATA + 2, 8), state.gdtr.base);
    ck_assert_uint_eq(mem_port_read(&port, DATA + 16, 2), 0xfff);
    ck_assert_uint_eq(mem_port_read(&port, DATA + 18, 8), state.idtr.base);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], 0x28);
    ck_assert_uint_eq(state.gpr[ARCH_RDX], 0x40);
}
END_TEST

START_TEST(fs_and_gs_base)
{
    start_64(3);
    state.cr4 |= CR4_FSGSBASE;
    state.sreg[ARCH_FS].base = DATA;
    state.sreg[ARCH_GS].base = DATA + 8;
    PUT(DATA, 1, 0, 0, 0, 0, 0, 0, 0, 2);
    state.gpr[ARCH_RDI] = DATA + 16;
    /* mov al, fs:[0]; mov cl, gs:[0]; wrfsbase rdi; nop */
    PUT(CODE, 0x64, 0x8a, 0x04, 0x25, 0, 0, 0, 0, 0x65, 0x8a, 0x0c, 0x25, 0, 0, 0, 0, 0xf3, 0x48,
        0x0f, 0xae, 0xd7, 0x90);
    run_to(CODE + 21);
    ck_assert_uint_eq(state.gpr[ARCH_RAX], 1);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], 2);
    ck_assert_uint_eq(state.sreg[ARCH_FS].base, DATA + 16);
    ck_assert_uint_eq(state.sreg[ARCH_GS].base, DATA + 8);
}
END_TEST

/* Values of registers, flags and RIP that were loaded are the ones that are saved. */
START_TEST(registers_round_trip)
{
    struct arch_state before;

    start_64(0);
    for (unsigned i = 0; i < ARCH_GPRS; i++)
        state.gpr[i] = UINT64_C(0x0102030405060708) * (i + 1);
    state.rflags |= RFLAGS_CF | RFLAGS_AF | RFLAGS_OF | RFLAGS_DF | RFLAGS_IF | RFLAGS_ID;
    PUT(CODE, 0x90, 0x90);
    before = state;
    run_to(CODE + 1);
    ck_assert_mem_eq(state.gpr, before.gpr, sizeof(state.gpr));
    ck_assert_uint_eq(state.rflags, before.rflags);
}
END_TEST

START_TEST(last_page_is_refused)
{
    uint64_t top = UINT64_C(0xfffffffffffff000);
    struct engine_exit exit;

    add_page((struct page){ .linear = top, .phys = CODE });
    start_64(0);
    state.rip = top + 0x10;
    exit = run();
    ck_assert_int_eq(exit.kind, ENGINE_ERROR);
    ck_assert_ptr_nonnull(strstr(exit.error, "last page"));
}
END_TEST

START_TEST(states_of_no_processor)
{
    start(&modes[11]);
    state.sreg[ARCH_DS].base = 0x12345;
    ck_assert_int_eq(engine_load(engine, &state), PTSIM_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tcase = tcase_create("engine");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, runs_64_bit_code, 0, 2);
    tcase_add_loop_test(tcase, mode_is_the_one_loaded, 0, MODES);
    tcase_add_loop_test(tcase, cpl_is_the_one_loaded, 0, MODES);
    tcase_add_test(tcase, modes_follow_each_other);
    tcase_add_loop_test(tcase, page_fault_is_precise, 0, TEST_COUNT(page_faults));
    tcase_add_loop_test(tcase, page_fault_in_repeated_string, 0, 3);
    tcase_add_loop_test(tcase, page_fault_of_the_next_code_page, 0, 3);
    tcase_add_test(tcase, intercept_before_the_absent_code_page);
    tcase_add_test(tcase, first_write_walks_again);
    tcase_add_test(tcase, user_and_supervisor_have_their_own_translations);
    tcase_add_test(tcase, flushed_translations_are_asked_for_again);
    tcase_add_test(tcase, no_ram);
    tcase_add_test(tcase, no_ram_after_code);
    tcase_add_test(tcase, smap_keeps_code_from_being_read);
    tcase_add_loop_test(tcase, exception_at_its_instruction, 0, TEST_COUNT(exceptions));
    tcase_add_test(tcase, bound_range_exceeded);
    tcase_add_test(tcase, fpu_state_survives);
    tcase_add_loop_test(tcase, fpu_state_at_the_start, 0, 2);
    tcase_add_loop_test(tcase, xcr0_is_the_one_loaded, 0, 2);
    tcase_add_test(tcase, intercepts);
    tcase_add_test(tcase, intercept_in_a_block_hook);
    tcase_add_test(tcase, intercept_of_an_absent_page);
    tcase_add_test(tcase, hundreds_of_intercepts);
    tcase_add_loop_test(tcase, steps_one_instruction, 0, MODES);
    tcase_add_test(tcase, step_that_faults);
    tcase_add_test(tcase, step_of_a_repeated_string);
    tcase_add_test(tcase, trap_flag);
    tcase_add_test(tcase, long_blocks);
    tcase_add_test(tcase, more_code_than_room);
    tcase_add_test(tcase, stop_in_a_block_hook);
    tcase_add_loop_test(tcase, self_modifying_code, 0, 4);
    tcase_add_test(tcase, code_written_by_models);
    tcase_add_test(tcase, code_of_another_page);
    tcase_add_loop_test(tcase, real_mode_with_any_base, 0, 5);
    tcase_add_test(tcase, descriptor_table_registers);
    tcase_add_test(tcase, fs_and_gs_base);
    tcase_add_test(tcase, registers_round_trip);
    tcase_add_test(tcase, last_page_is_refused);
    tcase_add_test(tcase, states_of_no_processor);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
