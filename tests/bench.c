/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast traced code runs: the same guest programs under Unicorn without hooks, with an empty
 * block hook, and traced, and what each is against the others. Then the packets alone.
 *
 * Usage: bench FILE... (ELF files of tests/bench/). Each configuration runs several times, in
 * turn with the others, and the median counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../models/bits.h"
#include "../sim/elf.h"
#include "../sim/machine.h"
#include "bench_packets.h"

enum {
    MEMORY = 64 << 20,
    PML4 = 0x10000,
    STACK = 0x80000,
    TRACE = 32 << 20,       /* a region that is written round and round */
    TRACE_SIZE = 128 << 10, /* what perf takes where it is not told */
    TURNS = 7,
    PROGRAMS_MAX = 16,
    SAMPLE = 16 << 10, /* of each program's trace, for the packets alone */
};

enum config {
    NO_HOOK,
    EMPTY_HOOK,
    BRANCHES,
    TIMING,
    CONFIGS
};

static const char *const config_names[CONFIGS] = { "no hook", "empty hook", "branches",
                                                   "CYC+MTC+TSC" };

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * The guest: 64-bit code at CPL 0, linear addresses physical
 */

static void load_program(const struct elf *elf, struct memory *memory)
{
    struct mem_port mem = memory_port(memory);
    const struct elf_segment *segment = elf->segment;

    for (unsigned i = 0; i < elf->segments; i++)
        mem.write(mem.ctx, segment[i].address, segment[i].data, segment[i].file_size);
}

static void map_memory(struct memory *memory)
{
    enum {
        P_RW = 3,
        PS = 0x80
    };
    struct mem_port mem = memory_port(memory);

    mem_port_write(&mem, PML4, (PML4 + 0x1000) | P_RW, 8);
    mem_port_write(&mem, PML4 + 0x1000, (PML4 + 0x2000) | P_RW, 8);
    for (unsigned i = 0; i < 512; i++)
        mem_port_write(&mem, PML4 + 0x2000 + i * 8u, (uint64_t)i << 21 | PS | P_RW, 8);
}

static void set_up(const struct elf *elf, struct arch_state *state)
{
    arch_setup(state, ARCH_MODE_LONG64, 0);
    state->cr3 = PML4;
    state->rip = elf->entry;
    state->gpr[ARCH_RSP] = STACK;
}

/*
 * Without the simulator: the engine alone
 */

static void empty_block(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    (void)uc;
    (void)linear;
    (void)size;
    (void)ctx;
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

static double run_engine(const struct elf *elf, engine_block_fn *block)
{
    const struct engine_ops ops = { .block = block, .translate = translate };
    struct memory *memory = memory_new(MEMORY);
    struct engine *engine = engine_new(memory, &ops, NULL);
    struct engine_exit end;
    struct arch_state state;
    double time;

    load_program(elf, memory);
    set_up(elf, &state);
    if (engine_load(engine, &state) != PTSIM_OK)
        die("engine", "does not take the state");
    time = now();
    end = engine_run(engine);
    time = now() - time;
    if (end.kind != ENGINE_STOPPED) /* by HLT, which Unicorn executes by itself */
        die("engine", "stopped elsewhere");
    engine_free(engine);
    memory_free(memory);
    return time;
}

/*
 * With it
 */

static void write_msr(struct lp *lp, uint32_t index, uint64_t value)
{
    struct ev_context context = arch_context(&lp->arch);
    struct ptsim_event event = { .kind = EV_WRMSR,
                                 .from_ip = lp->arch.rip,
                                 .next_ip = lp->arch.rip,
                                 .to_ip = lp->arch.rip,
                                 .before = context,
                                 .after = context };

    if (lp_wrmsr(lp, index, value, &event).raised)
        die("WRMSR", "#GP");
}

/* A single range, no filter; with timing: CYC of every threshold, MTC at 1/8 of the crystal clock's
 * ticks, TSC. */
static void trace(struct lp *lp, bool timing)
{
    enum {
        IA32_RTIT_OUTPUT_BASE = 0x560,
        IA32_RTIT_OUTPUT_MASK_PTRS,
        IA32_RTIT_CTL = 0x570,
        TRACE_EN = 1 << 0,
        CYC_EN = 1 << 1,
        OS = 1 << 2,
        MTC_EN = 1 << 9,
        TSC_EN = 1 << 10,
        BRANCH_EN = 1 << 13,
        MTC_FREQ_3 = 3 << 14,
    };

    write_msr(lp, IA32_RTIT_OUTPUT_BASE, TRACE);
    write_msr(lp, IA32_RTIT_OUTPUT_MASK_PTRS, TRACE_SIZE - 1);
    write_msr(lp, IA32_RTIT_CTL,
              TRACE_EN | OS | BRANCH_EN | (timing ? CYC_EN | MTC_EN | TSC_EN | MTC_FREQ_3 : 0));
}

/* The beginnings of the programs' traces, with all timing packets. */
static struct sample {
    uint8_t bytes[PROGRAMS_MAX * SAMPLE];
    size_t size, end;
} sample;

static void take_sample(void *ctx, uint64_t phys, const uint8_t *data, size_t size)
{
    struct sample *s = ctx;

    (void)phys;
    if (size > s->end - s->size)
        size = s->end - s->size;
    memcpy(s->bytes + s->size, data, size);
    s->size += size;
}

static double run_machine(const struct elf *elf, bool timing, uint64_t *instructions)
{
    struct machine *machine = machine_new(cpu_profile_find("max"), MEMORY);
    struct lp *lp = machine_lp(machine);
    double time;

    load_program(elf, machine_memory(machine));
    map_memory(machine_memory(machine));
    set_up(elf, &lp->arch);
    if (timing && sample.size < sample.end)
        lp->pt.tap = (struct ipt_tap){ &sample, take_sample };
    trace(lp, timing);
    time = now();
    if (machine_run(machine, UINT64_MAX) != MACHINE_HALTED)
        die("machine", machine_error(machine));
    time = now() - time;
    *instructions = machine_instructions(machine);
    machine_free(machine);
    return time;
}

/*
 * Measuring
 */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *value, size_t count)
{
    qsort(value, count, sizeof(value[0]), compare);
    return value[count / 2];
}

