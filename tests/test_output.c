/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt_rig.h"

#define TOPA    (CTL_BRANCHES | CTL(ToPA))
#define STOPPED MSR_MASK(IA32_RTIT_STATUS, Stopped)
#define ERROR   MSR_MASK(IA32_RTIT_STATUS, Error)
#define TRIGGER MSR_MASK(IA32_RTIT_STATUS, TriggerEn)

/* Bits of a ToPA entry (table 33-3). */
#define END_                BIT(0)
#define INT_                BIT(2)
#define STOP_               BIT(4)
#define SIZE(n)             ((uint64_t)(n) << 6)
#define PTRS(index, offset) ((uint64_t)(offset) << 32 | (uint64_t)(index) << 7 | 0x7f)

static const struct ev_context context = CONTEXT_64(0, 0x5000);

/* Each byte that is sent is a TNT of its own, 6 outcomes: COUNT of them, the NUMBERth having its
 * number in its bits. */
static void send(struct rig *rig, unsigned from, unsigned count)
{
    for (unsigned n = from; n < from + count; n++)
        for (int bit = 5; bit >= 0; bit--) {
            const struct ptsim_event event = COND(n >> bit & 1, 0x1000, 0x1000);

            ipt_event(&rig->ipt, &event);
        }
}

static uint8_t sent(unsigned n)
{
    return (uint8_t)(0x80 | (n & 0x3f) << 1);
}

/* Tracing begins with so many bytes: CBR, MODE.Exec, TIP.PGE. */
#define START_BYTES (4 + 2 + 7)

/* PacketByteCnt 1 of a very long PSB period: no PSB. */
static void start(struct rig *rig, uint64_t ctl)
{
    rig->ipt.status = MSR_PUT(0, IA32_RTIT_STATUS, PacketByteCnt, 1);
    rig_ctl(rig, ctl | CTL_(PSBFreq, 15), 0xffe, &context);
}

static void check_sent(const uint8_t *at, unsigned from, unsigned count)
{
    for (unsigned n = 0; n < count; n++)
        ck_assert_uint_eq(at[n], sent(from + n));
}

/* ---- Single range (33.2.7.1) ---- */

START_TEST(range_wraps)
{
    struct rig *rig = rig_new("max");

    rig->ipt.output_base = 0x10080;
    rig->ipt.output_mask_ptrs = PTRS(0, 0x70);
    start(rig, CTL_BRANCHES);
    send(rig, 0, 128);
    rig_ctl(rig, 0, 0x1000, &context);
    /* 13 bytes, 128, then FUP and TIP.PGD: 3 + 1. */
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(0, (0x70 + 13 + 128 + 4) % 128));
    check_sent(rig->memory + 0x10080 + 1, 4, 124);
    ck_assert_uint_eq(rig->memory[0x1007f], 0);
    ck_assert_uint_eq(rig->memory[0x10100], 0);
    ck_assert_uint_eq(rig->ipt.status & (ERROR | STOPPED), 0);
    free(rig);
}
END_TEST

static const struct {
    const char *title;
    uint64_t base, mask_ptrs;
    bool error;
} ranges[] = {
    { "the smallest range", 0x10080, PTRS(0, 0), false },
    { "the last byte of it", 0x10080, PTRS(0, 0x7f), false },
    { "mask and base overlap", 0x10080, 0xff, true },
    { "no longer", 0x10100, 0xff, false },
    { "the mask has a hole", 0x10000, 0x17f, true },
    { "offset above the mask", 0x10000, PTRS(1, 0x100), true },
    { "a range of 4 GBytes", 0, 0xffffffff, false },
    { "4 GBytes not aligned", 0x80000000, 0xffffffff, true },
};

START_TEST(range_errors)
{
    struct rig *rig = rig_new("max");

    rig->ipt.output_base = ranges[_i].base;
    rig->ipt.output_mask_ptrs = ranges[_i].mask_ptrs;
    start(rig, CTL_BRANCHES);
    ck_assert_msg((rig->ipt.status & (ERROR | TRIGGER)) == (ranges[_i].error ? ERROR : TRIGGER),
                  "%s", ranges[_i].title);
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(rig->stored, ranges[_i].error ? 0 : START_BYTES);
    if (ranges[_i].error)
        ck_assert_uint_eq(rig->ipt.output_mask_ptrs, ranges[_i].mask_ptrs);
    free(rig);
}
END_TEST

