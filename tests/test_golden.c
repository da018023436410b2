/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../sim/golden.h"

#include <stdio.h>
#include <string.h>

#include "../sim/packet_diff.h"
#include "suite.h"

#define HEADER "ids 33-1\ncite SDM 33.1\n"
#define PSB    "0000 02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 psb\n"

static const struct {
    const char *text;
    const char *mistake;
} bad[] = {
    { "", "g: the citation is missing" },
    { "cite x\n", "g: the ids are missing" },
    { "ids a\nids b\n", "g:2: a second line of ids" },
    { "cite a\ncite b\n", "g:2: a second citation" },
    { "cite # x\n", "g:1: the citation is empty" },
    { HEADER "packets\n",
      "g:3: 'packets', expected ids, cite, cpu, repeat, end, msr, reg, mem or" },
    { HEADER "0000 00 pad\n", "g:3: packets, but no cpu line before them" },
    { HEADER "cpu 1\n", "g:3: cpu '1', expected 0: there is one logical processor" },
    { HEADER "cpu\n", "g:3: cpu '', expected 0: there is one logical processor" },
    { HEADER "cpu 0\ncpu 0\n", "g:4: a second cpu 0" },
    { HEADER "cpu 0\n" PSB "0011 00 pad\n", "g:5: offset '0011', expected 0010, as the lines bef" },
    { HEADER "cpu 0\n0x 00 pad\n", "g:4: offset '0x', expected 0000, as the lines before add up" },
    { HEADER "cpu 0\n0000 0g pad\n", "g:4: '0g', expected a packet's bytes, of two hexadecimal" },
    { HEADER "cpu 0\n0000 pad\n", "g:4: 'pad', expected a packet's bytes, of two hexadecimal" },
    { HEADER "cpu 0\n0000 00\n", "g:4: the name of the packet is missing" },
    { HEADER "cpu 0\n0000 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 x\n", "g:4: '0', expected a packet's" },
    { HEADER "cpu 0\n0000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 pad\n",
      "g:4: more bytes than a packet can have" },
    { HEADER "repeat\n", "g:3: '', expected how many times" },
    { HEADER "repeat 0\n", "g:3: '0', expected how many times" },
    { HEADER "repeat 2\nrepeat 2\n", "g:4: a repeat in a repeat" },
    { HEADER "end\n", "g:3: end, but no repeat before it" },
    { HEADER "repeat 2\n\n", "g:3: a repeat without an end" },
    { HEADER "msr IA32_EFER\n", "g:3: msr, expected a name and a value behind it" },
};

START_TEST(bad_file)
{
    struct golden golden;
    struct mistake mistake;

    ck_assert(!golden_parse(&golden, "g", bad[_i].text, strlen(bad[_i].text), &mistake));
    ck_assert_msg(!strncmp(mistake.text, bad[_i].mistake, strlen(bad[_i].mistake)),
                  "%s\nexpected %s", mistake.text, bad[_i].mistake);
}
END_TEST

START_TEST(not_text)
{
    struct golden golden;
    struct mistake mistake;

    ck_assert(!golden_parse(&golden, "g", "ids\0", 4, &mistake));
    ck_assert_str_eq(mistake.text, "g: not a text file: it has NUL characters");
}
END_TEST

/* A scenario with two labels, as if it had been assembled. */
struct fixture {
    struct scenario scenario;
    struct golden golden;
    struct mistake mistake;
};

static void set_up(struct fixture *f, const char *golden)
{
    static const char yaml[] = "title: t\ncite: SDM 33.1\nids: 33-1\nroots: [other]\ncode: nop\n";

    ck_assert(scenario_parse(&f->scenario, "s", yaml, strlen(yaml), &f->mistake));
    ck_assert(symbols_add(&f->scenario.symbols, "start", 5, 0x8000, SYMBOL_LABEL));
    ck_assert(symbols_add(&f->scenario.symbols, "cafe", 4, 0x8010, SYMBOL_LABEL));
    ck_assert_msg(golden_parse(&f->golden, "g", golden, strlen(golden), &f->mistake), "%s",
                  f->mistake.text);
}

static void tear_down(struct fixture *f)
{
    golden_free(&f->golden);
    scenario_free(&f->scenario);
}