static double run(const struct elf *elf, enum config config, uint64_t *instructions)
{
    switch (config) {
    case NO_HOOK:
        return run_engine(elf, NULL);
    case EMPTY_HOOK:
        return run_engine(elf, empty_block);
    default:
        return run_machine(elf, config == TIMING, instructions);
    }
}

/* Fills in instructions per second for each configuration. */
static void measure(const char *path, double speed[CONFIGS])
{
    double time[CONFIGS][TURNS];
    uint64_t instructions = 0;
    struct elf elf;
    char error[256];

    if (!elf_read(path, &elf, error, sizeof(error)))
        die(path, error);
    sample.end = sample.size + SAMPLE;
    for (int turn = 0; turn < TURNS; turn++)
        for (int config = 0; config < CONFIGS; config++)
            time[config][turn] = run(&elf, (enum config)config, &instructions);
    for (int config = 0; config < CONFIGS; config++)
        speed[config] = (double)instructions / median(time[config], TURNS);
    elf_free(&elf);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void print_program(const char *path, const double speed[CONFIGS])
{
    printf("%-14.*s", (int)strcspn(base_name(path), "."), base_name(path));
    for (int config = 0; config < CONFIGS; config++)
        printf(" %11.0f", speed[config] / 1e6);
    printf("   %5.2f %5.2f   %5.2f %5.2f\n", speed[BRANCHES] / speed[EMPTY_HOOK],
           speed[TIMING] / speed[EMPTY_HOOK], speed[BRANCHES] / speed[NO_HOOK],
           speed[TIMING] / speed[NO_HOOK]);
}

static void print_means(double speed[][CONFIGS], int programs)
{
    double sum[CONFIGS] = { 0 };

    for (int i = 0; i < programs; i++)
        for (int config = 0; config < CONFIGS; config++)
            sum[config] += log(speed[i][config]) / programs;
    printf("%-62s   %5.2f %5.2f   %5.2f %5.2f\n", "geometric mean",
           exp(sum[BRANCHES] - sum[EMPTY_HOOK]), exp(sum[TIMING] - sum[EMPTY_HOOK]),
           exp(sum[BRANCHES] - sum[NO_HOOK]), exp(sum[TIMING] - sum[NO_HOOK]));
}

int main(int argc, char **argv)
{
    double speed[PROGRAMS_MAX][CONFIGS];
    int programs = argc - 1 < PROGRAMS_MAX ? argc - 1 : PROGRAMS_MAX;

    printf("%-14s", "M instr/s");
    for (int config = 0; config < CONFIGS; config++)
        printf(" %11s", config_names[config]);
    printf("   %11s   %11s\n", "/empty hook", "/no hook");
    for (int i = 0; i < programs; i++) {
        measure(argv[i + 1], speed[i]);
        print_program(argv[i + 1], speed[i]);
        fflush(stdout);
    }
    print_means(speed, programs);
    puts("");
    bench_packets(sample.bytes, sample.size);
    return 0;
}