/* ---- ToPA (33.2.7.2) ---- */

static void table(struct rig *rig, uint64_t base, const uint64_t *entries, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        le_store(rig->memory + base + 8 * i, entries[i], 8);
}
#define TABLE(rig, base, ...)                                                                      \
    table(rig, base, (const uint64_t[]){ __VA_ARGS__ },                                            \
          sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static struct rig *topa_rig(const char *profile)
{
    struct rig *rig = rig_new(profile);

    rig->ipt.output_base = 0x8000;
    rig->ipt.output_mask_ptrs = PTRS(0, 0);
    return rig;
}

/* Two regions in one table, then one in another, then back, with packets across the ends. */
START_TEST(topa_chain)
{
    struct rig *rig = topa_rig("max");

    TABLE(rig, 0x8000, 0x20000, 0x30000 | SIZE(1), 0x9000 | END_);
    TABLE(rig, 0x9000, 0x50000, 0x8000 | END_);
    rig->ipt.output_mask_ptrs = PTRS(0, 4096 - 3);
    start(rig, TOPA);
    /* CBR is across the end of the first region. */
    ck_assert_uint_eq(rig->memory[0x20ffd], 0x02);
    ck_assert_uint_eq(rig->memory[0x20fff], 0x15);
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(rig->memory[0x30001], 0x99);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, START_BYTES - 3));
    /* The very byte that fills a region moves on, and through END. */
    send(rig, 0, 8192 - (START_BYTES - 3) - 1);
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(rig->ipt.output_base, 0x8000);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, 8191));
    send(rig, 7, 1);
    ck_assert_uint_eq(rig->ipt.output_base, 0x9000);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(0, 0));
    ck_assert_uint_eq(rig->memory[0x31fff], sent(7));
    send(rig, 0, 4096 + 5);
    ipt_flush(&rig->ipt);
    check_sent(rig->memory + 0x50000, 0, 4096);
    check_sent(rig->memory + 0x20000, 4096, 5);
    ck_assert_uint_eq(rig->ipt.output_base, 0x8000);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(0, 5));
    ck_assert(!rig->ipt.topa_pmi);
    ck_assert_uint_eq(rig->ipt.status & (ERROR | STOPPED), 0);
    free(rig);
}
END_TEST

/* A table entry is read when it is reached, not before. */
START_TEST(topa_read_when_reached)
{
    struct rig *rig = topa_rig("max");

    TABLE(rig, 0x8000, 0x20000, BIT(1));
    start(rig, TOPA);
    send(rig, 0, 4000);
    TABLE(rig, 0x8000, BIT(1), 0x30000);
    send(rig, 0, 4096 - 4000 - START_BYTES);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, 0));
    ck_assert_uint_eq(rig->ipt.status & ERROR, 0);
    free(rig);
}
END_TEST

START_TEST(topa_sizes)
{
    struct rig *rig = topa_rig("max");
    uint64_t size = UINT64_C(4096) << _i;

    /* At its own size the region is aligned, and its last byte is there. */
    TABLE(rig, 0x8000, size | SIZE(_i), 0x8000 | END_);
    rig->ipt.output_mask_ptrs = PTRS(0, size - 1);
    start(rig, TOPA);
    ck_assert_uint_eq(rig->ipt.status & (ERROR | TRIGGER), TRIGGER);
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(0, START_BYTES - 1));
    free(rig);
}
END_TEST

