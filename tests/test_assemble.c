/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../sim/assemble.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

static bool try_assemble(const char *text, unsigned bits, struct symbols *symbols,
                         struct assembly *code, struct mistake *mistake)
{
    const struct asm_source source = {
        .path = "a \"b\".yaml",
        .at = { 10, 5 },
        .text = text,
        .bits = bits,
        .origin = 0x8000,
        .listing = true,
    };

    *symbols = (struct symbols){ .symbol = NULL };
    mistake->text[0] = '\0';
    ck_assert(symbols_add(symbols, "TOP", 3, 0x1234, SYMBOL_CONSTANT));
    return assemble(&source, symbols, code, mistake);
}

/* Instructions whose bytes differ by code size, and those that a 64-bit object could not have. */
static const struct {
    unsigned bits;
    const char *text;
    unsigned size;
    uint8_t bytes[16];
} good[] = {
    { 64, "mov rax, TOP", 7, { 0x48, 0xc7, 0xc0, 0x34, 0x12, 0, 0 } },
    { 64, "jmp next", 2, { 0xeb, 0x00 } },
    { 64, "rex.w call fword ptr [rax]", 3, { 0x48, 0xff, 0x18 } },
    { 64, "ptwrite rax", 5, { 0xf3, 0x48, 0x0f, 0xae, 0xe0 } },
    { 64, "int1", 1, { 0xf1 } },
    { 32, "mov eax, TOP", 5, { 0xb8, 0x34, 0x12, 0, 0 } },
    { 32, "inc eax", 1, { 0x40 } },
    { 32, "into", 1, { 0xce } },
    { 32, "jmp 0x8:next", 7, { 0xea, 0x07, 0x80, 0, 0, 8, 0 } },
    { 32, "call 0x8:next", 7, { 0x9a, 0x07, 0x80, 0, 0, 8, 0 } },
    { 32, "mov eax, [ebx+next]", 6, { 0x8b, 0x83, 0x06, 0x80, 0, 0 } },
    { 16, "mov ax, offset next", 3, { 0xb8, 0x03, 0x80 } },
    { 16, "jmp 0x8:next", 5, { 0xea, 0x05, 0x80, 8, 0 } },
    { 16, "call next", 3, { 0xe8, 0x00, 0x00 } },
    { 16, "jz next", 2, { 0x74, 0x00 } },
};

START_TEST(good_instruction)
{
    struct assembly code;
    struct symbols symbols;
    struct mistake mistake;
    char text[100];

    snprintf(text, sizeof(text), "%s\nnext:", good[_i].text);
    ck_assert_msg(try_assemble(text, good[_i].bits, &symbols, &code, &mistake), "%s", mistake.text);
    ck_assert_uint_eq(code.pieces, 1);
    ck_assert_uint_eq(code.piece[0].address, 0x8000);
    ck_assert_uint_eq(code.piece[0].size, good[_i].size);
    ck_assert_mem_eq(code.piece[0].bytes, good[_i].bytes, good[_i].size);
    ck_assert_uint_eq(symbols_find(&symbols, "next", 4)->value, 0x8000 + good[_i].size);
    ck_assert_int_eq(symbols_find(&symbols, "next", 4)->kind, SYMBOL_LABEL);
    assembly_free(&code);
    symbols_free(&symbols);
}
END_TEST

static const struct {
    unsigned bits;
    const char *text;
    const char *mistake;
} bad[] = {
    { 64, "nop\nfoo eax\n", "a \"b\".yaml:11:5: as: no such instruction: `foo eax'" },
    { 64, "nop\n  jmp nowhere\n", "a \"b\".yaml:11:11: no label 'nowhere'" },
    { 64, "nop\n.data\n.long 3\n",
      "a \"b\".yaml:11:5: code or data in section .data, expected org" },
    { 64, "nop\n org x\n nop\n", "a \"b\".yaml:11:10: 'org x', expected org and a number" },
    { 64, "nop\n.zero 0x2000\n org 0x9000\n nop\n",
      "a \"b\".yaml:10:5: the code from 0x8000 runs into what is at 0x9000" },
    { 16, "mov ax, offset away\n org 0x12345\naway: nop\n",
      "a \"b\".yaml:10:5: ld: relocation trunc" },
    { 64, "nop\nTOP: nop\n", "a \"b\".yaml:11:5: the label 'TOP' is a symbol of the environment" },
    { 64, "twice:\nnop\ntwice: nop\n", "a \"b\".yaml:12:5: as: symbol `twice' is already defined" },
};

