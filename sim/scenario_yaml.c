/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libyaml reads the file, which gives every node its place. A walk over the nodes finds what does
 * not fit scenario_keys.def, and writes the rest in one fixed shape: short forms spelled out, and
 * each scalar with its line and column beside it. That is what libcyaml loads into the structs:
 * its schemas know neither alternatives nor mappings with free names, and its messages no columns.
 */
#include "scenario_yaml.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "text_file.h"

/* The keys, as the walk reads them. */
enum key_kind {
    KEY_TEXT,
    KEY_LIST,
    KEY_PAIRS,
    KEY_MAP,
    KEY_MAPS,
    KEY_NAMED,
};

struct key {
    const char *name; /* NULL ends a table */
    enum key_kind kind;
    bool needed;
    const struct key *sub;
};

#define NEEDED                     true
#define OPTIONAL                   false
#define BEGIN(s)                   static const struct key s##_keys[] = {
#define TEXT(s, member, key, need) { key, KEY_TEXT, need, NULL },
#define LIST(s, member, key)       { key, KEY_LIST, false, NULL },
#define PAIRS(s, member, key)      { key, KEY_PAIRS, false, NULL },
#define MAP(s, member, key, sub)   { key, KEY_MAP, false, sub##_keys },
#define MAPS(s, member, key, sub)  { key, KEY_MAPS, false, sub##_keys },
#define NAMED(s, member, key, sub) { key, KEY_NAMED, false, sub##_keys },
#define END(s)                                                                                     \
    {                                                                                              \
        .name = NULL                                                                               \
    }                                                                                              \
    }                                                                                              \
    ;
#include "scenario_keys.def"
#undef NEEDED
#undef OPTIONAL
#undef BEGIN
#undef TEXT
#undef LIST
#undef PAIRS
#undef MAP
#undef MAPS
#undef NAMED
#undef END

/* The same for libcyaml, of the fixed shape. */
static const cyaml_schema_field_t text_fields[] = {
    CYAML_FIELD_UINT("line", CYAML_FLAG_DEFAULT, struct scn_text, line),
    CYAML_FIELD_UINT("column", CYAML_FLAG_DEFAULT, struct scn_text, column),
    CYAML_FIELD_STRING_PTR("text", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct scn_text, text,
                           0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t text_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct scn_text, text_fields),
};
static const cyaml_schema_field_t pair_fields[] = {
    CYAML_FIELD_MAPPING("name", CYAML_FLAG_DEFAULT, struct scn_pair, name, text_fields),
    CYAML_FIELD_SEQUENCE("value", CYAML_FLAG_POINTER, struct scn_pair, value, &text_value, 0,
                         CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t pair_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct scn_pair, pair_fields),
};

#define SEQUENCE(s, member, key, entry)                                                            \
    CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct scn_##s, member,    \
                         &entry, 0, CYAML_UNLIMITED),
#define BEGIN(s)                                                                                   \
    static const cyaml_schema_field_t s##_fields[] = {                                             \
        CYAML_FIELD_MAPPING("here", CYAML_FLAG_DEFAULT, struct scn_##s, here, text_fields),
#define TEXT(s, member, key, need)                                                                 \
    CYAML_FIELD_MAPPING(key, CYAML_FLAG_OPTIONAL, struct scn_##s, member, text_fields),
#define LIST(s, member, key)  SEQUENCE(s, member, key, text_value)
#define PAIRS(s, member, key) SEQUENCE(s, member, key, pair_value)
#define MAP(s, member, key, sub)                                                                   \
    CYAML_FIELD_MAPPING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct scn_##s, member, \
                            sub##_fields),
#define MAPS(s, member, key, sub)  SEQUENCE(s, member, key, sub##_value)
#define NAMED(s, member, key, sub) MAPS(s, member, key, sub)
#define END(s)                                                                                     \
    CYAML_FIELD_END                                                                                \
    }                                                                                              \
    ;                                                                                              \
    static const cyaml_schema_value_t s##_value __attribute__((unused)) = {                        \
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct scn_##s, s##_fields),                       \
    };
#include "scenario_keys.def"
static const cyaml_schema_value_t top_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct scn_file, file_fields),
};

/* The longest table is that of the file itself. */
enum {
    KEYS_MAX = sizeof(file_keys) / sizeof(file_keys[0])
};