/* STOP: output ends with the last byte of the region, in the middle of a packet. */
START_TEST(topa_stop)
{
    static const bool past_end[] = { false, true };
    struct rig *rig = topa_rig("max");

    rig->profile.pt_topa_stop_past_end = past_end[_i % 2];
    TABLE(rig, 0x8000, 0x20000, 0x30000 | STOP_ | (_i < 2 ? 0 : INT_), 0x40000);
    rig->ipt.output_mask_ptrs = PTRS(1, 4096 - START_BYTES + 2);
    start(rig, TOPA);
    ck_assert_uint_eq(rig->ipt.status & (STOPPED | ERROR | TRIGGER), STOPPED);
    ck_assert_uint_eq(rig->stored, START_BYTES - 2);
    ck_assert_uint_eq(rig->memory[0x30fff], 0x00); /* TIP.PGE(3,0x1000) without its last two */
    ck_assert_uint_eq(rig->memory[0x31000], 0x00);
    ck_assert_uint_eq(rig->ipt.output_base, 0x8000);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, past_end[_i % 2] ? 4096 : 4095));
    ck_assert_int_eq(rig->ipt.topa_pmi, _i >= 2);

    /* Nothing more comes, and TraceEn 1->0 sends nothing and moves nothing. */
    send(rig, 0, 100);
    rig_ctl(rig, 0, 0x1000, &context);
    ck_assert_uint_eq(rig->stored, START_BYTES - 2);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, past_end[_i % 2] ? 4096 : 4095));

    /* Where the offset is one too far, it is an operational error once Stopped is cleared. */
    start(rig, TOPA);
    ck_assert_uint_eq(rig->ipt.status & ERROR, past_end[_i % 2] ? ERROR : 0);
    free(rig);
}
END_TEST

START_TEST(topa_int)
{
    struct rig *rig = topa_rig("max");

    TABLE(rig, 0x8000, 0x20000 | INT_, 0x30000, 0x8000 | END_);
    start(rig, TOPA);
    send(rig, 0, 4096 - START_BYTES - 1);
    ipt_flush(&rig->ipt);
    ck_assert(!rig->ipt.topa_pmi);
    send(rig, 0, 1);
    ck_assert(rig->ipt.topa_pmi);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, 0));
    rig->ipt.topa_pmi = false;
    send(rig, 0, 4096 + 4095);
    ck_assert(!rig->ipt.topa_pmi);
    send(rig, 0, 1);
    ck_assert(rig->ipt.topa_pmi);
    free(rig);
}
END_TEST

/* One region: its PMI comes before its end, and the table goes back to itself. */
START_TEST(topa_single)
{
    struct rig *rig = topa_rig("broadwell");

    TABLE(rig, 0x8000, 0x20000 | INT_, 0x8000 | END_);
    rig->ipt.output_mask_ptrs = PTRS(0, 100);
    rig_ctl(rig, TOPA, 0xffe, &context);
    /* PSBs come in between. */
    for (unsigned round = 0; round < 3; round++) {
        uint64_t offset;

        do {
            ck_assert(!rig->ipt.topa_pmi);
            send(rig, 0, 1);
            ipt_flush(&rig->ipt);
            offset = rig->ipt.output_mask_ptrs >> 32;
        } while (offset < 4096 - 512);
        ck_assert(rig->ipt.topa_pmi);
        rig->ipt.topa_pmi = false;
        send(rig, 0, 512);
        ck_assert_uint_eq(rig->ipt.output_mask_ptrs & 0xffffffff, PTRS(0, 0));
    }
    ck_assert_uint_eq(rig->ipt.status & (ERROR | STOPPED), 0);
    free(rig);
}
END_TEST

/* A table without END or STOP wraps at its maximum size, 256 MBytes. */

static void big_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    (void)ctx;
    ck_assert_uint_eq(size, 8);
    /* Every entry of the table at 10000000H, and none other, is the region at 30000H. */
    ck_assert_uint_ge(phys, 0x10000000);
    ck_assert_uint_lt(phys, 0x20000000);
    le_store(buf, 0x30000, 8);
}

START_TEST(topa_table_wraps)
{
    struct rig *rig = topa_rig("max");

    rig->ipt.mem.read = big_read;
    rig->ipt.output_base = 0x10000000;
    rig->ipt.output_mask_ptrs = PTRS(0x1ffffff, 4096 - 8);
    start(rig, TOPA);
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(rig->ipt.output_base, 0x10000000);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(0, START_BYTES - 8));
    free(rig);
}
END_TEST

