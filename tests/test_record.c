/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real programs under ptsim record: they do what they do natively, and libipt finds in the trace
 * exactly the instructions that were executed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "../models/ports.h"
#include "../sim/perf_terms.h"
#include "peer_flow.h"
#include "suite.h"

/* All files that come of the tests; setup() makes it, teardown() removes it. */
#define TEMP   "test_record.tmp"
#define DIR    TEMP "/recorded"
#define INPUT  TEMP "/input"
#define OUT    TEMP "/stdout"
#define ERR    TEMP "/stderr"
#define NATIVE TEMP "/native"

static const struct {
    const char *argv[6];
    const char *event;
    uint32_t at_least; /* instructions */
} programs[] = {
    { { "busybox", "sort", INPUT }, "intel_pt//u", 6000000 },
    { { "busybox", "sha256sum", INPUT }, "intel_pt/cyc/u", 1000000 },
    { { "busybox", "awk", "{ n[$1 % 7] += $2 } END { for (i in n) print i, n[i] }", INPUT },
      "intel_pt/tsc=0,mtc=0/u",
      2000000 },
    { { "busybox", "gzip", "-c", INPUT }, "intel_pt/noretcomp,psb_period=0/u", 2000000 },
    { { "tests/guest/recursion" }, "intel_pt//u", 1000000 },
    { { "tests/guest/recursion" }, "intel_pt/cyc,cyc_thresh=3,noretcomp/u", 1000000 },
    { { "tests/guest/pointers" }, "intel_pt/mtc_period=0/u", 4000000 },
    { { "tests/guest/pointers_pie" }, "intel_pt/psb_period=15/u", 4000000 },
    { { "tests/guest/switches" }, "intel_pt/cyc,mtc_period=0,psb_period=0/u", 4000000 },
    { { "tests/guest/jumps" }, "intel_pt//u", 1000000 },
    { { "tests/guest/memory", "a", "b" }, "intel_pt/cyc/u", 4000000 },
};

/* Runs ARGV with its output in files; its exit status, or 128 and the signal that ended it. */
static int run(const char *const argv[], const char *out, const char *err)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int flags = O_WRONLY | O_CREAT | O_TRUNC;

        dup2(open("/dev/null", O_RDONLY), 0);
        dup2(open(out, flags, 0666), 1);
        dup2(open(err, flags, 0666), 2);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int record(const char *event, const char *const argv[], const char *out, const char *err)
{
    const char *command[16] = { getenv("PTSIM"), "record", "-e", event, "-o", DIR, "--" };

    ck_assert_ptr_nonnull(command[0]);
    for (int i = 0; argv[i]; i++)
        command[7 + i] = argv[i];
    return run(command, out, err);
}

/* The whole file, gzipped or not; its size in *SIZE. */
static uint8_t *read_file(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb");
    size_t room = 1 << 16;
    uint8_t *bytes = malloc(room);
    int got;

    ck_assert_msg(file != NULL, "%s", path);
    *size = 0;
    while ((got = gzread(file, bytes + *size, (unsigned)(room - *size))) > 0) {
        *size += (size_t)got;
        if (*size == room)
            bytes = realloc(bytes, room *= 2);
        ck_assert_ptr_nonnull(bytes);
    }
    ck_assert_int_eq(got, 0);
    gzclose(file);
    return bytes;
}

static void assert_same_files(const char *a, const char *b)
{
    size_t size_a;
    size_t size_b;
    uint8_t *bytes_a = read_file(a, &size_a);
    uint8_t *bytes_b = read_file(b, &size_b);

    ck_assert_uint_eq(size_a, size_b);
    ck_assert(!memcmp(bytes_a, bytes_b, size_a));
    free(bytes_a);
    free(bytes_b);
}

/* The image as ptxed.args has it. */
static struct pt_image *read_image(void)
{
    struct pt_image *image = pt_image_alloc(NULL);
    FILE *args = fopen(DIR "/image/ptxed.args", "r");
    char line[256];

    ck_assert(image && args);
    while (fgets(line, sizeof(line), args)) {
        unsigned long long address;
        char name[128];
        char path[160];
        struct stat status;

        if (sscanf(line, "--raw %127[^:]:0x%llx", name, &address) != 2)
            continue;
        snprintf(path, sizeof(path), DIR "/%s", name);
        ck_assert_int_eq(stat(path, &status), 0);
        ck_assert_int_ge(pt_image_add_file(image, path, 0, (uint64_t)status.st_size, NULL, address),
                         0);
    }
    fclose(args);
    return image;
}

