/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What as and ld write: sections and symbols of a 64-bit ELF file. */
#ifndef PTSIM_SIM_OBJECT_H
#define PTSIM_SIM_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    const uint8_t *file; /* the caller's */
    size_t file_size;
    const Elf64_Shdr *section;
    unsigned sections;
    const Elf64_Sym *symbol;
    size_t symbols;
    const char *names; /* of symbols */
    size_t names_size;
};

/* Checks the SIZE bytes at FILE, aligned to 8, which must outlive OBJECT. False where they are not
 * such a file. */
bool object_open(struct object *object, const void *file, size_t size);
/* Never NULL. */
const char *object_section_name(const struct object *object, const Elf64_Shdr *section);
const char *object_symbol_name(const struct object *object, const Elf64_Sym *symbol);
/* The section's bytes in the file. */
const uint8_t *object_section_data(const struct object *object, const Elf64_Shdr *section);

#endif
