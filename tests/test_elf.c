/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs built byte by byte here, each good or wrong in one way. */
#include "../sim/elf.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

/* A whole program: header, program headers, and 16 bytes of "code" at file offset 0x1000. */
struct program {
    Elf64_Ehdr header;
    Elf64_Phdr phdr[4];
    uint8_t code[16] __attribute__((aligned(4096)));
};

enum {
    HEADERS,
    TEXT,
    DATA,
    STACK
};

static struct program good_program(void)
{
    struct program p = {
        .header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                 EV_CURRENT },
                    .e_type = ET_EXEC,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT,
                    .e_entry = 0x401004,
                    .e_phoff = offsetof(struct program, phdr),
                    .e_ehsize = sizeof(Elf64_Ehdr),
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = 4 },
        .phdr = { [HEADERS] = { .p_type = PT_LOAD,
                                .p_flags = PF_R,
                                .p_vaddr = 0x400000,
                                .p_filesz = 0x120,
                                .p_memsz = 0x120 },
                  [TEXT] = { .p_type = PT_LOAD,
                             .p_flags = PF_R | PF_X,
                             .p_offset = 0x1000,
                             .p_vaddr = 0x401000,
                             .p_filesz = 16,
                             .p_memsz = 16 },
                  [DATA] = { .p_type = PT_LOAD,
                             .p_flags = PF_R | PF_W,
                             .p_offset = 0x1008,
                             .p_vaddr = 0x402008,
                             .p_filesz = 8,
                             .p_memsz = 0x3000 },
                  [STACK] = { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W } },
        .code = "0123456789abcde",
    };

    return p;
}

/* Reads SIZE bytes of PROGRAM as a file. */
static bool read_program(const void *program, size_t size, struct elf *elf, char *error,
                         size_t error_size)
{
    char path[] = "test_elf.XXXXXX";
    int fd = mkstemp(path);
    bool ok;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, program, size), (ssize_t)size);
    close(fd);
    ok = elf_read(path, elf, error, error_size);
    unlink(path);
    return ok;
}

START_TEST(fixed_address)
{
    struct program p = good_program();
    char error[256] = "";
    struct elf elf;

    ck_assert_msg(read_program(&p, sizeof(p), &elf, error, sizeof(error)), "%s", error);
    ck_assert_uint_eq(elf.entry, 0x401004);
    ck_assert_uint_eq(elf.phdrs, 0x400000 + offsetof(struct program, phdr));
    ck_assert_uint_eq(elf.phdr_count, 4);
    ck_assert_uint_eq(elf.phdr_size, 56);
    ck_assert_uint_eq(elf.end, 0x405008);
    ck_assert(!elf.stack_executable);
    ck_assert_uint_eq(elf.segments, 3);
    ck_assert_uint_eq(elf.segment[2].address, 0x402008);
    ck_assert_uint_eq(elf.segment[2].size, 0x3000);
    ck_assert_uint_eq(elf.segment[2].file_size, 8);
    ck_assert_mem_eq(elf.segment[2].data, "89abcde", 8);
    ck_assert(elf.segment[2].write && !elf.segment[2].execute);
    ck_assert(elf.segment[1].execute && !elf.segment[1].write);
    elf_free(&elf);
}
END_TEST

START_TEST(position_independent)
{
    struct program p = good_program();
    char error[256] = "";
    struct elf elf;

    p.header.e_type = ET_DYN;
    p.header.e_entry -= 0x400000;
    for (int i = HEADERS; i <= DATA; i++)
        p.phdr[i].p_vaddr -= 0x400000;
    p.phdr[STACK].p_flags |= PF_X;
    ck_assert_msg(read_program(&p, sizeof(p), &elf, error, sizeof(error)), "%s", error);
    ck_assert_uint_eq(elf.entry, 0x555555555004);
    ck_assert_uint_eq(elf.segment[1].address, 0x555555555000);
    ck_assert_uint_eq(elf.phdrs, 0x555555554000 + offsetof(struct program, phdr));
    ck_assert_uint_eq(elf.end, 0x555555559008);
    ck_assert(elf.stack_executable);
    elf_free(&elf);
}
END_TEST

/* FIELD of a good program, set to VALUE, is wrong in this way. */
#define BAD(field, value, text)                                                                    \
    {                                                                                              \
        offsetof(struct program, field), sizeof(((struct program *)0)->field), value, text         \
    }

