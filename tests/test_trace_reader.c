/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a trace file: packets and gaps, wherever the ends of the reader's buffer fall. */
#include "../sim/trace_reader.h"

#include <errno.h>
#include <string.h>

#include "../models/pt/encode.h"
#include "suite.h"

#define BUFFER sizeof(((struct trace_reader *)0)->buf)

static struct trace_reader reader;

static FILE *file_of(const void *bytes, size_t size)
{
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    rewind(file);
    return file;
}

static void expect(enum trace_kind kind, uint64_t offset, uint64_t size, bool psb_follows)
{
    struct trace_item item;

    trace_reader_next(&reader, &item);
    ck_assert_int_eq(item.kind, kind);
    ck_assert_uint_eq(item.offset, offset);
    ck_assert_uint_eq(item.size, size);
    if (kind != TRACE_PACKET && kind != TRACE_END)
        ck_assert(item.psb_follows == psb_follows);
}

static void expect_packet(enum ipt_packet_type type, uint64_t offset, uint64_t size)
{
    struct trace_item item;

    trace_reader_next(&reader, &item);
    ck_assert_int_eq(item.kind, TRACE_PACKET);
    ck_assert_int_eq(item.packet.type, type);
    ck_assert_uint_eq(item.offset, offset);
    ck_assert_uint_eq(item.size, size);
}

/* PADs up to every place around the end of the buffer, then a packet, then what is none, in front
 * of a PSB that begins with what looks like its own middle. */
START_TEST(test_buffer_end)
{
    static uint8_t bytes[BUFFER + 256];
    static const uint8_t tip[] = { 0xcd, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const uint8_t bad[] = { 0xc9, 0xc9, 0x02, 0x82, 0x02, 0x82 };
    size_t pads = BUFFER - 64 + (size_t)_i, at = IPT_PACKET_MAX + pads, bad_at;
    FILE *file;

    memset(bytes, 0, sizeof(bytes));
    ipt_put_psb(bytes);
    memcpy(bytes + at, tip, sizeof(tip));
    bad_at = at + sizeof(tip);
    memcpy(bytes + bad_at, bad, sizeof(bad));
    at = bad_at + sizeof(bad);
    at += ipt_put_psb(bytes + at);
    at += ipt_put_tnt_8(bytes + at, 1, 1);
    file = file_of(bytes, at);

    trace_reader_init(&reader, file, false);
    expect_packet(IPT_PSB, 0, IPT_PACKET_MAX);
    for (size_t i = 0; i < pads; i++) {
        struct trace_item item;

        trace_reader_next(&reader, &item);
        if (item.kind != TRACE_PACKET || item.packet.type != IPT_PAD)
            ck_abort_msg("PAD %zu is none", i);
    }
    expect_packet(IPT_TIP, IPT_PACKET_MAX + pads, sizeof(tip));
    expect(TRACE_BAD, bad_at, sizeof(bad), true);
    expect_packet(IPT_PSB, bad_at + sizeof(bad), IPT_PACKET_MAX);
    expect_packet(IPT_TNT_8, at - 1, 1);
    expect(TRACE_END, at, 0, false);
    expect(TRACE_END, at, 0, false);
    fclose(file);
}
END_TEST

/* A gap longer than the buffer, with almost a PSB at its end: of all bytes but the last. */
START_TEST(test_long_lead)
{
    static uint8_t bytes[3 * BUFFER];
    FILE *file;

    memset(bytes, 0xc9, sizeof(bytes));
    ipt_put_psb(bytes + sizeof(bytes) - 17);
    bytes[sizeof(bytes) - 2] = 0;
    file = file_of(bytes, sizeof(bytes));
    trace_reader_init(&reader, file, false);
    expect(TRACE_LEAD, 0, sizeof(bytes), false);
    expect(TRACE_END, sizeof(bytes), 0, false);

    ipt_put_psb(bytes + sizeof(bytes) - 16);
    fclose(file);
    file = file_of(bytes, sizeof(bytes));
    trace_reader_init(&reader, file, false);
    expect(TRACE_LEAD, 0, sizeof(bytes) - 16, true);
    expect_packet(IPT_PSB, sizeof(bytes) - 16, 16);
    fclose(file);
}
END_TEST

/* What looks like a PSB without end: the last sixteen bytes are it. */
START_TEST(test_long_run)
{
    static uint8_t bytes[2 * BUFFER];
    FILE *file;

    for (size_t i = 0; i < sizeof(bytes); i += 2) {
        bytes[i] = 0x02;
        bytes[i + 1] = 0x82;
    }
    file = file_of(bytes, sizeof(bytes));
    trace_reader_init(&reader, file, false);
    expect(TRACE_LEAD, 0, sizeof(bytes) - 16, true);
    expect_packet(IPT_PSB, sizeof(bytes) - 16, 16);
    expect(TRACE_END, sizeof(bytes), 0, false);
    fclose(file);
}
END_TEST

START_TEST(test_synced)
{
    static const uint8_t bytes[] = { 0x06, 0x4d, 0x11 };
    FILE *file = file_of(bytes, sizeof(bytes));

    trace_reader_init(&reader, file, true);
    expect_packet(IPT_TNT_8, 0, 1);
    expect(TRACE_CUT, 1, 2, false);
    expect(TRACE_END, 3, 0, false);
    fclose(file);
}
END_TEST

/* After a gap no block is open: 2C is a TNT again. */
START_TEST(test_block_ends)
{
    uint8_t bytes[64] = { 0x02, 0x63, 0x00, 0x2c, 1, 2, 3, 4, 5, 6, 7, 8, 0xc9 };
    size_t at = 13;
    FILE *file;

    at += ipt_put_psb(bytes + at);
    bytes[at++] = 0x2c;
    file = file_of(bytes, at);
    trace_reader_init(&reader, file, true);
    expect_packet(IPT_BBP, 0, 3);
    expect_packet(IPT_BIP, 3, 9);
    expect(TRACE_BAD, 12, 1, true);
    expect_packet(IPT_PSB, 13, 16);
    expect_packet(IPT_TNT_8, 29, 1);
    fclose(file);
}
END_TEST

START_TEST(test_unreadable)
{
    struct trace_item item;
    FILE *directory = fopen("/", "rb");

    if (!directory)
        return;
    trace_reader_init(&reader, directory, false);
    trace_reader_next(&reader, &item);
    ck_assert_int_eq(item.kind, TRACE_ERROR);
    ck_assert_int_eq(errno, EISDIR);
    fclose(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_reader");
    TCase *tcase = tcase_create("trace_reader");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, test_buffer_end, 0, 80);
    tcase_add_test(tcase, test_long_lead);
    tcase_add_test(tcase, test_long_run);
    tcase_add_test(tcase, test_synced);
    tcase_add_test(tcase, test_block_ends);
    tcase_add_test(tcase, test_unreadable);
    return suite_run(suite);
}