/* "ToPA Errors": table at 8000H, entry INDEX in use, with 4000 bytes to the end of a region of 4
 * KBytes; NEXT where the error is in the entry after it. */
static const struct {
    const char *title;
    const char *profile;
    uint64_t base;
    uint64_t mask_ptrs;
    uint64_t entries[3];
    bool at_once;
    bool later;
} errors[] = {
    { "none", "max", 0x8000, PTRS(0, 0), { 0x20000, 0x30000, 0x8000 | END_ }, false, false },
    { "1: bit 1", "max", 0x8000, PTRS(0, 0), { 0x20000 | BIT(1) }, true, true },
    { "1: bit 3", "max", 0x8000, PTRS(0, 0), { 0x20000 | BIT(3) }, true, true },
    { "1: bit 5", "max", 0x8000, PTRS(0, 0), { 0x20000 | BIT(5) }, true, true },
    { "1: bit 10", "max", 0x8000, PTRS(0, 0), { 0x20000 | BIT(10) }, true, true },
    { "1: bit 11", "max", 0x8000, PTRS(0, 0), { 0x20000, 0x30000 | BIT(11) }, false, true },
    { "2a: the table", "max", 0x8080, PTRS(0, 0), { 0x20000 }, true, true },
    { "2b", "max", 0x8000, PTRS(0, 0), { 0x21000 | SIZE(1) }, true, true },
    { "2b, later", "max", 0x8000, PTRS(0, 0), { 0x20000, 0x101000 | SIZE(9) }, false, true },
    { "2b: not for END",
      "max",
      0x8000,
      PTRS(0, 0),
      { 0x20000, 0x8000 | END_ | SIZE(15) },
      false,
      false },
    { "2c", "max", 0x8000, PTRS(0, 0), { 0x20000 | BIT(52) }, true, true },
    { "2c with 46 bits", "skylake", 0x8000, PTRS(0, 0), { 0x20000 | BIT(46) }, true, true },
    { "2c in END", "max", 0x8000, PTRS(0, 0), { 0x20000, 0x8000 | END_ | BIT(63) }, false, true },
    { "3: offset", "max", 0x8000, PTRS(0, 4096), { 0x20000 }, true, true },
    { "3: offset, larger region",
      "max",
      0x8000,
      PTRS(0, 4096),
      { 0x20000 | SIZE(1) },
      false,
      false },
    { "4a: STOP with END",
      "max",
      0x8000,
      PTRS(0, 0),
      { 0x20000, 0x8000 | END_ | STOP_ },
      false,
      true },
    { "4a: INT with END",
      "max",
      0x8000,
      PTRS(0, 0),
      { 0x20000, 0x8000 | END_ | INT_ },
      false,
      true },
    { "4b: END in entry 0", "max", 0x8000, PTRS(0, 0), { 0x9000 | END_ }, true, true },
    { "4b, after END", "max", 0x8000, PTRS(1, 0), { 0x9000 | END_, 0x8000 | END_ }, true, true },
    { "begin at END", "max", 0x8000, PTRS(1, 5000), { 0x20000, 0x8000 | END_ }, false, false },
    { "4c i", "broadwell", 0x8000, PTRS(0, 0), { 0x20000, 0x30000 }, false, true },
    { "4c ii", "broadwell", 0x8000, PTRS(0, 0), { 0x20000, 0x9000 | END_ }, false, true },
    { "4c, none", "broadwell", 0x8000, PTRS(0, 0), { 0x20000, 0x8000 | END_ }, false, false },
};