static const struct {
    size_t offset;
    size_t size;
    uint64_t value;
    const char *error;
} bad[] = {
    BAD(header.e_ident[EI_MAG0], 0, "not an ELF program"),
    BAD(header.e_ident[EI_CLASS], ELFCLASS32, "a 32-bit program"),
    BAD(header.e_ident[EI_CLASS], 7, "a program for another processor"),
    BAD(header.e_ident[EI_DATA], ELFDATA2MSB, "a program for another processor"),
    BAD(header.e_machine, EM_AARCH64, "a program for another processor"),
    BAD(header.e_type, ET_REL, "an ELF file, but not a program"),
    BAD(header.e_type, ET_CORE, "an ELF file, but not a program"),
    BAD(header.e_phentsize, 32, "an ELF file without program headers"),
    BAD(header.e_phnum, 0, "an ELF file without program headers"),
    BAD(header.e_phnum, 0xffff, "truncated in the program headers"),
    BAD(header.e_phoff, UINT64_MAX - 8, "truncated in the program headers"),
    BAD(header.e_entry, 0x400004, "the entry point 0x400004 is in no executable segment"),
    BAD(header.e_entry, 0x401010, "the entry point 0x401010 is in no executable segment"),
    BAD(phdr[HEADERS].p_type, PT_INTERP, "dynamically linked"),
    BAD(phdr[TEXT].p_filesz, 17, "program header 1 is malformed"),
    BAD(phdr[TEXT].p_vaddr, 0x401001, "program header 1 is malformed"),
    BAD(phdr[TEXT].p_vaddr, 1ull << 47, "program header 1 is malformed"),
    BAD(phdr[TEXT].p_vaddr, UINT64_MAX - 0xfff, "program header 1 is malformed"),
    BAD(phdr[DATA].p_memsz, 1ull << 47, "program header 2 is malformed"),
    BAD(phdr[DATA].p_memsz, UINT64_MAX, "program header 2 is malformed"),
    BAD(phdr[TEXT].p_offset, 0x2000, "truncated: a segment lies beyond the end of the file"),
    BAD(phdr[TEXT].p_offset, UINT64_MAX - 0xfff, "truncated: a segment lies beyond the end"),
};

START_TEST(bad_program)
{
    struct program p = good_program();
    char error[256] = "";
    struct elf elf;

    memcpy((uint8_t *)&p + bad[_i].offset, &bad[_i].value, bad[_i].size);
    ck_assert(!read_program(&p, sizeof(p), &elf, error, sizeof(error)));
    ck_assert_msg(!strncmp(error, bad[_i].error, strlen(bad[_i].error)), "%s, not %s", error,
                  bad[_i].error);
}
END_TEST

START_TEST(cut_short)
{
    /* The bytes that are left, and what is then missing. */
    static const struct {
        size_t size;
        const char *error;
    } cuts[] = {
        { 0, "not an ELF program" },
        { 3, "not an ELF program" },
        { 4, "truncated in the ELF header" },
        { sizeof(Elf64_Ehdr) - 1, "truncated in the ELF header" },
        { sizeof(Elf64_Ehdr), "truncated in the program headers" },
        { offsetof(struct program, phdr[4]) - 1, "truncated in the program headers" },
        { offsetof(struct program, phdr[4]), "truncated: a segment lies beyond" },
        { offsetof(struct program, code) + 15, "truncated: a segment lies beyond" },
    };
    struct program p = good_program();
    char error[256] = "";
    struct elf elf;

    for (int i = 0; i < TEST_COUNT(cuts); i++) {
        ck_assert(!read_program(&p, cuts[i].size, &elf, error, sizeof(error)));
        ck_assert_msg(!strncmp(error, cuts[i].error, strlen(cuts[i].error)), "%zu: %s",
                      cuts[i].size, error);
    }
}
END_TEST

START_TEST(not_a_file)
{
    char error[256] = "";
    struct elf elf;

    ck_assert(!elf_read("no/such/file", &elf, error, sizeof(error)));
    ck_assert_str_eq(error, "No such file or directory");
    ck_assert(!elf_read(".", &elf, error, sizeof(error)));
    ck_assert_str_eq(error, "not a regular file");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elf");
    TCase *tcase = tcase_create("read");

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, fixed_address);
    tcase_add_test(tcase, position_independent);
    tcase_add_loop_test(tcase, bad_program, 0, TEST_COUNT(bad));
    tcase_add_test(tcase, cut_short);
    tcase_add_test(tcase, not_a_file);
    return suite_run(suite);
}