/* One walk: what it reads, and where the fixed shape goes. */
struct walk {
    const char *path;
    const char *yaml;
    size_t size;
    yaml_document_t *document;
    FILE *out;
    struct mistake *mistake;
};

static struct place place_of(const yaml_mark_t *mark)
{
    return (struct place){ .line = (unsigned)mark->line + 1, .column = (unsigned)mark->column + 1 };
}

static const char *kind_of(const yaml_node_t *node)
{
    switch (node->type) {
    case YAML_SCALAR_NODE:
        return "a scalar";
    case YAML_SEQUENCE_NODE:
        return "a list";
    case YAML_MAPPING_NODE:
        return "a mapping";
    default:
        return "nothing";
    }
}

#define WRONG(walk, node, ...)                                                                     \
    mistake((walk)->mistake, (walk)->path, place_of(&(node)->start_mark), __VA_ARGS__)

static const char *scalar(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* Every byte of TEXT so that YAML reads back the same. */
static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ' || *text == 0x7f)
            fprintf(out, "\\x%02x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* Where a scalar's text begins: for a literal block, in the line after the one with the "|". */
static struct place place_of_text(const struct walk *walk, const yaml_node_t *node)
{
    struct place at = place_of(&node->start_mark);
    const char *text = walk->yaml + node->start_mark.index;
    const char *end = walk->yaml + walk->size;

    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_LITERAL_SCALAR_STYLE)
        return at;
    text = memchr(text, '\n', (size_t)(end - text));
    if (!text)
        return at;
    at = (struct place){ .line = at.line + 1, .column = 1 };
    for (text++; text < end && strchr(" \n", *text); text++)
        at.column = *text == ' ' ? at.column + 1 : 1;
    return at;
}

static void put_place(const struct walk *walk, const yaml_node_t *node)
{
    struct place at = place_of_text(walk, node);

    fprintf(walk->out, "line: %u, column: %u", at.line, at.column);
}

static bool walk_text(const struct walk *walk, const char *name, const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return WRONG(walk, node, "%s is %s, expected a scalar", name, kind_of(node));
    if (strlen(scalar(node)) != node->data.scalar.length)
        return WRONG(walk, node, "%s has a NUL character in it", name);
    fputs("{", walk->out);
    put_place(walk, node);
    fputs(", text: ", walk->out);
    put_string(walk->out, scalar(node));
    fputs("}", walk->out);
    return true;
}

static bool walk_list(const struct walk *walk, const char *name, const yaml_node_t *node)
{
    bool fine = true;

    if (node->type == YAML_MAPPING_NODE)
        return WRONG(walk, node, "%s is a mapping, expected a scalar or a list of them", name);
    fputs("[", walk->out);
    if (node->type == YAML_SCALAR_NODE)
        fine = walk_text(walk, name, node);
    else
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             fine && item < node->data.sequence.items.top; item++) {
            fine = walk_text(walk, name, yaml_document_get_node(walk->document, *item));
            fputs(", ", walk->out);
        }
    fputs("]", walk->out);
    return fine;
}

/* Whether each key of the mapping NODE is a scalar that is there once. */
static bool check_keys(const struct walk *walk, const yaml_node_t *node)
{
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(walk->document, pair->key);

        if (key->type != YAML_SCALAR_NODE)
            return WRONG(walk, key, "a key is %s, expected a scalar", kind_of(key));
        for (yaml_node_pair_t *other = node->data.mapping.pairs.start; other < pair; other++)
            if (!strcmp(scalar(yaml_document_get_node(walk->document, other->key)), scalar(key)))
                return WRONG(walk, key, "the key '%s' is here twice", scalar(key));
    }
    return true;
}

static bool walk_pairs(const struct walk *walk, const char *name, const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE)
        return WRONG(walk, node, "%s is %s, expected a mapping", name, kind_of(node));
    if (!check_keys(walk, node))
        return false;
    fputs("[", walk->out);
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(walk->document, pair->key);

        fputs("{name: ", walk->out);
        if (!walk_text(walk, name, key))
            return false;
        fputs(", value: ", walk->out);
        if (!walk_list(walk, scalar(key), yaml_document_get_node(walk->document, pair->value)))
            return false;
        fputs("}, ", walk->out);
    }
    fputs("]", walk->out);
    return true;
}

static bool walk_value(const struct walk *walk, const struct key *key, const yaml_node_t *node);

