/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../sim/memory.h"
#include "suite.h"

enum {
    PAGE = 4096
};
static const uint64_t gib = UINT64_C(1) << 30;

static struct memory *memory;
static struct mem_port port;

static void make(uint64_t size)
{
    memory = memory_new(size);
    ck_assert_ptr_nonnull(memory);
    port = memory_port(memory);
}

static void setup(void)
{
    make(4 * PAGE);
}

static void teardown(void)
{
    memory_free(memory);
}

START_TEST(starts_as_zeros)
{
    uint8_t buf[2 * PAGE], zeros[2 * PAGE] = { 0 };

    memset(buf, 0xaa, sizeof(buf));
    port.read(port.ctx, PAGE, buf, sizeof(buf));
    ck_assert_mem_eq(buf, zeros, sizeof(buf));
}
END_TEST

START_TEST(reads_back_what_was_written)
{
    /* within a page, over a page end, over two, at the end of RAM */
    static const struct {
        uint64_t phys;
        size_t size;
    } at[] = { { 0, 1 }, { 17, 8 }, { PAGE - 3, 8 }, { PAGE - 1, PAGE + 2 }, { 4 * PAGE - 5, 5 } };
    uint8_t out[2 * PAGE], in[2 * PAGE];

    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (uint8_t)(i * 7 + (size_t)_i);
    port.write(port.ctx, at[_i].phys, out, at[_i].size);
    port.read(port.ctx, at[_i].phys, in, at[_i].size);
    ck_assert_mem_eq(in, out, at[_i].size);
    ck_assert_mem_eq((uint8_t *)memory_page(memory, 0) + at[_i].phys, out, at[_i].size);
}
END_TEST

START_TEST(no_ram_reads_ones_and_drops_writes)
{
    static const uint64_t beyond[] = { 4 * PAGE, 5 * PAGE + 1, UINT64_C(1) << 51, UINT64_MAX - 8 };
    uint64_t value = 0;

    ck_assert_ptr_null(memory_page(memory, beyond[_i] & ~UINT64_C(0xfff)));
    port.write(port.ctx, beyond[_i], &value, sizeof(value));
    ck_assert_uint_eq(mem_port_read(&port, beyond[_i], 8), UINT64_MAX);
}
END_TEST

START_TEST(access_over_the_end_of_ram)
{
    mem_port_write(&port, 4 * PAGE - 4, UINT64_C(0x1122334455667788), 8);
    ck_assert_uint_eq(mem_port_read(&port, 4 * PAGE - 4, 8), UINT64_C(0xffffffff55667788));
}
END_TEST

START_TEST(size_is_whole_pages)
{
    static const uint64_t sizes[][2] = {
        { 0, PAGE }, { 1, PAGE }, { PAGE, PAGE }, { PAGE + 1, 2 * PAGE }
    };
    struct memory *other = memory_new(sizes[_i][0]);

    ck_assert_uint_eq(memory_size(other), sizes[_i][1]);
    memory_free(other);
}
END_TEST

START_TEST(more_than_the_host_has)
{
    ck_assert_ptr_null(memory_new(UINT64_MAX));
}
END_TEST

/* Of 16 GB with one byte written every gigabyte, the host holds few pages. */
START_TEST(costs_what_is_used)
{
    static unsigned char held[UINT64_C(1) << 18];
    size_t pages = 0;
    long host_page = sysconf(_SC_PAGESIZE);

    make(16 * gib);
    for (uint64_t phys = 0; phys < 16 * gib; phys += gib)
        mem_port_write(&port, phys + 0x123456, 0x5a, 1);
    for (uint64_t phys = 0; phys < 16 * gib; phys += gib) {
        ck_assert_int_eq(mincore(memory_page(memory, phys), gib, held), 0);
        for (size_t i = 0; i < gib / (size_t)host_page; i++)
            pages += held[i] & 1;
    }
    /* with huge host pages each write may hold 2 MB */
    ck_assert_uint_le(pages * (size_t)host_page, 16u * (2u << 20));
    memory_free(memory);
}
END_TEST

static struct {
    unsigned calls;
    uint64_t phys;
    size_t size;
} written;

static void note_written(void *ctx, uint64_t phys, size_t size)
{
    ck_assert_ptr_eq(ctx, memory);
    written.calls++;
    written.phys = phys;
    written.size = size;
}

START_TEST(tells_of_writes_to_code)
{
    static const struct {
        uint64_t phys;
        size_t size;
        unsigned calls;
    } at[] = {
        { 0, 8, 0 },        { PAGE, 1, 1 },     { 2 * PAGE - 1, 1, 1 }, { PAGE - 1, 2, 1 },
        { PAGE - 1, 1, 0 }, { 2 * PAGE, 8, 0 }, { 2 * PAGE - 1, 2, 1 }, { 100, 3 * PAGE, 1 },
        { 4 * PAGE, 8, 0 },
    };
    uint8_t buf[3 * PAGE] = { 0 };

    written.calls = 0;
    memory_on_code_written(memory, note_written, memory);
    memory_mark_code(memory, PAGE + 0x123);
    memory_mark_code(memory, UINT64_C(1) << 40);
    port.write(port.ctx, at[_i].phys, buf, at[_i].size);
    ck_assert_uint_eq(written.calls, at[_i].calls);
    if (written.calls) {
        ck_assert_uint_eq(written.phys, at[_i].phys);
        ck_assert_uint_eq(written.size, at[_i].size);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *small = tcase_create("16 KB");
    TCase *sizes = tcase_create("sizes");

    tcase_add_checked_fixture(small, setup, teardown);
    tcase_add_test(small, starts_as_zeros);
    tcase_add_loop_test(small, reads_back_what_was_written, 0, 5);
    tcase_add_loop_test(small, no_ram_reads_ones_and_drops_writes, 0, 4);
    tcase_add_test(small, access_over_the_end_of_ram);
    tcase_add_loop_test(small, tells_of_writes_to_code, 0, 9);
    suite_add_tcase(suite, small);
    tcase_add_loop_test(sizes, size_is_whole_pages, 0, 4);
    tcase_add_test(sizes, more_than_the_host_has);
    tcase_add_test(sizes, costs_what_is_used);
    suite_add_tcase(suite, sizes);
    return suite_run(suite);
}