/* One packet, as a golden may write it; WRONG is the mistake, NULL where it agrees with itself. */
static const struct {
    const char *packet;
    const char *wrong;
} texts[] = {
    { "00 pad", NULL },
    { "00 pad 0", "g:4: the text 'pad 0' does not say what the bytes are: 'pad '" },
    { "00 psbend", "g:4: the text 'psbend ' does not say what the bytes are: 'pad '" },
    { "06 tnt.8 !", NULL },
    { "06 tnt.8 .", "g:4: the text 'tnt.8 .' does not say what the bytes are: 'tnt.8 !'" },
    { "71 00 80 00 00 00 00 tip.pge 3: start", NULL },
    { "71 00 80 00 00 00 00 tip.pge 3: start+0x0", NULL },
    { "71 00 80 00 00 00 00 tip.pge 3: cafe-0x10", NULL },
    { "71 00 80 00 00 00 00 tip.pge 3: 8000", NULL },
    { "71 00 80 00 00 00 00 tip.pge 3: 0000000000008000", NULL },
    { "71 00 80 00 00 00 00 tip.pge 3:0x8000 # comment", NULL },
    { "71 00 80 00 00 00 00 tip.pge 1: start", "g:4: the text 'tip.pge 1: start' does not say" },
    { "71 00 80 00 00 00 00 tip.pge 3: start+0x1", "g:4: the text" },
    { "71 00 80 00 00 00 00 tip.pge 3: nowhere", "g:4: the text" },
    { "71 00 80 00 00 00 00 tip.pge 3:", "g:4: the text" },
    { "71 00 80 00 00 00 00 tip.pge 3: start 0", "g:4: the text" },
    { "71 fe ca 00 00 00 00 tip.pge 3: cafe", NULL }, /* as it is printed: a number */
    { "71 10 80 00 00 00 00 tip.pge 3: cafe", NULL },
    { "01 tip.pgd 0:", NULL },
    { "01 tip.pgd 0: ????????????????", NULL },
    { "01 tip.pgd 0: start", "g:4: the text" },
    { "01 tip.pgd", "g:4: the text" },
    { "02 03 15 00 cbr 15", NULL },
    { "02 03 15 00 cbr 0x15", NULL },
    { "02 03 15 00 cbr 21", "g:4: the text 'cbr 21' does not say what the bytes are: 'cbr 15'" },
    { "02 43 00 41 00 00 00 00 pip 41000", NULL },
    { "02 43 00 41 00 00 00 00 pip other", NULL },
    { "02 43 00 41 00 00 00 00 pip 40800", "g:4: the text" },
    { "02 43 00 40 00 00 00 00 pip cr3_main", NULL },
    { "02 43 00 41 00 00 00 00 pip other-0x800", "g:4: the text" },
    { "02 43 01 40 00 00 00 00 pip cr3_main, nr", NULL },
    { "02 43 01 40 00 00 00 00 pip cr3_main", "g:4: the text" },
    { "99 01 mode.exec cs.l", NULL },
    { "99 02 mode.exec cs.l", "g:4: the text" },
    { "02 82 cut", NULL },
    { "02 82 psb", "g:4: the text 'psb ' does not say what the bytes are: 'cut '" },
    { "02 23 00 psbend", "g:4: the bytes are not one packet: 2 of them are 'psbend'" },
    { "02 ff xyz", "g:4: the text 'xyz ' does not say what the bytes are: 'bad '" },
};

START_TEST(text_and_bytes)
{
    struct fixture f;
    char golden[200];
    bool fine;

    snprintf(golden, sizeof(golden), HEADER "cpu 0\n0000 %s\n", texts[_i].packet);
    set_up(&f, golden);
    f.mistake.text[0] = '\0';
    fine = golden_check(&f.golden, &f.scenario);
    ck_assert_msg(fine == !texts[_i].wrong, "%s: %s", texts[_i].packet, f.mistake.text);
    if (!fine)
        ck_assert_msg(!strncmp(f.mistake.text, texts[_i].wrong, strlen(texts[_i].wrong)), "%s",
                      f.mistake.text);
    tear_down(&f);
}
END_TEST

START_TEST(other_scenario)
{
    struct fixture f;

    set_up(&f, "ids 33-1 33-2\ncite SDM 33.1\n");
    ck_assert(!golden_check(&f.golden, &f.scenario));
    ck_assert_str_eq(f.mistake.text, "g:1: the ids are not those of s");
    tear_down(&f);
    set_up(&f, "ids  33-1 # the one\ncite SDM 33.2\n");
    ck_assert(!golden_check(&f.golden, &f.scenario));
    ck_assert_str_eq(f.mistake.text, "g:2: the citation is not that of s: 'SDM 33.1'");
    tear_down(&f);
}
END_TEST

START_TEST(repeats)
{
    struct fixture f;

    set_up(&f, HEADER "cpu 0\nrepeat 3\n0000 06 tnt.8 !\n0001 00 pad\nend\n0006 04 tnt.8 .\n");
    ck_assert(golden_check(&f.golden, &f.scenario));
    ck_assert_uint_eq(f.golden.packets, 7);
    ck_assert_uint_eq(f.golden.size, 7);
    ck_assert_mem_eq(f.golden.bytes, "\x06\x00\x06\x00\x06\x00\x04", 7);
    ck_assert_uint_eq(f.golden.packet[4].offset, 4);
    ck_assert_uint_eq(f.golden.packet[5].line, 6);
    tear_down(&f);
}
END_TEST

