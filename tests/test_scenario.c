/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../sim/scenario.h"

#include <string.h>

#include "suite.h"

/* The keys that every scenario needs. */
#define NEEDED "title: t\ncite: c\ncode: nop\n"

static const struct {
    const char *yaml;
    const char *mistake; /* its beginning */
} bad[] = {
    { "", "f.yaml: the file is empty, expected a scenario" },
    { "- a\n", "f.yaml:1:1: the scenario is a list, expected a mapping" },
    { "title: [a\n", "f.yaml:2:1: not YAML: did not find expected ',' or ']'" },
    { "title: a\n\tcite: b\n", "f.yaml:2:1: not YAML: found a tab character that violates" },
    { "title: a\ncite: \x01\n", "f.yaml:2:7: not YAML: control characters are not allowed" },
    { "cite: c\ncode: nop\n", "f.yaml:1:1: the key 'title' is missing" },
    { "title: t\ncode: nop\n", "f.yaml:1:1: the key 'cite' is missing" },
    { "title: t\ncite: c\n", "f.yaml:1:1: the key 'code' is missing" },
    { NEEDED "cods: nop\n", "f.yaml:4:1: unknown key 'cods', expected one of title, cite, ids, " },
    { NEEDED "title: u\n", "f.yaml:4:1: the key 'title' is here twice" },
    { NEEDED "? [a]\n: b\n", "f.yaml:4:3: a key is a list, expected a scalar" },
    { NEEDED "cpu: [max]\n", "f.yaml:4:6: cpu is a list, expected a scalar" },
    { NEEDED "cpu: \"ma\\0x\"\n", "f.yaml:4:6: cpu has a NUL character in it" },
    { NEEDED "ids: {a: b}\n", "f.yaml:4:6: ids is a mapping, expected a scalar or a list" },
    { NEEDED "ids: [[a]]\n", "f.yaml:4:7: ids is a list, expected a scalar" },
    { NEEDED "ids: &a [*a]\n", "f.yaml:4:6: ids is a list, expected a scalar" },
    { NEEDED "ids: [*a]\n", "f.yaml:4:7: not YAML: found undefined alias" },
    { NEEDED "msrs: [a]\n", "f.yaml:4:7: msrs is a list, expected a mapping" },
    { NEEDED "msrs:\n  A: {b: c}\n", "f.yaml:5:6: A is a mapping, expected a scalar or a list" },
    { NEEDED "msrs: {A: 1, A: 2}\n", "f.yaml:4:14: the key 'A' is here twice" },
    { NEEDED "stop: 3\n", "f.yaml:4:7: stop is a scalar, expected a mapping" },
    { NEEDED "stop: {att: x}\n", "f.yaml:4:8: unknown key 'att', expected one of at, nth, " },
    { NEEDED "events: {at: x}\n", "f.yaml:4:9: events is a mapping, expected a list" },
    { NEEDED "events:\n  - at: x\n", "f.yaml:5:5: the key 'do' is missing" },
    { NEEDED "idt: [a]\n", "f.yaml:4:6: idt is a list, expected a mapping" },
    { NEEDED "idt: {3: [a]}\n", "f.yaml:4:10: 3 is a list, expected a scalar" },
    { NEEDED "idt: {3: {vector: 3}}\n", "f.yaml:4:11: unknown key 'vector', expected one of at, " },
    { NEEDED "---\ntitle: u\n", "f.yaml:5:1: a second document, expected one scenario a file" },
    { NEEDED "cpu: skylark\n", "f.yaml:4:6: unknown cpu 'skylark', expected one of max, " },
    { NEEDED "mode: long\n", "f.yaml:4:7: 'long', expected one of real16, prot16, prot32, comp" },
    { NEEDED "cpl: 4\n", "f.yaml:4:6: '4', expected a number from 0 to 3" },
    { NEEDED "cpl: 3q\n", "f.yaml:4:6: '3q', expected a number from 0 to 3" },
    { NEEDED "mode: real16\ncpl: 1\n", "f.yaml:5:6: real16 runs at CPL 0" },
    { NEEDED "mode: v86\ncpl: 0\n", "f.yaml:5:6: v86 runs at CPL 3" },
    { NEEDED "mode: compat32\ncpl: 2\n", "f.yaml:5:6: compat32 has 32-bit code at CPL 0 and 3" },
    { NEEDED "paging: pae\n", "f.yaml:4:9: 'pae' does not go with mode long64" },
    { NEEDED "mode: prot32\npaging: 4level\n",
      "f.yaml:5:9: '4level' does not go with mode prot32" },
    { NEEDED "memory: 1M\n", "f.yaml:4:9: '1M', expected a number from 2097152 to " },
    { NEEDED "memory: 2097153\n", "f.yaml:4:9: '2097153', expected a multiple of 4K" },
    { NEEDED "limit: 0\n", "f.yaml:4:8: '0', expected a number from 1 to " },
    { NEEDED "trace_end: yes\n", "f.yaml:4:12: 'yes', expected one of clear, leave" },
    { NEEDED "roots: [a, a]\n", "f.yaml:4:12: the name 'a' is taken" },
    { NEEDED "roots: tss\n", "f.yaml:4:8: the name 'tss' is taken" },
    { NEEDED "roots: 3\n", "f.yaml:4:8: '3' is not a name: expected letters, digits and _" },
    { NEEDED "roots: [a, b, c, d, e, f, g, h]\n", "f.yaml:4:9: more roots than 7" },
    { NEEDED "gates: [{name: TSS, type: call, at: x}]\n", "f.yaml:4:16: the name 'TSS' is taken" },
};

