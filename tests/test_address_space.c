/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the page tables say is asked of the architecture's own page walk. */
#include "../sim/address_space.h"

#include <string.h>

#include "../models/arch/paging.h"
#include "suite.h"

#define FRAMES 64
#define A      UINT64_C(0x400000)
/* The last page of a page table: the next one needs another table. */
#define EDGE   UINT64_C(0x7ffff7dff000)

static uint8_t ram[FRAMES][AS_PAGE];
static struct address_space as;
static struct arch_state state;
static const struct arch_limits limits = { .maxphyaddr = 46, .linear_width = 48 };

static void ram_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    (void)ctx;
    ck_assert_uint_le(phys + size, sizeof(ram));
    memcpy(buf, &ram[0][0] + phys, size);
}

static void ram_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    (void)ctx;
    ck_assert_uint_le(phys + size, sizeof(ram));
    memcpy(&ram[0][0] + phys, buf, size);
}

static const struct mem_port mem = { .read = ram_read, .write = ram_write };

static void setup(void)
{
    memset(ram, 0, sizeof(ram));
    ck_assert(as_init(&as, &mem, sizeof(ram)));
    arch_setup(&state, ARCH_MODE_LONG64, 3);
    state.cr3 = as.cr3;
}

static struct arch_fault access_page(uint64_t address, enum arch_access access, unsigned cpl)
{
    struct arch_translation t;

    return arch_translate(&state, &limits, &mem, address, access, cpl, &t);
}

static uint8_t read_byte(uint64_t address)
{
    uint8_t byte;

    ck_assert(!arch_linear_read(&state, &limits, &mem, address, &byte, 1, 3).raised);
    return byte;
}

START_TEST(protection)
{
    /* Which of read, write and fetch work at CPL 3; R, W, X. */
    static const struct {
        unsigned prot;
        const char *works;
    } table[] = {
        { AS_NONE, "" },
        { AS_READ, "R" },
        { AS_WRITE, "RW" },
        { AS_EXECUTE, "RX" },
        { AS_READ | AS_WRITE, "RW" },
        { AS_READ | AS_EXECUTE, "RX" },
        { AS_READ | AS_WRITE | AS_EXECUTE, "RWX" },
        { AS_READ | AS_SUPERVISOR, "" },
    };
    static const struct {
        enum arch_access access;
        char letter;
    } accesses[] = { { ARCH_READ, 'R' }, { ARCH_WRITE, 'W' }, { ARCH_FETCH, 'X' } };

    for (int i = 0; i < TEST_COUNT(table); i++) {
        for (int j = 0; j < TEST_COUNT(accesses); j++) {
            bool works = strchr(table[i].works, accesses[j].letter) != NULL;

            /* both where mapped so, and where made so later */
            ck_assert(as_map(&as, A, AS_PAGE, table[i].prot));
            ck_assert_int_eq(access_page(A, accesses[j].access, 3).raised, !works);
            ck_assert(as_map(&as, A, AS_PAGE, AS_READ | AS_WRITE | AS_EXECUTE));
            ck_assert(as_protect(&as, A, AS_PAGE, table[i].prot));
            ck_assert_int_eq(access_page(A, accesses[j].access, 3).raised, !works);
        }
        ck_assert(as_map(&as, A + AS_PAGE, AS_PAGE, as_prot(&as, A)));
        for (int j = 0; j < TEST_COUNT(accesses); j++)
            ck_assert_int_eq(access_page(A + AS_PAGE, accesses[j].access, 3).raised,
                             access_page(A, accesses[j].access, 3).raised);
    }
    ck_assert(!access_page(A, ARCH_READ, 0).raised); /* the last row, for the supervisor */
}
END_TEST

START_TEST(mapped_and_free)
{
    ck_assert(as_is_free(&as, A, 4 * AS_PAGE));
    ck_assert(as_map(&as, A + AS_PAGE, AS_PAGE, AS_NONE));
    ck_assert(as_is_mapped(&as, A + AS_PAGE, AS_PAGE));
    ck_assert(!as_is_mapped(&as, A, 2 * AS_PAGE));
    ck_assert(!as_is_mapped(&as, A + AS_PAGE, 2 * AS_PAGE));
    ck_assert(!as_is_free(&as, A, 2 * AS_PAGE));
    ck_assert(as_is_free(&as, A + 2 * AS_PAGE, AS_PAGE));
    ck_assert(!as_protect(&as, A, 2 * AS_PAGE, AS_READ));
    ck_assert(access_page(A + AS_PAGE, ARCH_READ, 3).raised);
    as_unmap(&as, A, 4 * AS_PAGE);
    ck_assert(as_is_free(&as, A, 4 * AS_PAGE));
}
END_TEST

