/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../sim/code_map.h"
#include "suite.h"

enum {
    PAGE = 4096,
    RAM_PAGES = 64
};
static const uint64_t high = UINT64_C(0xffff800000000000);

static struct code_map *map;

static void setup(void)
{
    map = code_map_new(RAM_PAGES * PAGE);
    ck_assert_ptr_nonnull(map);
}

static void teardown(void)
{
    code_map_free(map);
}

START_TEST(tells_of_other_pages)
{
    uint64_t phys;

    ck_assert(!code_map_find(map, high, &phys));
    ck_assert_int_eq(code_map_execute(map, high, PAGE), CODE_MAP_NEW);
    ck_assert_int_eq(code_map_execute(map, high, PAGE), CODE_MAP_NONE);
    ck_assert_int_eq(code_map_execute(map, 0, PAGE), CODE_MAP_NEW);
    ck_assert_int_eq(code_map_execute(map, high, 2 * PAGE), CODE_MAP_OTHER);
    ck_assert_int_eq(code_map_execute(map, high, 2 * PAGE), CODE_MAP_NONE);
    ck_assert(code_map_find(map, high, &phys));
    ck_assert_uint_eq(phys, 2 * PAGE);
    ck_assert(code_map_find(map, 0, &phys));
    ck_assert_uint_eq(phys, PAGE);
}
END_TEST

/* Many pages, more than the table has room for at first, with equal low bits among them. */
START_TEST(forgets_none)
{
    enum {
        MANY = 5000
    };
    uint64_t phys;

    for (uint64_t i = 0; i < MANY; i++)
        ck_assert_int_eq(code_map_execute(map, (i << 21) * PAGE, i * PAGE), CODE_MAP_NEW);
    for (uint64_t i = 0; i < MANY; i++) {
        ck_assert(code_map_find(map, (i << 21) * PAGE, &phys));
        ck_assert_uint_eq(phys, i * PAGE);
        ck_assert_int_eq(code_map_execute(map, (i << 21) * PAGE, i * PAGE), CODE_MAP_NONE);
    }
    ck_assert(!code_map_find(map, PAGE, &phys));
}
END_TEST

START_TEST(knows_aliases)
{
    static const struct {
        uint64_t written[3]; /* linear addresses that physical page 5 is written at; 1: none */
        bool alias;
    } cases[] = {
        { { 1, 1, 1 }, false },
        { { 0x7000, 1, 1 }, false },
        { { 0x7000, 0x7000, 1 }, false },
        { { 0x8000, 1, 1 }, true },
        { { 0x7000, 0x8000, 1 }, true },
        { { 0x8000, 0x7000, 1 }, true },
        { { 0x7000, 0x8000, 0x7000 }, true },
        { { 0, 1, 1 }, true },
    };

    code_map_execute(map, 0x7000, 5 * PAGE);
    for (unsigned i = 0; i < 3 && cases[_i].written[i] != 1; i++)
        code_map_write(map, cases[_i].written[i], 5 * PAGE);
    code_map_write(map, 0x9000, 6 * PAGE);
    code_map_write(map, 0x9000, RAM_PAGES * PAGE);
    ck_assert_int_eq(code_map_has_alias(map, 0x7000), cases[_i].alias);
    /* the permission is taken away: there is none until it is given again */
    ck_assert(!code_map_has_alias(map, 0x7000));
    code_map_write(map, 0x8000, 5 * PAGE);
    ck_assert(code_map_has_alias(map, 0x7000));
    ck_assert(!code_map_has_alias(map, 0x6000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("code_map");
    TCase *tcase = tcase_create("code_map");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, tells_of_other_pages);
    tcase_add_test(tcase, forgets_none);
    tcase_add_loop_test(tcase, knows_aliases, 0, 8);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