START_TEST(bad_file)
{
    struct scenario scenario;
    struct mistake mistake;

    ck_assert(!scenario_parse(&scenario, "f.yaml", bad[_i].yaml, strlen(bad[_i].yaml), &mistake));
    ck_assert_msg(!strncmp(mistake.text, bad[_i].mistake, strlen(bad[_i].mistake)),
                  "%s\nexpected %s", mistake.text, bad[_i].mistake);
    ck_assert_ptr_null(strchr(mistake.text, '\n'));
}
END_TEST

static void parse(struct scenario *scenario, const char *yaml, struct mistake *mistake)
{
    ck_assert_msg(scenario_parse(scenario, "f.yaml", yaml, strlen(yaml), mistake), "%s",
                  mistake->text);
}

START_TEST(defaults)
{
    struct mistake mistake;
    struct scenario s;

    parse(&s, NEEDED, &mistake);
    ck_assert_str_eq(s.cpu->name, "max");
    ck_assert_int_eq(s.mode, SCN_LONG64);
    ck_assert_int_eq(s.paging, SCN_PAGING_4LEVEL);
    ck_assert_uint_eq(s.cpl, 0);
    ck_assert_uint_eq(s.memory, 4 << 20);
    ck_assert_uint_eq(s.limit, 1000000);
    ck_assert(!s.leave_trace_on);
    ck_assert_uint_eq(scn_code_bits(&s), 64);
    ck_assert_ptr_null(s.file->output);
    ck_assert_ptr_null(s.file->stop);
    ck_assert_uint_eq(s.file->events_count, 0);
    ck_assert_uint_eq(symbols_find(&s.symbols, "cr3_main", 8)->value, SCN_ROOT(0));
    scenario_free(&s);
}
END_TEST

/* Every sort of key, with its place. */
START_TEST(every_kind)
{
    static const char yaml[] = "title: t\n"
                               "cite: c\n"
                               "ids: [33-1, 33-2]\n"
                               "code: |\n"
                               "\n"
                               "  nop # \"x\\y\"\n"
                               "    # end\n"
                               "msrs:\n"
                               "  B: 0x10\n"
                               "  A: [x, y=3]\n"
                               "idt:\n"
                               "  3: on_3\n"
                               "  14: {at: on_14, ist: 1}\n"
                               "output: {topa: [{table: 0, entries: [{raw: 1}, {base: 2}]}]}\n"
                               "stop: {on: hlt}\n"
                               "roots: other\n";
    struct mistake mistake;
    struct scenario s;

    parse(&s, yaml, &mistake);
    ck_assert_uint_eq(s.file->ids_count, 2);
    ck_assert_str_eq(s.file->ids[1].text, "33-2");
    ck_assert_uint_eq(s.file->ids[1].column, 13);
    ck_assert_str_eq(s.file->code.text, "\nnop # \"x\\y\"\n  # end\n");
    ck_assert_uint_eq(s.file->code.line, 5);
    ck_assert_uint_eq(s.file->msrs_count, 2);
    ck_assert_str_eq(s.file->msrs[0].name.text, "B");
    ck_assert_str_eq(s.file->msrs[1].name.text, "A");
    ck_assert_uint_eq(s.file->msrs[1].value_count, 2);
    ck_assert_str_eq(s.file->msrs[1].value[1].text, "y=3");
    ck_assert_uint_eq(s.file->msrs[1].value[1].line, 10);
    ck_assert_uint_eq(s.file->msrs[1].value[1].column, 10);
    ck_assert_uint_eq(s.file->idt_count, 2);
    ck_assert_str_eq(s.file->idt[0].vector.text, "3");
    ck_assert_str_eq(s.file->idt[0].at.text, "on_3");
    ck_assert_ptr_null(s.file->idt[0].ist.text);
    ck_assert_str_eq(s.file->idt[1].ist.text, "1");
    ck_assert_uint_eq(s.file->output->topa[0].entries_count, 2);
    ck_assert_str_eq(s.file->output->topa[0].entries[1].base.text, "2");
    ck_assert_str_eq(s.file->stop->on.text, "hlt");
    ck_assert_uint_eq(symbols_find(&s.symbols, "other", 5)->value, SCN_ROOT(1));
    scenario_free(&s);
}
END_TEST

START_TEST(values)
{
    struct scn_text good = { 7, 3, (char *)(uintptr_t) "CODE0+1" };
    struct scn_text unknown = { 7, 3, (char *)(uintptr_t) "CODE0+x" };
    struct scn_text wrong = { 7, 3, (char *)(uintptr_t) "CODE0*2" };
    struct scn_text none = { .text = NULL };
    struct mistake mistake;
    struct scenario s;
    uint64_t value;

    parse(&s, NEEDED, &mistake);
    ck_assert(scn_value(&s, &good, 0, &value));
    ck_assert_uint_eq(value, 9);
    ck_assert(scn_value(&s, &none, 77, &value));
    ck_assert_uint_eq(value, 77);
    ck_assert(!scn_value(&s, &unknown, 0, &value));
    ck_assert_str_eq(mistake.text,
                     "f.yaml:7:3: 'x' is no label of the code and no symbol of the environment");
    ck_assert(!scn_value(&s, &wrong, 0, &value));
    ck_assert_str_eq(mistake.text, "f.yaml:7:3: 'CODE0*2' is not a value, expected numbers and "
                                   "labels joined by + and -");
    scenario_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scenario");
    TCase *tcase = tcase_create("scenario");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, bad_file, 0, TEST_COUNT(bad));
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, every_kind);
    tcase_add_test(tcase, values);
    return suite_run(suite);
}
