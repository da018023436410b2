/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ptsim record: a Linux program under the machine, its user mode traced. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../models/bits.h"
#include "cmd.h"
#include "elf.h"
#include "linux_kernel.h"
#include "linux_user.h"
#include "perf_terms.h"
#include "trace_dir.h"

/* Bits of IA32_RTIT_CTL that are not perf's to choose (SDM 33.2.8.2). */
#define TRACE_EN BIT(0)
#define TOPA     BIT(8)

/* The output: a ToPA table of one region and an END that leads back to the table (SDM 33.2.7.2), so
 * that the region is filled again and again while the tap takes every byte away. */
enum {
    REGION_SIZE_CODE = 4, /* 64 KBytes */
    REGION_PAGES = 16,
};
#define TOPA_END BIT(0)

/* The MSRs, in the order in which they are written. */
enum {
    IA32_RTIT_OUTPUT_BASE = 0x560,
    IA32_RTIT_OUTPUT_MASK_PTRS,
    IA32_RTIT_CTL = 0x570
};

struct options {
    const char *event;
    const char *dir;
    char **argv; /* of the program */
};

struct recording {
    const struct cpu_profile *profile;
    struct elf elf;
    uint64_t ctl;
    struct machine *machine;
    struct linux_user *user;
    struct trace_dir *dir;
};

