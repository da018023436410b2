/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../models/bits.h"
#include "packet_text.h"
#include "scenario_msrs.h"

/* ---- events ---- */

enum action {
#define SCN_ACTION(id, name, argument) ACTION_##id,
#include "scenario_tables.def"
};

enum argument {
    ARGUMENT_none,
    ARGUMENT_vector,
    ARGUMENT_cycles,
    ARGUMENT_ticks,
    ARGUMENT_ratio,
    ARGUMENTS
};

static const char *const action_words[] = {
#define SCN_ACTION(id, name, argument) name,
#include "scenario_tables.def"
    NULL,
};

static const enum argument action_arguments[] = {
#define SCN_ACTION(id, name, argument) ARGUMENT_##argument,
#include "scenario_tables.def"
};

/* What machine_at() and machine_after() call for an event. */
struct happening {
    enum action action;
    uint64_t argument;
};

static void happen(void *ctx, struct machine *machine)
{
    const struct happening *happening = ctx;

    switch (happening->action) {
    case ACTION_INTERRUPT:
        machine_inject(machine,
                       &(struct arch_interruption){ .type = ARCH_INT_EXTERNAL,
                                                    .vector = (uint8_t)happening->argument });
        break;
    case ACTION_NMI:
        machine_inject(machine,
                       &(struct arch_interruption){ .type = ARCH_INT_NMI, .vector = ARCH_NMI });
        break;
    case ACTION_SMI:
        machine_smi(machine);
        break;
    case ACTION_INIT:
        machine_signal_init(machine);
        break;
    case ACTION_SIPI:
        machine_sipi(machine, (uint8_t)happening->argument);
        break;
    case ACTION_MACHINE_CHECK:
        machine_check(machine);
        break;
    case ACTION_STALL:
        machine_stall(machine, happening->argument);
        break;
    case ACTION_RESET_CYCLE_COUNTER:
        machine_reset_cycle_counter(machine, happening->argument);
        break;
    case ACTION_OVERFLOW:
        machine_overflow(machine);
        break;
    case ACTION_OVERFLOW_END:
        machine_overflow_end(machine);
        break;
    case ACTION_SLEEP:
        machine_sleep(machine, happening->argument);
        break;
    case ACTION_MONITORED_STORE:
        machine_monitored_store(machine);
        break;
    case ACTION_DUTY_CYCLE:
        machine_duty_cycle(machine, happening->argument);
        break;
    case ACTION_FREQUENCY:
        machine_set_core_ratio(machine, (uint8_t)happening->argument);
        break;
    }
}

static bool read_argument(const struct scenario *s, const struct scn_happening *event,
                          struct happening *happening)
{
    const struct scn_text *const texts[ARGUMENTS] = {
        [ARGUMENT_none] = NULL,
        [ARGUMENT_vector] = &event->vector,
        [ARGUMENT_cycles] = &event->cycles,
        [ARGUMENT_ticks] = &event->ticks,
        [ARGUMENT_ratio] = &event->ratio,
    };
    static const uint64_t min[ARGUMENTS] = { [ARGUMENT_ratio] = 1 };
    static const uint64_t max[ARGUMENTS] = {
        [ARGUMENT_vector] = 255,
        [ARGUMENT_cycles] = UINT32_MAX,
        [ARGUMENT_ticks] = UINT64_MAX >> 8, /* years, which the clock can still count */
        [ARGUMENT_ratio] = 255,
    };
    static const char *const names[ARGUMENTS] = { "", "vector", "cycles", "ticks", "ratio" };
    enum argument needed = action_arguments[happening->action];

    for (enum argument i = ARGUMENT_vector; i < ARGUMENTS; i++)
        if (i != needed && texts[i]->text)
            return SCN_MISTAKE(s, texts[i], "'%s' has no %s", event->action.text, names[i]);
    if (needed == ARGUMENT_none)
        return true;
    if (!texts[needed]->text)
        return SCN_MISTAKE(s, &event->here, "the key '%s' is missing", names[needed]);
    return scn_number(s, texts[needed], 0, min[needed], max[needed], &happening->argument);
}

/* Has FN called at one of the keys `at` (with `nth`) and `after`. */
static bool call_at(const struct scenario *s, struct machine *machine, const struct scn_text *here,
                    const struct scn_text *at, const struct scn_text *nth,
                    const struct scn_text *after, machine_at_fn *fn, void *ctx)
{
    uint64_t linear, times, instructions;
    enum ptsim_status status;

    if (!at->text == !after->text)
        return SCN_MISTAKE(s, here, "expected one of the keys 'at' and 'after'");
    if (nth->text && !at->text)
        return SCN_MISTAKE(s, nth, "'nth' goes with 'at'");
    if (!scn_value(s, at, 0, &linear) || !scn_number(s, nth, 1, 1, UINT64_MAX, &times) ||
        !scn_number(s, after, 0, 0, UINT64_MAX, &instructions))
        return false;
    status = at->text ? machine_at(machine, linear, times, fn, ctx)
                      : machine_after(machine, instructions, fn, ctx);
    return status == PTSIM_OK || SCN_MISTAKE(s, here, "%s", ptsim_status_text(status));
}