static const struct key *key_find(const struct key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static bool unknown_key(const struct walk *walk, const struct key *keys, const yaml_node_t *node)
{
    char names[300] = "";

    for (const struct key *key = keys; key->name; key++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                 key == keys ? "" : ", ", key->name);
    return WRONG(walk, node, "unknown key '%s', expected one of %s", scalar(node), names);
}

/* The pairs of the mapping NODE, with `here` before them; PRESET is a key that is there already. */
static bool walk_keys(const struct walk *walk, const struct key *keys, const struct key *preset,
                      const yaml_node_t *node)
{
    bool seen[KEYS_MAX] = { false };

    if (!check_keys(walk, node))
        return false;
    fputs("here: {", walk->out);
    put_place(walk, node);
    fputs("}, ", walk->out);
    if (preset)
        seen[preset - keys] = true;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = yaml_document_get_node(walk->document, pair->key);
        const struct key *key = key_find(keys, scalar(name));

        if (!key || key == preset)
            return unknown_key(walk, preset ? keys + 1 : keys, name);
        seen[key - keys] = true;
        fprintf(walk->out, "%s: ", key->name);
        if (!walk_value(walk, key, yaml_document_get_node(walk->document, pair->value)))
            return false;
        fputs(", ", walk->out);
    }
    for (const struct key *key = keys; key->name; key++)
        if (key->needed && !seen[key - keys])
            return WRONG(walk, node, "the key '%s' is missing", key->name);
    return true;
}

static bool walk_map(const struct walk *walk, const char *name, const struct key *keys,
                     const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE)
        return WRONG(walk, node, "%s is %s, expected a mapping", name, kind_of(node));
    fputs("{", walk->out);
    if (!walk_keys(walk, keys, NULL, node))
        return false;
    fputs("}", walk->out);
    return true;
}

static bool walk_maps(const struct walk *walk, const struct key *key, const yaml_node_t *node)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return WRONG(walk, node, "%s is %s, expected a list", key->name, kind_of(node));
    fputs("[", walk->out);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        const yaml_node_t *entry = yaml_document_get_node(walk->document, *item);

        if (!walk_map(walk, key->name, key->sub, entry))
            return false;
        fputs(", ", walk->out);
    }
    fputs("]", walk->out);
    return true;
}

/* NAME: VALUE of a NAMED, as an entry of MAPS. */
static bool walk_named_entry(const struct walk *walk, const struct key *key,
                             const yaml_node_t *name, const yaml_node_t *value)
{
    bool fine;

    fprintf(walk->out, "{%s: ", key->sub[0].name);
    if (!walk_text(walk, key->name, name))
        return false;
    fputs(", ", walk->out);
    if (value->type == YAML_MAPPING_NODE) {
        fine = walk_keys(walk, key->sub, &key->sub[0], value);
    } else {
        fputs("here: {", walk->out);
        put_place(walk, name);
        fprintf(walk->out, "}, %s: ", key->sub[1].name);
        fine = walk_text(walk, scalar(name), value);
    }
    fputs("}, ", walk->out);
    return fine;
}

static bool walk_named(const struct walk *walk, const struct key *key, const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE)
        return WRONG(walk, node, "%s is %s, expected a mapping", key->name, kind_of(node));
    if (!check_keys(walk, node))
        return false;
    fputs("[", walk->out);
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++)
        if (!walk_named_entry(walk, key, yaml_document_get_node(walk->document, pair->key),
                              yaml_document_get_node(walk->document, pair->value)))
            return false;
    fputs("]", walk->out);
    return true;
}

static bool walk_value(const struct walk *walk, const struct key *key, const yaml_node_t *node)
{
    switch (key->kind) {
    case KEY_TEXT:
        return walk_text(walk, key->name, node);
    case KEY_LIST:
        return walk_list(walk, key->name, node);
    case KEY_PAIRS:
        return walk_pairs(walk, key->name, node);
    case KEY_MAP:
        return walk_map(walk, key->name, key->sub, node);
    case KEY_MAPS:
        return walk_maps(walk, key, node);
    case KEY_NAMED:
        return walk_named(walk, key, node);
    }
    return false;
}

/* The first line that libcyaml has to say goes into the mistake. */
static void take_log(cyaml_log_t level, void *ctx, const char *format, va_list args)
{
    const struct walk *walk = ctx;
    char line[200];

    (void)level;
    if (walk->mistake->text[0])
        return;
    vsnprintf(line, sizeof(line), format, args);
    mistake(walk->mistake, walk->path, (struct place){ .line = 0 }, "%s", line);
}

