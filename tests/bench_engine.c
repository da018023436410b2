/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the engine costs: a block hook, an intercept, a change of CPL, a new hidden state, a page
 * fault, a step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../sim/engine.h"

enum {
    CODE = 0x10000,
    MEMORY = 1 << 24,
    ABSENT = 0x40000000,
    TIMES = 100000
};

static struct memory *memory;
static struct engine *engine;
static struct arch_state state;
static uint64_t blocks;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void empty_block(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    (void)uc;
    (void)linear;
    (void)size;
    (void)ctx;
}

static void count_block(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    (void)uc;
    (void)linear;
    (void)size;
    (void)ctx;
    blocks++;
}

static struct arch_fault translate(void *ctx, uint64_t linear, enum arch_access access,
                                   struct arch_translation *out)
{
    (void)ctx;
    (void)access;
    *out = (struct arch_translation){
        .phys = linear, .page_size = 4096, .write = true, .user = true, .execute = true
    };
    return linear < MEMORY ? ARCH_NO_FAULT : arch_page_fault(linear, 0);
}

static const struct engine_ops hooked = { .block = empty_block, .translate = translate };

static void start_64(unsigned cpl)
{
    uint32_t dpl = cpl << ARCH_AR_DPL_SHIFT;

    memset(&state, 0, sizeof(state));
    state.cr0 = CR0_PE | CR0_PG | CR0_NE;
    state.cr4 = CR4_PAE | CR4_OSFXSR;
    state.efer = EFER_LME | EFER_LMA;
    state.rflags = RFLAGS_FIXED1;
    state.cpl = (uint8_t)cpl;
    state.rip = CODE;
    for (unsigned i = 0; i < ARCH_SREGS; i++)
        state.sreg[i].ar = 0x3 | ARCH_AR_S | ARCH_AR_P | ARCH_AR_DB | dpl;
    state.sreg[ARCH_CS].ar = 0xb | ARCH_AR_S | ARCH_AR_P | ARCH_AR_L | dpl;
}

static void load(void)
{
    if (engine_load(engine, &state) != PTSIM_OK)
        abort();
}

static void run(enum engine_exit_kind kind)
{
    load();
    if (engine_run(engine).kind != kind)
        abort();
    engine_save(engine, &state);
}

static void put(const uint8_t *code, size_t size)
{
    struct mem_port port = memory_port(memory);

    port.write(port.ctx, CODE, code, size);
}

/* inc rax; dec rcx; jnz to the start: the worst case for a block hook. */
static double loop_speed(engine_block_fn *block)
{
    static const uint8_t loop[] = { 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc9, 0x75, 0xf8, 0x90 };
    const struct engine_ops ops = { .block = block, .translate = translate };
    const uint64_t turns = 100000000;
    double begin;

    engine = engine_new(memory, &ops, NULL);
    put(loop, sizeof(loop));
    start_64(0);
    state.gpr[ARCH_RCX] = turns;
    load();
    engine_intercept(engine, CODE + sizeof(loop) - 1);
    begin = now();
    run(ENGINE_STOPPED);
    begin = now() - begin;
    engine_free(engine);
    return 3 * (double)turns / begin;
}

static void loops(void)
{
    static const struct {
        const char *name;
        engine_block_fn *block;
    } hooks[] = { { "no hook", NULL }, { "empty hook", empty_block }, { "counting", count_block } };
    double base = 0;

    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        double speed = 0;

        for (int again = 0; again < 3; again++) {
            double s = loop_speed(hooks[i].block);

            speed = s > speed ? s : speed;
        }
        base = i ? base : speed;
        printf("3-instruction blocks, %-10s %7.0f M instr/s %5.2f  %+.2f ns a block\n",
               hooks[i].name, speed / 1e6, speed / base, 3e9 / speed - 3e9 / base);
    }
}

static void report(const char *what, double begin)
{
    printf("%-38s %8.3f us\n", what, (now() - begin) / TIMES * 1e6);
}

/* Stop at an intercept, save, load, go on. */
static void intercepts(void)
{
    static const uint8_t code[] = { 0x90, 0x90, 0xeb, 0xfc };
    double begin;

    put(code, sizeof(code));
    start_64(0);
    load();
    engine_intercept(engine, CODE + 1);
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        run(ENGINE_STOPPED);
        state.rip++;
    }
    report("intercept and back", begin);
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        unsigned cpl = i % 2 ? 3 : 0;
        uint64_t rip = state.rip;

        start_64(cpl);
        state.rip = rip;
        run(ENGINE_STOPPED);
        state.rip++;
    }
    report("the same with a change of CPL", begin);
    engine_forget(engine, CODE + 1);
}

/* The same with many more elsewhere. */
static void many_intercepts(void)
{
    static const uint8_t code[] = { 0x90, 0x90, 0xeb, 0xfc };
    enum {
        MANY = 500
    };
    double begin;

    put(code, sizeof(code));
    start_64(0);
    load();
    for (uint64_t i = 0; i < MANY; i++)
        engine_intercept(engine, 2 * CODE + i);
    engine_intercept(engine, CODE + 1);
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        run(ENGINE_STOPPED);
        state.rip++;
    }
    report("intercept, with 500 others", begin);
    for (uint64_t i = 0; i < MANY; i++)
        engine_forget(engine, 2 * CODE + i);
    engine_forget(engine, CODE + 1);
}

static void new_states(void)
{
    double begin = now();

    for (int i = 0; i < TIMES; i++) {
        start_64(0);
        state.sreg[ARCH_FS].selector = (uint16_t)i;
        state.sreg[ARCH_GS].selector = (uint16_t)(i >> 8);
        load();
    }
    report("hidden state never seen", begin);
}

static void faults(void)
{
    static const uint8_t fetch[] = { 0xff, 0xe3 }, read[] = { 0x8a, 0x03 };
    double begin;

    start_64(3);
    state.gpr[ARCH_RBX] = ABSENT;
    put(read, sizeof(read));
    begin = now();
    for (int i = 0; i < TIMES; i++)
        run(ENGINE_FAULT);
    report("page fault, data", begin);
    put(fetch, sizeof(fetch));
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        state.rip = CODE;
        run(ENGINE_FAULT);
    }
    report("page fault, code", begin);
}

static void steps(void)
{
    static const uint8_t code[] = { 0x90, 0x90, 0xeb, 0xfc };
    double begin;

    put(code, sizeof(code));
    start_64(3);
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        load();
        if (engine_step(engine).kind != ENGINE_STOPPED)
            abort();
        engine_save(engine, &state);
    }
    report("step", begin);
}

static void big_guest(void)
{
    double begin = now();
    struct memory *big = memory_new(UINT64_C(16) << 30);

    engine = engine_new(big, &hooked, NULL);
    printf("%-38s %8.3f ms\n", "start with 16 GBytes", (now() - begin) * 1e3);
    engine_free(engine);
    memory_free(big);
}

int main(void)
{
    memory = memory_new(MEMORY);
    loops();
    engine = engine_new(memory, &hooked, NULL);
    intercepts();
    many_intercepts();
    new_states();
    faults();
    steps();
    engine_free(engine);
    big_guest();
    memory_free(memory);
    return EXIT_SUCCESS;
}