static bool plan_event(const struct run *run, const struct scn_happening *event,
                       struct happening *happening)
{
    const struct scenario *s = &run->scenario;
    unsigned action;

    if (!scn_word(s, &event->action, action_words, 0, &action))
        return false;
    happening->action = (enum action)action;
    return read_argument(s, event, happening) &&
           call_at(s, run->machine, &event->here, &event->at, &event->nth, &event->after, happen,
                   happening);
}

/* ---- the stop ---- */

static void stop(void *ctx, struct machine *machine)
{
    (void)ctx;
    machine_stop(machine);
}

/* How the run has to end. */
static bool plan_stop(const struct run *run, enum machine_end *expected)
{
    static const char *const words[] = { "hlt", "shutdown", NULL };
    static const enum machine_end ends[] = { MACHINE_HALTED, MACHINE_SHUTDOWN };
    const struct scenario *s = &run->scenario;
    const struct scn_stop *key = s->file->stop;
    static const struct scn_stop by_default = { .at = { .text = (char *)(uintptr_t) "stop" } };
    unsigned word;

    *expected = MACHINE_STOPPED;
    if (!key && !symbols_find(&s->symbols, "stop", 4))
        return SCN_MISTAKE(s, &s->file->code,
                           "no label 'stop', where a run without the key 'stop' ends");
    if (!key)
        key = &by_default;
    if (!key->on.text)
        return call_at(s, run->machine, &key->here, &key->at, &key->nth, &key->after, stop, NULL);
    if (key->at.text || key->nth.text || key->after.text)
        return SCN_MISTAKE(s, &key->here, "'on' stands alone");
    if (!scn_word(s, &key->on, words, 0, &word))
        return false;
    *expected = ends[word];
    return true;
}

/* ---- watching ---- */

static void store(void *ctx, uint64_t phys, const uint8_t *data, size_t size)
{
    struct run *run = ctx;

    (void)phys;
    if (run->dir)
        trace_dir_store(run->dir, data, size);
    if (run->trace_size + size > run->trace_room) {
        size_t room = 2 * (run->trace_size + size);
        uint8_t *grown = realloc(run->trace, room);

        if (!grown) {
            run->no_memory = true;
            return;
        }
        run->trace = grown;
        run->trace_room = room;
    }
    memcpy(run->trace + run->trace_size, data, size);
    run->trace_size += size;
}

static void count(void *ctx, const uint64_t *ip, size_t n)
{
    struct run *run = ctx;

    for (size_t i = 0; i < n; i++)
        for (size_t line = 0; line < run->code.lines; line++)
            if (run->code.line[line].address == ip[i])
                run->executed[line]++;
}

/* The ranges that are in use, for the decoder's arguments. */
static void write_ranges(const struct run *run)
{
    const struct ipt *pt = &machine_lp(run->machine)->pt;

    for (unsigned n = 0; n < IPT_RANGES_MAX; n++) {
        unsigned cfg = (unsigned)bits_get(run->rtit_ctl, 35 + 4 * n, 32 + 4 * n);

        if (cfg && !image_range(trace_dir_image(run->dir), n, cfg, pt->addr[n][0], pt->addr[n][1]))
            trace_dir_fail(run->dir);
    }
}

static bool open_output(struct run *run, const char *path)
{
    if (!path)
        return true;
    run->dir = trace_dir_open(path);
    if (!run->dir)
        return mistake(&run->mistake, path, (struct place){ .line = 0 }, "cannot be written: %s",
                       strerror(errno));
    trace_dir_watch(run->dir, run->machine, UINT64_MAX);
    for (size_t i = 0; i < run->pages.count; i++)
        if (!image_add(trace_dir_image(run->dir), run->pages.page[i].linear,
                       run->pages.page[i].bytes, sizeof(run->pages.page[i].bytes)))
            trace_dir_fail(run->dir);
    return true;
}

static bool close_output(struct run *run, const char *path)
{
    bool fine = !run->dir || trace_dir_close(run->dir, run->scenario.cpu, run->rtit_ctl);

    run->dir = NULL;
    return fine || mistake(&run->mistake, path, (struct place){ .line = 0 },
                           "cannot be written: %s", strerror(errno));
}