static cyaml_config_t config_for(const struct walk *walk)
{
    return (cyaml_config_t){ .log_fn = take_log,
                             .log_ctx = (void *)(uintptr_t)walk,
                             .mem_fn = cyaml_mem,
                             .log_level = CYAML_LOG_ERROR };
}

static struct scn_file *fill(const struct walk *walk, const char *text, size_t size)
{
    cyaml_config_t config = config_for(walk);
    cyaml_data_t *data = NULL;
    cyaml_err_t error =
        cyaml_load_data((const uint8_t *)text, size, &config, &top_value, &data, NULL);

    if (error == CYAML_OK)
        return (struct scn_file *)data;
    if (!walk->mistake->text[0])
        mistake(walk->mistake, walk->path, (struct place){ .line = 0 }, "%s",
                cyaml_strerror(error));
    return NULL;
}

static struct scn_file *load_document(struct walk *walk)
{
    const yaml_node_t *root = yaml_document_get_root_node(walk->document);
    struct scn_file *file = NULL;
    char *text = NULL;
    size_t size = 0;
    bool fine;

    if (!root) {
        mistake(walk->mistake, walk->path, (struct place){ .line = 0 },
                "the file is empty, expected a scenario");
        return NULL;
    }
    walk->out = open_memstream(&text, &size);
    if (!walk->out) {
        mistake(walk->mistake, walk->path, (struct place){ .line = 0 }, "%s", strerror(errno));
        return NULL;
    }
    fine = walk_map(walk, "the scenario", file_keys, root);
    if (fclose(walk->out) == 0 && fine)
        file = fill(walk, text, size);
    free(text);
    return file;
}

/* Where the byte at OFFSET stands. */
static struct place place_at(const char *text, size_t size, size_t offset)
{
    struct place at = { .line = 1, .column = 1 };

    for (size_t i = 0; i < offset && i < size; i++) {
        at.column++;
        if (text[i] == '\n')
            at = (struct place){ .line = at.line + 1, .column = 1 };
    }
    return at;
}

static void syntax_error(const struct walk *walk, const yaml_parser_t *parser)
{
    struct place at = parser->error == YAML_READER_ERROR
                          ? place_at(walk->yaml, walk->size, parser->problem_offset)
                          : place_of(&parser->problem_mark);

    mistake(walk->mistake, walk->path, at, "not YAML: %s%s%s",
            parser->problem ? parser->problem : "no memory", parser->context ? " " : "",
            parser->context ? parser->context : "");
}

/* Whether nothing follows the document that was read. */
static bool at_end(const struct walk *walk, yaml_parser_t *parser)
{
    yaml_document_t next;
    const yaml_node_t *root;

    if (!yaml_parser_load(parser, &next)) {
        syntax_error(walk, parser);
        return false;
    }
    root = yaml_document_get_root_node(&next);
    if (root)
        WRONG(walk, root, "a second document, expected one scenario a file");
    yaml_document_delete(&next);
    return !root;
}

struct scn_file *scn_parse(const char *path, const char *yaml, size_t size, struct mistake *mistake)
{
    yaml_document_t document;
    yaml_parser_t parser;
    struct walk walk = {
        .path = path, .yaml = yaml, .size = size, .document = &document, .mistake = mistake
    };
    struct scn_file *file = NULL;

    mistake->text[0] = '\0';
    if (!yaml_parser_initialize(&parser))
        return NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, size);
    if (!yaml_parser_load(&parser, &document)) {
        syntax_error(&walk, &parser);
    } else {
        file = load_document(&walk);
        yaml_document_delete(&document);
        if (file && !at_end(&walk, &parser)) {
            scn_free(file);
            file = NULL;
        }
    }
    yaml_parser_delete(&parser);
    return file;
}

struct scn_file *scn_read(const char *path, struct mistake *mistake)
{
    size_t size;
    char *text = text_file_read(path, &size, mistake);
    struct scn_file *file = text ? scn_parse(path, text, size, mistake) : NULL;

    free(text);
    return file;
}

void scn_free(struct scn_file *file)
{
    struct mistake unused = { .text = "" };
    struct walk walk = { .path = "", .mistake = &unused };
    cyaml_config_t config = config_for(&walk);

    cyaml_free(&config, &top_value, file, 0);
}