START_TEST(contents)
{
    uint8_t data[3 * AS_PAGE];
    uint8_t back[3 * AS_PAGE];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + i / AS_PAGE);
    ck_assert(as_map(&as, EDGE, 4 * AS_PAGE, AS_READ));
    as_write(&as, EDGE + 100, data, sizeof(data));
    ck_assert_uint_eq(read_byte(EDGE + 99), 0);
    for (size_t i = 0; i < sizeof(data); i += 511)
        ck_assert_uint_eq(read_byte(EDGE + 100 + i), data[i]);
    as_read(&as, EDGE + 100, back, sizeof(back));
    ck_assert_mem_eq(back, data, sizeof(data));
    ck_assert_uint_eq(read_byte(EDGE + 100 + sizeof(data)), 0);
    as_zero(&as, EDGE + AS_PAGE, AS_PAGE);
    ck_assert_uint_eq(read_byte(EDGE + AS_PAGE), 0);
    ck_assert_uint_eq(read_byte(EDGE + 2 * AS_PAGE - 1), 0);
    ck_assert_uint_eq(read_byte(EDGE + AS_PAGE - 1), data[AS_PAGE - 101]);
    ck_assert_uint_eq(read_byte(EDGE + 2 * AS_PAGE), data[2 * AS_PAGE - 100]);
}
END_TEST

START_TEST(move)
{
    ck_assert(as_map(&as, A, 2 * AS_PAGE, AS_READ | AS_WRITE));
    as_write(&as, A, "one", 4);
    as_write(&as, A + AS_PAGE, "two", 4);
    as.stale = false;
    ck_assert(as_move(&as, A, EDGE, 2 * AS_PAGE));
    ck_assert(as.stale);
    ck_assert(as_is_free(&as, A, 2 * AS_PAGE));
    ck_assert_uint_eq(read_byte(EDGE), 'o');
    ck_assert_uint_eq(read_byte(EDGE + AS_PAGE), 't');
    ck_assert(!access_page(EDGE, ARCH_WRITE, 3).raised);
}
END_TEST

/* A frame that comes back is zero again, and the frames last for ever. */
START_TEST(frames_are_used_again)
{
    for (int i = 0; i < 10 * FRAMES; i++) {
        ck_assert(as_map(&as, A, 8 * AS_PAGE, AS_READ | AS_WRITE));
        for (uint64_t page = A; page < A + 8 * AS_PAGE; page += AS_PAGE) {
            ck_assert_uint_eq(read_byte(page), 0);
            as_write(&as, page, "dirty", 5);
        }
        as_unmap(&as, A, 8 * AS_PAGE);
    }
}
END_TEST

START_TEST(out_of_memory)
{
    ck_assert(!as_map(&as, A, FRAMES * AS_PAGE, AS_READ));
    as_unmap(&as, A, FRAMES * AS_PAGE);
    ck_assert(as_map(&as, A, 8 * AS_PAGE, AS_READ));
    ck_assert_uint_eq(as_frames(&as, FRAMES), 0);
    ck_assert(!as_init(&as, &mem, AS_PAGE));
}
END_TEST

/* Only what takes a right away leaves a stale translation. */
START_TEST(stale)
{
    ck_assert(as_map(&as, A, AS_PAGE, AS_READ | AS_WRITE));
    ck_assert(!as.stale);
    ck_assert(as_protect(&as, A, AS_PAGE, AS_READ));
    ck_assert(as.stale);
    as.stale = false;
    as_unmap(&as, A + AS_PAGE, AS_PAGE);
    ck_assert(!as.stale);
    as_unmap(&as, A, AS_PAGE);
    ck_assert(as.stale);
}
END_TEST

START_TEST(find_executable)
{
    uint64_t address;
    uint64_t size;

    ck_assert(!as_find_executable(&as, 0, &address, &size));
    ck_assert(as_map(&as, A, AS_PAGE, AS_READ));
    ck_assert(as_map(&as, A + AS_PAGE, 2 * AS_PAGE, AS_READ | AS_EXECUTE));
    ck_assert(as_map(&as, EDGE, 2 * AS_PAGE, AS_EXECUTE));
    ck_assert(as_map(&as, ~UINT64_C(0xfff), AS_PAGE, AS_EXECUTE | AS_SUPERVISOR));
    ck_assert(as_find_executable(&as, 0, &address, &size));
    ck_assert_uint_eq(address, A + AS_PAGE);
    ck_assert_uint_eq(size, 2 * AS_PAGE);
    ck_assert(as_find_executable(&as, address + size, &address, &size));
    ck_assert_uint_eq(address, EDGE);
    ck_assert_uint_eq(size, 2 * AS_PAGE);
    ck_assert(!as_find_executable(&as, address + size, &address, &size));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("address_space");
    TCase *tcase = tcase_create("pages");

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, protection);
    tcase_add_test(tcase, mapped_and_free);
    tcase_add_test(tcase, contents);
    tcase_add_test(tcase, move);
    tcase_add_test(tcase, frames_are_used_again);
    tcase_add_test(tcase, out_of_memory);
    tcase_add_test(tcase, stale);
    tcase_add_test(tcase, find_executable);
    return suite_run(suite);
}