START_TEST(topa_errors)
{
    struct rig *rig = topa_rig(errors[_i].profile);
    bool later;

    table(rig, 0x8000, errors[_i].entries, 3);
    table(rig, 0x8080, errors[_i].entries, 3);
    rig->ipt.output_base = errors[_i].base;
    rig->ipt.output_mask_ptrs = errors[_i].mask_ptrs;
    start(rig, TOPA);
    ck_assert_msg(!!(rig->ipt.status & ERROR) == errors[_i].at_once, "%s", errors[_i].title);
    ck_assert_msg(!(rig->ipt.status & TRIGGER) == errors[_i].at_once, "%s", errors[_i].title);
    if (errors[_i].at_once)
        ck_assert_uint_eq(rig->stored, 0);
    send(rig, 0, 4100);
    later = rig->ipt.status & ERROR;
    ck_assert_msg(later == errors[_i].later, "%s", errors[_i].title);
    /* It was reached with the last byte of the region before it. */
    if (later && !errors[_i].at_once) {
        ck_assert_uint_eq(rig->stored, 4096);
        ck_assert_uint_eq(rig->ipt.status & (TRIGGER | STOPPED), 0);
        ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(1, 0));
    }
    free(rig);
}
END_TEST

/* ---- All of them ---- */

/* 33.2.7.3: the bytes go elsewhere, whatever ToPA and the output MSRs say. */
START_TEST(fabric)
{
    struct rig *rig = rig_new("max");

    rig->ipt.tap.store = NULL;
    rig->ipt.output_base = 0x80;
    rig->ipt.output_mask_ptrs = PTRS(0, 12345);
    start(rig, TOPA | CTL(FabricEn));
    send(rig, 0, 5000);
    rig_ctl(rig, 0, 0x1000, &context);
    ck_assert_uint_eq(rig->stored, START_BYTES + 5000 + 3 + 1);
    check_sent(rig->stream + START_BYTES, 0, 5000);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, PTRS(0, 12345));
    free(rig);
}
END_TEST

/* The tap sees what memory gets. */
static void in_order(void *ctx, uint64_t phys, const uint8_t *data, size_t size)
{
    struct rig *rig = ctx;

    ck_assert_uint_eq(phys, 0x10000 + rig->stored % 4096);
    ck_assert(!memcmp(rig->memory + phys, data, size));
    rig->stored += size;
}

START_TEST(tap)
{
    struct rig *rig = rig_new("max");

    rig->ipt.tap.store = in_order;
    start(rig, CTL_BRANCHES);
    send(rig, 0, 10000);
    rig_ctl(rig, 0, 0x1000, &context);
    ck_assert_uint_eq(rig->stored, START_BYTES + 10000 + 3 + 1);
    free(rig);
}
END_TEST

/* 33.3.4: a warm reset clears TraceEn, on processors that keep the MSRs, and all where not. */
START_TEST(warm_reset)
{
    struct rig *rig = rig_new("max");

    rig->ipt.cr3_match = 0x7000;
    start(rig, CTL_BRANCHES);
    rig->profile.pt_ip_filter = _i;
    ipt_warm_reset(&rig->ipt);
    ck_assert_uint_eq(rig->ipt.ctl, _i ? (CTL_BRANCHES | CTL_(PSBFreq, 15)) & ~CTL(TraceEn) : 0);
    ck_assert_uint_eq(rig->ipt.cr3_match, _i ? 0x7000 : 0);
    ck_assert_uint_eq(rig->ipt.output_mask_ptrs, _i ? PTRS(31, START_BYTES) : 0x7f);
    ck_assert_uint_eq(rig->ipt.status & TRIGGER, 0);
    send(rig, 0, 2);
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(rig->stored, START_BYTES);
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    TCase *tcase = tcase_create("output");

    tcase_add_test(tcase, range_wraps);
    tcase_add_loop_test(tcase, range_errors, 0, TEST_COUNT(ranges));
    tcase_add_test(tcase, topa_chain);
    tcase_add_test(tcase, topa_read_when_reached);
    tcase_add_loop_test(tcase, topa_sizes, 0, 16);
    tcase_add_loop_test(tcase, topa_stop, 0, 4);
    tcase_add_test(tcase, topa_int);
    tcase_add_test(tcase, topa_single);
    tcase_add_test(tcase, topa_table_wraps);
    tcase_add_loop_test(tcase, topa_errors, 0, TEST_COUNT(errors));
    tcase_add_test(tcase, fabric);
    tcase_add_test(tcase, tap);
    tcase_add_loop_test(tcase, warm_reset, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