/* Has libipt judge what is in DIR; the number of instructions. */
static size_t judge(const char *event)
{
    struct peer_flow flow = { .profile = cpu_profile_find("max") };
    char error[256] = "";
    size_t truth_bytes;
    uint8_t *trace = read_file(DIR "/cpu0.pt", &flow.trace_size);
    uint8_t *truth = read_file(DIR "/cpu0.truth.gz", &truth_bytes);
    uint64_t *ip = malloc(truth_bytes + 1);

    ck_assert(perf_terms_parse(event, flow.profile, &flow.rtit_ctl, error, sizeof(error)));
    flow.image = read_image();
    flow.trace = trace;
    flow.truth = ip;
    flow.truth_size = truth_bytes / 8;
    for (size_t i = 0; i < flow.truth_size; i++)
        ip[i] = le_load(truth + 8 * i, 8);
    ck_assert_msg(peer_flow_check(&flow, error, sizeof(error)), "%s", error);
    pt_image_free(flow.image);
    free(trace);
    free(truth);
    free(ip);
    return flow.truth_size;
}

/* Input for the programs: lines of two numbers and a word. */
static void setup(void)
{
    static const char *const words[] = { "packet", "trace", "branch", "return", "filter" };
    uint32_t x = 1;
    FILE *file;

    ck_assert(!mkdir(TEMP, 0777) || errno == EEXIST);
    file = fopen(INPUT, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 2500; i++) {
        x = x * 1664525 + 1013904223;
        fprintf(file, "%u %u %s\n", x >> 12, x >> 20, words[x >> 16 & 3]);
    }
    fclose(file);
}

static void teardown(void)
{
    ck_assert_int_eq(system("rm -rf " TEMP), 0);
}

START_TEST(program)
{
    const char *const *argv = programs[_i].argv;
    int native = run(argv, NATIVE, ERR);
    int recorded = record(programs[_i].event, argv, OUT, ERR);

    ck_assert_int_eq(recorded, native);
    assert_same_files(OUT, NATIVE);
    ck_assert_uint_ge(judge(programs[_i].event), programs[_i].at_least);
}
END_TEST

START_TEST(ten_million_instructions)
{
    uint64_t sum = 0;

    for (int i = 0; i < TEST_COUNT(programs); i++)
        sum += programs[i].at_least;
    ck_assert_uint_gt(sum, 10000000);
}
END_TEST

/* How tests/guest/fault.c ends, by its argument. */
static const struct {
    const char *how;
    int status;
    const char *message; /* a part of the line on stderr */
} ends[] = {
    { "exit", 0, "" },
    { "enosys", 42, "" },
    { "null", 139, "SIGSEGV at 0x%: write to 0x0, which is not mapped" },
    { "text", 139, "SIGSEGV at 0x%: write to 0x%, which is protected" },
    { "data", 139, "SIGSEGV at 0x%: execution of 0x%, which is protected" },
    { "guard", 139, "SIGSEGV at 0x%: read of 0x7ffff7ffe000, which is protected" },
    { "hlt", 139, "SIGSEGV at 0x%: general protection" },
    { "divide", 136, "SIGFPE at 0x%: division error" },
    { "opcode", 132, "SIGILL at 0x%: invalid opcode" },
    { "abort", 134, "signal 6, which it sent to itself" },
    { "handler", 3, "the program's handler for this signal cannot be run" },
    { "fork", 3, "system call 57 (fork) is not provided" },
};

/* Whether TEXT is one line that has PATTERN in it, in which a % is any number. */
static bool line_has(const char *text, const char *pattern)
{
    const char *at = text;
    char part[128];

    if (!*pattern)
        return !*text;
    if (!strchr(text, '\n') || strchr(text, '\n')[1])
        return false;
    while (*pattern) {
        size_t length = strcspn(pattern, "%");

        memcpy(part, pattern, length);
        part[length] = '\0';
        at = strstr(at, part);
        if (!at)
            return false;
        at += length;
        at += strspn(at, pattern[length] ? "0123456789abcdef" : "");
        pattern += length + (pattern[length] == '%');
    }
    return true;
}

/* However it ends, what came before is traced and its output is there. */
START_TEST(end)
{
    const char *const argv[] = { "tests/guest/fault", ends[_i].how, NULL };
    int status = record("intel_pt//u", argv, OUT, ERR);
    size_t size;
    uint8_t *text = read_file(ERR, &size);

    ck_assert_int_eq(status, ends[_i].status);
    text = realloc(text, size + 1);
    text[size] = '\0';
    ck_assert_msg(line_has((char *)text, ends[_i].message), "%s: %s", ends[_i].how, text);
    free(text);
    text = read_file(OUT, &size);
    ck_assert_uint_eq(size, 7);
    ck_assert_mem_eq(text, "before\n", 7);
    free(text);
    ck_assert_uint_gt(judge("intel_pt//u"), 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tcase = tcase_create("programs");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 300);
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, program, 0, TEST_COUNT(programs));
    tcase_add_test(tcase, ten_million_instructions);
    tcase_add_loop_test(tcase, end, 0, TEST_COUNT(ends));
    return suite_run(suite);
}
