/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "object.h"

#include <string.h>

static bool in_file(const struct object *object, uint64_t offset, uint64_t size)
{
    return offset <= object->file_size && size <= object->file_size - offset;
}

/* The string at OFFSET of a table, or "" where it does not end in it. */
static const char *string_at(const char *table, size_t size, uint64_t offset)
{
    if (offset >= size || !memchr(table + offset, '\0', size - offset))
        return "";
    return table + offset;
}

static bool take_symbols(struct object *object, const Elf64_Shdr *table)
{
    const Elf64_Shdr *names;

    if (table->sh_link >= object->sections || table->sh_offset % 8)
        return false;
    names = &object->section[table->sh_link];
    object->symbol = (const Elf64_Sym *)(const void *)(object->file + table->sh_offset);
    object->symbols = table->sh_size / sizeof(Elf64_Sym);
    object->names = (const char *)object->file + names->sh_offset;
    object->names_size = names->sh_size;
    return true;
}

bool object_open(struct object *object, const void *file, size_t size)
{
    const Elf64_Ehdr *header = file;

    *object = (struct object){ .file = file, .file_size = size };
    if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shoff % 8 ||
        !in_file(object, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)) ||
        header->e_shstrndx >= header->e_shnum)
        return false;
    object->section = (const Elf64_Shdr *)(const void *)(object->file + header->e_shoff);
    object->sections = header->e_shnum;
    for (unsigned i = 0; i < object->sections; i++)
        if (object->section[i].sh_type != SHT_NOBITS &&
            !in_file(object, object->section[i].sh_offset, object->section[i].sh_size))
            return false;
    for (unsigned i = 0; i < object->sections; i++)
        if (object->section[i].sh_type == SHT_SYMTAB && !take_symbols(object, &object->section[i]))
            return false;
    return true;
}

const char *object_section_name(const struct object *object, const Elf64_Shdr *section)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)object->file;
    const Elf64_Shdr *names = &object->section[header->e_shstrndx];

    if (names->sh_type == SHT_NOBITS)
        return "";
    return string_at((const char *)object->file + names->sh_offset, names->sh_size,
                     section->sh_name);
}

const char *object_symbol_name(const struct object *object, const Elf64_Sym *symbol)
{
    return string_at(object->names, object->names_size, symbol->st_name);
}

const uint8_t *object_section_data(const struct object *object, const Elf64_Shdr *section)
{
    return object->file + section->sh_offset;
}