static bool watch(struct run *run, const struct run_options *options)
{
    struct lp *lp = machine_lp(run->machine);

    lp->pt.tap = (struct ipt_tap){ .ctx = run, .store = store };
    lp->pt.fabric = lp->pt.tap; /* the trace is the trace, wherever it goes */
    if (options->watch)
        machine_watch(run->machine, options->watch);
    if (!options->listing)
        return true;
    run->executed = calloc(run->code.lines + 1, sizeof(run->executed[0]));
    if (!run->executed)
        return SCN_MISTAKE(&run->scenario, &run->scenario.file->here, "out of memory");
    machine_watch(run->machine, &(struct machine_watch){ .ctx = run, .truth = count });
    return true;
}

/* ---- the whole ---- */

static enum run_status guest_failed(struct run *run, enum machine_end end)
{
    const struct scenario *s = &run->scenario;
    const struct arch_state *arch = &machine_lp(run->machine)->arch;
    uint64_t ip = arch_linear_ip(arch, arch->rip);
    char address[PACKET_TEXT_MAX];

    address_text(ip, &s->symbols, address);
    switch (end) {
    case MACHINE_HALTED:
        mistake(s->mistake, s->path, scn_place(&s->file->code),
                "the guest halted before %s, and nothing was to wake it", address);
        break;
    case MACHINE_SHUTDOWN:
        mistake(s->mistake, s->path, scn_place(&s->file->code),
                "the guest shut down at %s: no handler for an exception there, nor for the "
                "double fault that followed",
                address);
        break;
    case MACHINE_LIMIT:
        mistake(s->mistake, s->path, scn_place(&s->file->code),
                "the guest had not come to its stop after %" PRIu64 " instructions, and was at %s",
                s->limit, address);
        break;
    case MACHINE_STOPPED:
    case MACHINE_ERROR:
        mistake(s->mistake, s->path, scn_place(&s->file->code), "the guest stopped at %s: %s",
                address, end == MACHINE_ERROR ? machine_error(run->machine) : "too early");
        break;
    }
    return RUN_GUEST;
}

static bool set_up(struct run *run, const struct run_options *options)
{
    struct scenario *s = &run->scenario;
    struct lp *lp;

    if (!scenario_assemble(s, options->listing, &run->code))
        return false;
    run->machine = machine_new(s->cpu, s->memory);
    if (!run->machine)
        return SCN_MISTAKE(s, &s->file->here, "the machine does not start: out of memory");
    lp = machine_lp(run->machine);
    if (!environment_build(s, &run->code, lp))
        return false;
    if (!code_pages_take(&run->pages, s, &run->code, lp))
        return SCN_MISTAKE(s, &s->file->here, "out of memory");
    return watch(run, options) && open_output(run, options->output);
}

static bool plan(const struct run *run, struct happening *happenings, enum machine_end *expected)
{
    const struct scn_file *file = run->scenario.file;

    for (unsigned i = 0; i < file->events_count; i++)
        if (!plan_event(run, &file->events[i], &happenings[i]))
            return false;
    return plan_stop(run, expected) &&
           scenario_msrs_write(&run->scenario, machine_lp(run->machine));
}

static enum run_status go(struct run *run)
{
    const struct scenario *s = &run->scenario;
    struct happening *happenings = calloc(s->file->events_count + 1, sizeof(*happenings));
    enum machine_end end, expected;

    if (!happenings || !plan(run, happenings, &expected)) {
        free(happenings);
        return RUN_MISTAKE;
    }
    run->rtit_ctl = machine_lp(run->machine)->pt.ctl;
    if (run->dir)
        write_ranges(run);
    end = machine_run(run->machine, s->limit);
    free(happenings);
    if (end != expected)
        return guest_failed(run, end);
    if (!s->leave_trace_on)
        machine_trace_end(run->machine);
    ipt_flush(&machine_lp(run->machine)->pt);
    if (run->no_memory) {
        SCN_MISTAKE(s, &s->file->here, "out of memory for the trace");
        return RUN_MISTAKE;
    }
    return RUN_OK;
}

enum run_status run_scenario(struct run *run, const char *path, const struct run_options *options)
{
    enum run_status status = RUN_MISTAKE;

    *run = (struct run){ .trace = NULL };
    if (!scenario_read(&run->scenario, path, &run->mistake)) {
        run->scenario = (struct scenario){ .path = NULL };
        return RUN_MISTAKE;
    }
    if (set_up(run, options))
        status = go(run);
    if (!close_output(run, options->output))
        status = RUN_MISTAKE;
    return status;
}

void run_free(struct run *run)
{
    if (run->machine)
        machine_free(run->machine);
    code_pages_free(&run->pages);
    assembly_free(&run->code);
    free(run->executed);
    free(run->trace);
    if (run->scenario.path)
        scenario_free(&run->scenario);
}