/* False where the command is over, with *STATUS. */
static bool parse_options(int argc, char **argv, struct options *options, int *status)
{
    static const struct option longs[] = { { "event", required_argument, NULL, 'e' },
                                           { "output", required_argument, NULL, 'o' },
                                           { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
    int letter;

    *options = (struct options){ .event = "intel_pt//u", .dir = "ptsim.out" };
    while ((letter = getopt_long(argc, argv, "+e:o:h", longs, NULL)) != -1) {
        switch (letter) {
        case 'e':
            options->event = optarg;
            break;
        case 'o':
            options->dir = optarg;
            break;
        case 'h':
            *status = cmd_help(argv[0]);
            return false;
        default:
            *status = cmd_bad_option(argv);
            return false;
        }
    }
    options->argv = argv + optind;
    if (*options->argv)
        return true;
    *status = cmd_error(CMD_USAGE, "no program to record; see 'ptsim record --help'");
    return false;
}

/* NAME, or where it has no slash the first file of that name in PATH that may be executed. PATH_BUF
 * takes the path; NULL where there is no such file. */
static const char *find_program(const char *name, char *path_buf, size_t size)
{
    const char *dir = getenv("PATH");

    if (strchr(name, '/'))
        return name;
    while (dir && *dir) {
        size_t length = strcspn(dir, ":");

        if ((size_t)snprintf(path_buf, size, "%.*s/%s", (int)length, length ? dir : ".", name) <
                size &&
            !access(path_buf, X_OK))
            return path_buf;
        dir += length + (dir[length] == ':');
    }
    return NULL;
}

/* The environment less what the shell adds of its own: `_` names the command that it started. */
static char **program_environment(void)
{
    size_t count = 0;
    size_t kept = 0;
    char **env;

    while (environ[count])
        count++;
    env = calloc(count + 1, sizeof(*env));
    for (size_t i = 0; env && i < count; i++)
        if (strncmp(environ[i], "_=", 2))
            env[kept++] = environ[i];
    return env;
}

/* A WRMSR by the kernel, just before it returns to the program. */
static bool write_msr(struct recording *recording, uint32_t index, uint64_t value)
{
    struct lp *lp = machine_lp(recording->machine);
    uint64_t ip = LINUX_SYSCALL_ENTRY;
    struct ptsim_event event = { .kind = EV_WRMSR,
                                 .from_ip = ip,
                                 .next_ip = ip,
                                 .to_ip = ip,
                                 .before = arch_context(&lp->arch),
                                 .after = arch_context(&lp->arch) };

    return !lp_wrmsr(lp, index, value, &event).raised;
}

static void store(void *ctx, uint64_t phys, const uint8_t *data, size_t size)
{
    (void)phys;
    trace_dir_store(ctx, data, size);
}

/* Sets the output up and sets TraceEn. */
static bool start_trace(struct recording *recording)
{
    struct lp *lp = machine_lp(recording->machine);
    uint64_t table = linux_user_frames(recording->user, 1);
    uint64_t region = linux_user_frames(recording->user, 2 * REGION_PAGES - 1);
    uint64_t region_size = REGION_PAGES * UINT64_C(4096);

    if (!table || !region)
        return false;
    region = (region + region_size - 1) & ~(region_size - 1);
    mem_port_write(&lp->mem, table, region | REGION_SIZE_CODE << 6, 8);
    mem_port_write(&lp->mem, table + 8, table | TOPA_END, 8);
    lp->pt.tap = (struct ipt_tap){ .ctx = recording->dir, .store = store };
    return write_msr(recording, IA32_RTIT_OUTPUT_BASE, table) &&
           write_msr(recording, IA32_RTIT_OUTPUT_MASK_PTRS, 0x7f) &&
           write_msr(recording, IA32_RTIT_CTL, recording->ctl | TOPA | TRACE_EN);
}

static bool add_code(void *ctx, uint64_t address, const void *code, size_t size)
{
    return image_add(ctx, address, code, size);
}

static int run_program(struct recording *recording, const char *path)
{
    struct linux_result result;

    if (!start_trace(recording))
        return cmd_error(CMD_GUEST, "%s: the processor refuses to trace so", path);
    trace_dir_watch(recording->dir, recording->machine, LINUX_KERNEL);
    result = linux_user_run(recording->user);
    machine_trace_end(recording->machine);
    if (!linux_user_code(recording->user, add_code, trace_dir_image(recording->dir)))
        trace_dir_fail(recording->dir);
    if (result.message[0])
        cmd_error(0, "%s: %s", path, result.message);
    switch (result.end) {
    case LINUX_EXITED:
        return result.status;
    case LINUX_KILLED:
        return 128 + result.status;
    case LINUX_STUCK:
        break;
    }
    return CMD_GUEST;
}

/* With the program read: everything that is made for the run, and unmade after it. */
static int record(struct recording *recording, const char *path, const struct options *options)
{
    struct linux_program program = { .path = path, .elf = &recording->elf, .argv = options->argv };
    char **env = program_environment();
    char error[256] = "out of memory";
    int status;

    program.envp = env;
    recording->machine = machine_new(recording->profile, LINUX_MEMORY);
    if (env && recording->machine)
        recording->user = linux_user_new(recording->machine, &program, error, sizeof(error));
    if (!recording->user) {
        status = cmd_error(CMD_GUEST, "%s: %s", path, error);
    } else if (!(recording->dir = trace_dir_open(options->dir))) {
        status = cmd_error(CMD_USAGE, "%s: %s", options->dir, strerror(errno));
    } else {
        status = run_program(recording, path);
        if (!trace_dir_close(recording->dir, recording->profile, recording->ctl))
            status = cmd_error(CMD_USAGE, "%s: %s", options->dir, strerror(errno));
    }
    linux_user_free(recording->user);
    machine_free(recording->machine);
    free(env);
    return status;
}

int cmd_record(int argc, char **argv)
{
    struct recording recording = { .profile = cpu_profile_find("max") };
    struct options options;
    char path_buf[4096];
    char error[256];
    const char *path;
    int status = CMD_OK;

    if (!parse_options(argc, argv, &options, &status))
        return status;
    if (!perf_terms_parse(options.event, recording.profile, &recording.ctl, error, sizeof(error)))
        return cmd_error(CMD_USAGE, "-e %s: %s", options.event, error);
    path = find_program(options.argv[0], path_buf, sizeof(path_buf));
    if (!path)
        return cmd_error(CMD_USAGE, "%s: not found in PATH", options.argv[0]);
    if (!elf_read(path, &recording.elf, error, sizeof(error)))
        return cmd_error(CMD_USAGE, "%s: %s", path, error);
    status = record(&recording, path, &options);
    elf_free(&recording.elf);
    return status;
}