START_TEST(bad_source)
{
    struct assembly code;
    struct symbols symbols;
    struct mistake mistake;

    ck_assert(!try_assemble(bad[_i].text, bad[_i].bits, &symbols, &code, &mistake));
    ck_assert_msg(!strncmp(mistake.text, bad[_i].mistake, strlen(bad[_i].mistake)),
                  "%s\nexpected %s", mistake.text, bad[_i].mistake);
    symbols_free(&symbols);
}
END_TEST

START_TEST(pieces_and_lines)
{
    static const char text[] = "start: nop\n"
                               "  org 0xffffffff80000000\n"
                               "high:\n"
                               "  .quad start+2, 0x1122334455667788, 3, 4, 5\n"
                               "  .byte 9\n"
                               "  org 0x8000\n"
                               "  hlt\n"
                               ".set alias, 0x9000 + (high - high)\n";
    struct assembly code;
    struct symbols symbols;
    struct mistake mistake;
    uint64_t size;

    ck_assert_msg(try_assemble(text, 64, &symbols, &code, &mistake), "%s", mistake.text);
    ck_assert_uint_eq(code.pieces, 2);
    ck_assert_uint_eq(code.piece[0].size, 2);
    ck_assert_uint_eq(code.piece[1].address, 0xffffffff80000000);
    ck_assert_uint_eq(code.piece[1].size, 41);
    ck_assert_uint_eq(code.piece[1].bytes[0], 0x02);
    ck_assert_uint_eq(code.piece[1].bytes[1], 0x80);
    ck_assert_ptr_eq(assembly_at(&code, 0x8001, &size), code.piece[0].bytes + 1);
    ck_assert_uint_eq(size, 1);
    ck_assert_ptr_null(assembly_at(&code, 0x8002, &size));
    ck_assert_uint_eq(symbols_find(&symbols, "high", 4)->value, 0xffffffff80000000);
    ck_assert_int_eq(symbols_find(&symbols, "alias", 5)->kind, SYMBOL_CONSTANT);
    ck_assert_uint_eq(symbols_find(&symbols, "alias", 5)->value, 0x9000);
    ck_assert_uint_eq(code.lines, 4);
    ck_assert_uint_eq(code.line[1].number, 4);
    ck_assert_uint_eq(code.line[2].address, 0xffffffff80000028);
    ck_assert_uint_eq(code.line[3].number, 7);
    ck_assert_uint_eq(code.line[3].address, 0x8001);
    assembly_free(&code);
    symbols_free(&symbols);
}
END_TEST

START_TEST(no_assembler)
{
    struct assembly code;
    struct symbols symbols;
    struct mistake mistake;

    ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0);
    ck_assert(!try_assemble("nop\n", 64, &symbols, &code, &mistake));
    ck_assert_str_eq(mistake.text,
                     "a \"b\".yaml: the program 'as' cannot be run, but scenarios need "
                     "it (Debian: binutils): No such file or directory");
    symbols_free(&symbols);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("assemble");
    TCase *tcase = tcase_create("assemble");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, good_instruction, 0, TEST_COUNT(good));
    tcase_add_loop_test(tcase, bad_source, 0, TEST_COUNT(bad));
    tcase_add_test(tcase, pieces_and_lines);
    tcase_add_test(tcase, no_assembler);
    return suite_run(suite);
}
