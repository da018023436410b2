/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of as, one of ld, in a directory of their own under TMPDIR. Every `org` is a section of
 * its own, .org.ADDRESS, and the linker script puts it there. All is 64-bit ELF: .code16 and
 * .code32 are the assembler's to change to. */
#include "assemble.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "object.h"
#include "text_file.h"

#define ORG_SECTION ".org."

extern char **environ;

/* The files of the directory. */
enum work_file {
    SOURCE,
    OBJECT,
    SCRIPT,
    IMAGE,
    LISTING,
    MESSAGES,
    WORK_FILES
};

struct work {
    const struct asm_source *source;
    struct mistake *mistake;
    unsigned prologue; /* lines before the text */
    char dir[4096 - 32];
    char path[WORK_FILES][4096];
};

#define WRONG(work, ...) mistake((work)->mistake, (work)->source->path, __VA_ARGS__)

static const struct place nowhere = { .line = 0 };

static bool work_begin(struct work *work)
{
    static const char *const names[WORK_FILES] = { "code.s",   "code.o",   "code.ld",
                                                   "code.elf", "code.lst", "messages" };
    const char *tmp = getenv("TMPDIR");

    if (!tmp || !*tmp)
        tmp = "/tmp";
    snprintf(work->dir, sizeof(work->dir), "%s/ptsim-XXXXXX", tmp);
    if (!mkdtemp(work->dir))
        return WRONG(work, nowhere, "no directory for the assembler in %s: %s", tmp,
                     strerror(errno));
    for (int i = 0; i < WORK_FILES; i++)
        snprintf(work->path[i], sizeof(work->path[i]), "%s/%s", work->dir, names[i]);
    return true;
}

static void work_end(struct work *work)
{
    for (int i = 0; i < WORK_FILES; i++)
        unlink(work->path[i]);
    rmdir(work->dir);
}

/* Runs a tool with its messages in a file. STATUS is that of waitpid(). Returns errno. */
static int run(const struct work *work, const char *const *argv, int *status)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, work->path[MESSAGES],
                                             O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error =
            posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return error;
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* Where in the line of a message its text is: in as's, which name a line of the source, after
 * "Error: ", with the line in *AT; in ld's after the place in the object file. NULL for a line that
 * is no error. */
static const char *error_text(const struct work *work, const char *line, struct place *at)
{
    size_t path = strlen(work->source->path);
    const char *found;
    char *end;

    if (!strncmp(line, work->source->path, path) && line[path] == ':') {
        unsigned long number = strtoul(line + path + 1, &end, 10);

        if (strncmp(end, ": Error: ", 9))
            return NULL;
        at->line = (unsigned)number;
        return end + 9;
    }
    found = strstr(line, "): relocation ");
    return found && found < line + strcspn(line, "\n") ? found + 3 : NULL;
}

static void tell_messages(const struct work *work, const char *tool)
{
    struct mistake unused;
    size_t size;
    char *messages = text_file_read(work->path[MESSAGES], &size, &unused);
    struct place at = work->source->at;
    const char *text = NULL;

    for (const char *line = messages; line && !text; line = strchr(line, '\n')) {
        line += *line == '\n';
        text = error_text(work, line, &at);
    }
    if (!text)
        text = messages && *messages ? messages : "failed without a message";
    WRONG(work, at, "%s: %s", tool, text);
    free(messages);
}

