/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../sim/symbols.h"

#include <string.h>

#include "suite.h"

static const struct {
    const char *text;
    bool fine;
    uint64_t value;
} numbers[] = {
    { "0", true, 0 },
    { "10", true, 10 },
    { "0x10", true, 0x10 },
    { "0Xff", true, 0xff },
    { "4K", true, 4096 },
    { "3M", true, 3 << 20 },
    { "1G", true, 1 << 30 },
    { "17179869183G", true, UINT64_MAX - ((1 << 30) - 1) },
    { "17179869184G", false, 0 },
    { "0xffffffffffffffff", true, UINT64_MAX },
    { "18446744073709551615", true, UINT64_MAX },
    { "18446744073709551616", false, 0 },
    { "0x10000000000000000", false, 0 },
    { "", false, 0 },
    { "0x", false, 0 },
    { "x", false, 0 },
    { "-1", false, 0 },
    { "+1", false, 0 },
    { " 1", false, 0 },
    { "0x 1", false, 0 },
    { "0x-1", false, 0 },
    { "3q", false, 0 },
    { "4KK", false, 0 },
    { "0x4K", false, 0 },
    { "a", false, 0 },
};

static const struct {
    const char *text;
    enum expr_result result;
    uint64_t value;
    const char *bad;
} expressions[] = {
    { "here", EXPR_OK, 0x1000, NULL },
    { "here+2", EXPR_OK, 0x1002, NULL },
    { " here - 0x2 ", EXPR_OK, 0xffe, NULL },
    { "-1", EXPR_OK, UINT64_MAX, NULL },
    { "there-here+1K", EXPR_OK, 0x1400, NULL },
    { "her", EXPR_UNKNOWN, 0, "her" },
    { "here2", EXPR_UNKNOWN, 0, "here2" },
    { "here+nowhere-1", EXPR_UNKNOWN, 0, "nowhere" },
    { "", EXPR_SYNTAX, 0, "" },
    { "here+", EXPR_SYNTAX, 0, "" },
    { "here here", EXPR_SYNTAX, 0, "h" },
    { "here*2", EXPR_SYNTAX, 0, "*" },
    { "1x+2", EXPR_SYNTAX, 0, "1x" },
    { "00000000000000000000000000000000000001", EXPR_SYNTAX, 0,
      "00000000000000000000000000000000000001" },
};

static struct symbols sample(void)
{
    struct symbols symbols = { .symbol = NULL };

    ck_assert(symbols_add(&symbols, "here", 4, 0x1000, SYMBOL_LABEL));
    ck_assert(symbols_add(&symbols, "there+", 5, 0x2000, SYMBOL_LABEL));
    ck_assert(symbols_add(&symbols, "also_there", 10, 0x2000, SYMBOL_LABEL));
    ck_assert(symbols_add(&symbols, "root", 4, 0x1800, SYMBOL_ROOT));
    return symbols;
}

START_TEST(number)
{
    uint64_t value = 0;

    ck_assert_int_eq(number_parse(numbers[_i].text, &value), numbers[_i].fine);
    if (numbers[_i].fine)
        ck_assert_uint_eq(value, numbers[_i].value);
}
END_TEST

START_TEST(expression)
{
    struct symbols symbols = sample();
    struct expr_bad bad = { .length = 0 };
    uint64_t value;

    ck_assert_int_eq(expr_eval(expressions[_i].text, &symbols, &value, &bad),
                     expressions[_i].result);
    if (expressions[_i].result == EXPR_OK) {
        ck_assert_uint_eq(value, expressions[_i].value);
    } else {
        ck_assert_int_eq(bad.length, (int)strlen(expressions[_i].bad));
        ck_assert(!strncmp(bad.text, expressions[_i].bad, (size_t)bad.length));
    }
    symbols_free(&symbols);
}
END_TEST

START_TEST(near)
{
    struct symbols symbols = sample();

    ck_assert_str_eq(symbols_near(&symbols, SYMBOL_LABEL, 0x1fff, 0x1000)->name, "here");
    ck_assert_str_eq(symbols_near(&symbols, SYMBOL_LABEL, 0x2000, 0x1000)->name, "there");
    ck_assert_ptr_null(symbols_near(&symbols, SYMBOL_LABEL, 0xfff, 0x1000));
    ck_assert_ptr_null(symbols_near(&symbols, SYMBOL_LABEL, 0x3000, 0x1000));
    ck_assert_str_eq(symbols_near(&symbols, SYMBOL_ROOT, 0x1800, 1)->name, "root");
    ck_assert_ptr_null(symbols_near(&symbols, SYMBOL_ROOT, 0x1801, 1));
    symbols_free(&symbols);
}
END_TEST

START_TEST(names)
{
    ck_assert(symbol_name("a_1"));
    ck_assert(symbol_name(".L$x"));
    ck_assert(!symbol_name(""));
    ck_assert(!symbol_name("1a"));
    ck_assert(!symbol_name("a b"));
    ck_assert(!symbol_name("a+b"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbols");
    TCase *tcase = tcase_create("symbols");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, number, 0, TEST_COUNT(numbers));
    tcase_add_loop_test(tcase, expression, 0, TEST_COUNT(expressions));
    tcase_add_test(tcase, near);
    tcase_add_test(tcase, names);
    return suite_run(suite);
}
