/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE        UINT64_C(4096)
#define ADDRESS_MAX (UINT64_C(1) << 47) /* of user addresses, with 4-level paging */

#define FAIL(...) (snprintf(error, error_size, __VA_ARGS__), false)

static bool read_file(const char *path, struct elf *elf, char *error, size_t error_size)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    bool done = false;

    if (!file || fstat(fileno(file), &status)) {
        snprintf(error, error_size, "%s", strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        snprintf(error, error_size, "not a regular file");
    } else {
        elf->file_size = (size_t)status.st_size;
        elf->file = malloc(elf->file_size + 1);
        done = elf->file && fread(elf->file, 1, elf->file_size, file) == elf->file_size;
        if (!done)
            snprintf(error, error_size, "cannot be read");
    }
    if (file)
        fclose(file);
    return done;
}

static bool check_header(const struct elf *elf, Elf64_Ehdr *header, char *error, size_t error_size)
{
    if (elf->file_size < SELFMAG || memcmp(elf->file, ELFMAG, SELFMAG))
        return FAIL("not an ELF program");
    if (elf->file_size > EI_CLASS && elf->file[EI_CLASS] == ELFCLASS32)
        return FAIL("a 32-bit program; expected a 64-bit one");
    if (elf->file_size < sizeof(*header))
        return FAIL("truncated in the ELF header");
    memcpy(header, elf->file, sizeof(*header));
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64)
        return FAIL("a program for another processor; expected one for x86-64");
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return FAIL("an ELF file, but not a program");
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0)
        return FAIL("an ELF file without program headers");
    if (header->e_phoff > elf->file_size ||
        elf->file_size - header->e_phoff < header->e_phnum * sizeof(Elf64_Phdr))
        return FAIL("truncated in the program headers");
    return true;
}

static bool add_segment(struct elf *elf, const Elf64_Phdr *phdr, uint64_t base, char *error,
                        size_t error_size)
{
    struct elf_segment *segment = &elf->segment[elf->segments];

    if (phdr->p_filesz > phdr->p_memsz || phdr->p_vaddr >= ADDRESS_MAX - base ||
        phdr->p_memsz > ADDRESS_MAX - base - phdr->p_vaddr ||
        (phdr->p_vaddr ^ phdr->p_offset) % PAGE != 0)
        return FAIL("program header %u is malformed", elf->segments);
    if (phdr->p_offset > elf->file_size || phdr->p_filesz > elf->file_size - phdr->p_offset)
        return FAIL("truncated: a segment lies beyond the end of the file");
    if (elf->segments == ELF_SEGMENTS_MAX)
        return FAIL("more than %d segments to load", ELF_SEGMENTS_MAX);
    *segment = (struct elf_segment){
        .address = base + phdr->p_vaddr,
        .size = phdr->p_memsz,
        .file_size = phdr->p_filesz,
        .data = elf->file + phdr->p_offset,
        .read = phdr->p_flags & PF_R,
        .write = phdr->p_flags & PF_W,
        .execute = phdr->p_flags & PF_X,
    };
    if (segment->address + segment->size > elf->end)
        elf->end = segment->address + segment->size;
    elf->segments++;
    return true;
}

static bool read_phdrs(struct elf *elf, const Elf64_Ehdr *header, uint64_t base, char *error,
                       size_t error_size)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr phdr;

        memcpy(&phdr, elf->file + header->e_phoff + i * sizeof(phdr), sizeof(phdr));
        if (phdr.p_type == PT_INTERP)
            return FAIL("dynamically linked; expected a statically linked program");
        if (phdr.p_type == PT_GNU_STACK)
            elf->stack_executable = phdr.p_flags & PF_X;
        if (phdr.p_type != PT_LOAD)
            continue;
        if (!add_segment(elf, &phdr, base, error, error_size))
            return false;
        if (header->e_phoff >= phdr.p_offset && header->e_phoff - phdr.p_offset < phdr.p_filesz)
            elf->phdrs = base + phdr.p_vaddr + (header->e_phoff - phdr.p_offset);
    }
    return true;
}

static bool entry_is_executable(const struct elf *elf)
{
    for (unsigned i = 0; i < elf->segments; i++) {
        const struct elf_segment *segment = &elf->segment[i];

        if (segment->execute && elf->entry - segment->address < segment->size)
            return true;
    }
    return false;
}

static bool parse(struct elf *elf, char *error, size_t error_size)
{
    Elf64_Ehdr header;
    uint64_t base;

    if (!check_header(elf, &header, error, error_size))
        return false;
    base = header.e_type == ET_DYN ? ELF_PIE_BASE : 0;
    elf->entry = base + header.e_entry;
    elf->phdr_size = header.e_phentsize;
    elf->phdr_count = header.e_phnum;
    if (!read_phdrs(elf, &header, base, error, error_size))
        return false;
    if (!elf->segments)
        return FAIL("an ELF file with nothing to load");
    if (!entry_is_executable(elf))
        return FAIL("the entry point 0x%llx is in no executable segment",
                    (unsigned long long)elf->entry);
    return true;
}

bool elf_read(const char *path, struct elf *elf, char *error, size_t error_size)
{
    *elf = (struct elf){ 0 };
    if (read_file(path, elf, error, error_size) && parse(elf, error, error_size))
        return true;
    elf_free(elf);
    return false;
}

void elf_free(struct elf *elf)
{
    free(elf->file);
    elf->file = NULL;
}