static bool run_tool(const struct work *work, const char *const *argv, const char *package)
{
    int status;
    int error = run(work, argv, &status);

    /* 127 is what a child says that could not run the tool. */
    if (error || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return WRONG(work, nowhere,
                     "the program '%s' cannot be run, but scenarios need it (Debian: %s): %s",
                     argv[0], package, strerror(error ? error : ENOENT));
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return true;
    tell_messages(work, argv[0]);
    return false;
}

/* ---- as ---- */

static bool write_source(struct work *work, const struct symbols *symbols)
{
    const struct asm_source *source = work->source;
    FILE *file = fopen(work->path[SOURCE], "w");

    if (!file)
        return WRONG(work, nowhere, "%s: %s", work->path[SOURCE], strerror(errno));
    fputs(".intel_syntax noprefix\n"
          ".macro org at\n"
          ".section " ORG_SECTION "\\at, \"awx\", @progbits\n"
          ".endm\n",
          file);
    for (size_t i = 0; i < symbols->count; i++)
        fprintf(file, ".set %s, 0x%" PRIx64 "\n", symbols->symbol[i].name,
                symbols->symbol[i].value);
    fprintf(file, "org 0x%" PRIx64 "\n.code%u\n# %u \"", source->origin, source->bits,
            source->at.line);
    for (const char *c = source->path; *c; c++)
        fprintf(file, strchr("\"\\", *c) ? "\\%c" : "%c", *c);
    fprintf(file, "\"\n%s\n", source->text);
    work->prologue = 7 + (unsigned)symbols->count;
    return !fclose(file) || WRONG(work, nowhere, "%s: %s", work->path[SOURCE], strerror(errno));
}

static bool run_as(const struct work *work)
{
    char listing[sizeof(work->path[0]) + 8];
    const char *argv[] = { "as", "--64", "-o", work->path[OBJECT], work->path[SOURCE], NULL, NULL };

    snprintf(listing, sizeof(listing), "-aln=%s", work->path[LISTING]);
    if (work->source->listing)
        argv[5] = listing;
    return run_tool(work, argv, "binutils");
}

/* ---- from as to ld ---- */

/* The address in the name of a section that `org` made. */
static bool org_address(const char *name, uint64_t *address)
{
    return !strncmp(name, ORG_SECTION, strlen(ORG_SECTION)) &&
           number_parse(name + strlen(ORG_SECTION), address);
}

static bool is_name_char(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$", c);
}

/* Where NAME first stands as a word of the source's text. */
static struct place find_word(const struct asm_source *source, const char *name)
{
    struct place at = source->at;
    size_t length = strlen(name);
    const char *line = source->text;

    for (const char *c = source->text; *c; c++) {
        if (*c == '\n') {
            at.line++;
            line = c + 1;
        } else if (!strncmp(c, name, length) && !is_name_char(c[length]) &&
                   (c == line || !is_name_char(c[-1]))) {
            at.column = source->at.column + (unsigned)(c - line);
            return at;
        }
    }
    return source->at;
}

static bool check_sections(const struct work *work, const struct object *object)
{
    for (unsigned i = 0; i < object->sections; i++) {
        const Elf64_Shdr *section = &object->section[i];
        const char *name = object_section_name(object, section);
        uint64_t address;

        if (!(section->sh_flags & SHF_ALLOC) || !section->sh_size || org_address(name, &address))
            continue;
        if (strncmp(name, ORG_SECTION, strlen(ORG_SECTION)))
            return WRONG(work, find_word(work->source, name),
                         "code or data in section %s, expected org before it", name);
        return WRONG(work, find_word(work->source, name + strlen(ORG_SECTION)),
                     "'org %s', expected org and a number", name + strlen(ORG_SECTION));
    }
    for (size_t i = 1; i < object->symbols; i++) {
        const char *name = object_symbol_name(object, &object->symbol[i]);

        if (object->symbol[i].st_shndx == SHN_UNDEF && *name)
            return WRONG(work, find_word(work->source, name), "no label '%s'", name);
    }
    return true;
}

static bool write_script(const struct work *work, const struct object *object)
{
    FILE *file = fopen(work->path[SCRIPT], "w");

    if (!file)
        return WRONG(work, nowhere, "%s: %s", work->path[SCRIPT], strerror(errno));
    fputs("SECTIONS {\n", file);
    for (unsigned i = 0; i < object->sections; i++) {
        const char *name = object_section_name(object, &object->section[i]);
        uint64_t address;

        if (org_address(name, &address))
            fprintf(file, "%s 0x%" PRIx64 " : { *(%s) }\n", name, address, name);
    }
    fputs("/DISCARD/ : { *(*) }\n}\n", file);
    return !fclose(file) || WRONG(work, nowhere, "%s: %s", work->path[SCRIPT], strerror(errno));
}

/* Reads what a tool wrote. The bytes go to *BYTES, to be freed. */
static bool open_object(const struct work *work, enum work_file which, struct object *object,
                        char **bytes)
{
    size_t size;

    *bytes = text_file_read(work->path[which], &size, work->mistake);
    if (*bytes && object_open(object, *bytes, size))
        return true;
    if (*bytes)
        WRONG(work, nowhere, "%s is not a 64-bit ELF file with sections", work->path[which]);
    free(*bytes);
    return false;
}

static bool run_ld(const struct work *work)
{
    const char *argv[] = {
        "ld", "-nostdlib",       "--no-check-sections", "-e", "0", "-T", work->path[SCRIPT],
        "-o", work->path[IMAGE], work->path[OBJECT],    NULL
    };
    struct object object;
    char *bytes;
    bool fine;

    if (!open_object(work, OBJECT, &object, &bytes))
        return false;
    fine = check_sections(work, &object) && write_script(work, &object);
    free(bytes);
    return fine && run_tool(work, argv, "binutils");
}

/* ---- what ld made ---- */

static int by_address(const void *a, const void *b)
{
    const struct asm_piece *left = a, *right = b;

    return left->address < right->address ? -1 : left->address > right->address;
}

static bool take_piece(struct assembly *assembly, const struct object *object,
                       const Elf64_Shdr *section)
{
    struct asm_piece *grown =
        realloc(assembly->piece, (assembly->pieces + 1) * sizeof(assembly->piece[0]));
    uint8_t *bytes = malloc(section->sh_size);

    if (grown)
        assembly->piece = grown;
    if (!grown || !bytes) {
        free(bytes);
        return false;
    }
    memcpy(bytes, object_section_data(object, section), section->sh_size);
    assembly->piece[assembly->pieces++] =
        (struct asm_piece){ section->sh_addr, section->sh_size, bytes };
    return true;
}

static bool take_pieces(const struct work *work, const struct object *object,
                        struct assembly *assembly)
{
    for (unsigned i = 0; i < object->sections; i++) {
        const Elf64_Shdr *section = &object->section[i];
        uint64_t address;

        if (section->sh_size && org_address(object_section_name(object, section), &address) &&
            !take_piece(assembly, object, section))
            return WRONG(work, nowhere, "out of memory");
    }
    qsort(assembly->piece, assembly->pieces, sizeof(assembly->piece[0]), by_address);
    for (size_t i = 1; i < assembly->pieces; i++) {
        const struct asm_piece *low = &assembly->piece[i - 1], *high = &assembly->piece[i];

        if (high->address - low->address < low->size)
            return WRONG(work, work->source->at,
                         "the code from 0x%" PRIx64 " runs into what is at 0x%" PRIx64,
                         low->address, high->address);
    }
    return true;
}

static bool take_label(const struct work *work, const char *name, const Elf64_Sym *symbol,
                       struct symbols *symbols)
{
    bool absolute = symbol->st_shndx == SHN_ABS;

    if (symbols_find(symbols, name, strlen(name)))
        return absolute || WRONG(work, find_word(work->source, name),
                                 "the label '%s' is a symbol of the environment", name);
    return symbols_add(symbols, name, strlen(name), symbol->st_value,
                       absolute ? SYMBOL_CONSTANT : SYMBOL_LABEL) ||
           WRONG(work, nowhere, "out of memory");
}

static bool take_labels(const struct work *work, const struct object *object,
                        struct symbols *symbols)
{
    for (size_t i = 1; i < object->symbols; i++) {
        const Elf64_Sym *symbol = &object->symbol[i];
        const char *name = object_symbol_name(object, symbol);
        unsigned type = ELF64_ST_TYPE(symbol->st_info);

        if (type != STT_FILE && type != STT_SECTION && *name &&
            !take_label(work, name, symbol, symbols))
            return false;
    }
    return true;
}

static bool take_image(const struct work *work, struct symbols *symbols, struct assembly *assembly)
{
    struct object object;
    char *bytes;
    bool fine;

    if (!open_object(work, IMAGE, &object, &bytes))
        return false;
    fine = take_pieces(work, &object, assembly) && take_labels(work, &object, symbols);
    free(bytes);
    return fine;
}

/* ---- the listing ---- */

static bool take_line(struct assembly *assembly, unsigned number, uint64_t address)
{
    struct asm_line *grown =
        realloc(assembly->line, (assembly->lines + 1) * sizeof(assembly->line[0]));

    if (!grown)
        return false;
    assembly->line = grown;
    assembly->line[assembly->lines++] = (struct asm_line){ .number = number, .address = address };
    return true;
}

/* One line of the listing: "NUMBER OFFSET BYTES <tab> SOURCE". The offset is in the section, and is
 * missing where the line made no bytes; what does not fit is in more lines of the same number
 * without a source. SECTION is where the section begins. */
static bool take_listed(const struct work *work, const char *listed, uint64_t *section,
                        struct assembly *assembly)
{
    const char *source = strchr(listed, '\t');
    char offset[17], bytes[33], word[32], address[32];
    unsigned number;

    if (!source || sscanf(listed, "%u", &number) != 1 || number <= work->prologue)
        return true;
    if (sscanf(source, " %31s %31s", word, address) == 2 && !strcmp(word, "org"))
        number_parse(address, section);
    else if (sscanf(listed, "%*u %16[0-9a-f] %32[0-9A-F]", offset, bytes) == 2)
        return take_line(assembly, number - work->prologue, *section + strtoull(offset, NULL, 16));
    return true;
}

static bool take_listing(const struct work *work, struct assembly *assembly)
{
    size_t size;
    char *text = text_file_read(work->path[LISTING], &size, work->mistake);
    uint64_t section = work->source->origin;
    bool fine = text;

    for (char *line = text, *next; fine && line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        fine = take_listed(work, line, &section, assembly) || WRONG(work, nowhere, "out of memory");
    }
    free(text);
    return fine;
}

bool assemble(const struct asm_source *source, struct symbols *symbols, struct assembly *assembly,
              struct mistake *mistake)
{
    struct work work = { .source = source, .mistake = mistake };
    bool fine;

    *assembly = (struct assembly){ .piece = NULL };
    if (!work_begin(&work))
        return false;
    fine = write_source(&work, symbols) && run_as(&work) && run_ld(&work) &&
           take_image(&work, symbols, assembly) &&
           (!source->listing || take_listing(&work, assembly));
    work_end(&work);
    if (!fine)
        assembly_free(assembly);
    return fine;
}

void assembly_free(struct assembly *assembly)
{
    for (size_t i = 0; i < assembly->pieces; i++)
        free(assembly->piece[i].bytes);
    free(assembly->piece);
    free(assembly->line);
    *assembly = (struct assembly){ .piece = NULL };
}

const uint8_t *assembly_at(const struct assembly *assembly, uint64_t address, uint64_t *size)
{
    for (size_t i = 0; i < assembly->pieces; i++) {
        const struct asm_piece *piece = &assembly->piece[i];

        if (address >= piece->address && address - piece->address < piece->size) {
            *size = piece->size - (address - piece->address);
            return piece->bytes + (address - piece->address);
        }
    }
    return NULL;
}
