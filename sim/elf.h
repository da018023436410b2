/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Static 64-bit x86 ELF programs, as execve() of Linux loads them. */
#ifndef PTSIM_SIM_ELF_H
#define PTSIM_SIM_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 32

/* A PT_LOAD segment: SIZE bytes at ADDRESS, the first FILE_SIZE of which are DATA, the rest zero.
 */
struct elf_segment {
    uint64_t address;
    uint64_t size;
    uint64_t file_size;
    const uint8_t *data; /* in the file's own bytes */
    bool read;
    bool write;
    bool execute;
};

struct elf {
    uint8_t *file;
    size_t file_size;
    uint64_t entry;
    uint64_t phdrs;     /* the address of the program headers, or 0 where no segment has them */
    uint16_t phdr_size; /* of one of them */
    uint16_t phdr_count;
    uint64_t end;          /* the first byte after the segment that ends highest */
    bool stack_executable; /* PT_GNU_STACK says so */
    unsigned segments;
    struct elf_segment segment[ELF_SEGMENTS_MAX]; /* in the file's order */
};

/* Where a position-independent program goes: where Linux puts it with randomisation off. */
#define ELF_PIE_BASE UINT64_C(0x555555554000)

/* Reads PATH and checks all of the above: all segments lie in the lower half of the address space
 * and inside the file, the entry point in an executable one. False where something is wrong; ERROR
 * then holds one line, without the path, and ELF needs no elf_free(). */
bool elf_read(const char *path, struct elf *elf, char *error, size_t error_size);
void elf_free(struct elf *elf);

#endif