/* ---- differences ---- */

static const struct {
    const char *expected;
    const char *got;
    const char *rows; /* = same, ! both but different, < only expected, > only got */
} diffs[] = {
    { "", "", "" },
    { "\x06\x04", "\x06\x04", "==" },
    { "\x06\x04", "\x06", "=<" },
    { "\x06", "\x06\x04", "=>" },
    { "\x06\x04\x0c", "\x06\x0c", "=<=" },
    { "\x06\x0c", "\x06\x04\x0c", "=>=" },
    { "\x06\x04\x0c", "\x06\x08\x0c", "=!=" },
    { "\x04\x06\x06\x0c", "\x06\x06\x0c\x04", "<===>" },
    { "", "\x06\x06", ">>" },
};

START_TEST(diff)
{
    struct packet_list expected, got;
    struct packet_diff d;
    size_t differences = 0;

    ck_assert(packet_list_make(&expected, (const uint8_t *)diffs[_i].expected,
                               strlen(diffs[_i].expected)));
    ck_assert(packet_list_make(&got, (const uint8_t *)diffs[_i].got, strlen(diffs[_i].got)));
    ck_assert(packet_diff_make(&d, &expected, &got));
    ck_assert_uint_eq(d.rows, strlen(diffs[_i].rows));
    for (size_t i = 0; i < d.rows; i++) {
        char kind = d.row[i].same           ? '='
                    : d.row[i].got < 0      ? '<'
                    : d.row[i].expected < 0 ? '>'
                                            : '!';

        ck_assert_int_eq(kind, diffs[_i].rows[i]);
        differences += kind != '=';
    }
    ck_assert_uint_eq(d.differences, differences);
    packet_diff_free(&d);
    packet_list_free(&expected);
    packet_list_free(&got);
}
END_TEST

START_TEST(long_diff)
{
    static uint8_t expected_bytes[5000], got_bytes[5000];
    struct packet_list expected, got;
    struct packet_diff d;

    memset(expected_bytes, 0x06, sizeof(expected_bytes));
    memset(got_bytes, 0x06, sizeof(got_bytes));
    got_bytes[10] = got_bytes[4990] = 0x04;
    ck_assert(packet_list_make(&expected, expected_bytes, sizeof(expected_bytes)));
    ck_assert(packet_list_make(&got, got_bytes, sizeof(got_bytes)));
    ck_assert(packet_diff_make(&d, &expected, &got));
    ck_assert_uint_eq(d.rows, 5000);
    ck_assert_uint_eq(d.differences, 2);
    packet_diff_free(&d);
    packet_list_free(&expected);
    packet_list_free(&got);
}
END_TEST

/* ---- text of packets ---- */

static const struct {
    const char *bytes;
    size_t size;
    const char *payload;
} payloads[] = {
    { "\x71\x02\x80\0\0\0\0", 7, "3: start+0x2" }, { "\x71\xff\x7f\0\0\0\0", 7, "3: 0x7fff" },
    { "\x71\x10\x90\0\0\0\0", 7, "3: 0x9010" },    { "\x01", 1, "0:" },
    { "\x02\x43\x00\x41\0\0\0\0", 8, "other" },    { "\x02\x43\x00\x42\0\0\0\0", 8, "42000" },
    { "\x02\x43\x00\x41\0\0\0\0", 7, "" },         { "\x06", 1, "!" },
};

START_TEST(payload)
{
    struct packet_list list;
    struct fixture f;
    char text[PACKET_TEXT_MAX];

    set_up(&f, HEADER);
    ck_assert(packet_list_make(&list, (const uint8_t *)payloads[_i].bytes, payloads[_i].size));
    ck_assert_uint_eq(list.count, 1);
    ck_assert_str_eq(packet_payload(&list.packet[0], &f.scenario.symbols, text),
                     payloads[_i].payload);
    packet_list_free(&list);
    tear_down(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden");
    TCase *tcase = tcase_create("golden");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, bad_file, 0, TEST_COUNT(bad));
    tcase_add_test(tcase, not_text);
    tcase_add_loop_test(tcase, text_and_bytes, 0, TEST_COUNT(texts));
    tcase_add_test(tcase, other_scenario);
    tcase_add_test(tcase, repeats);
    tcase_add_loop_test(tcase, diff, 0, TEST_COUNT(diffs));
    tcase_add_test(tcase, long_diff);
    tcase_add_loop_test(tcase, payload, 0, TEST_COUNT(payloads));
    return suite_run(suite);
}
