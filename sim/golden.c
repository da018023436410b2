/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golden.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

/* One parse of a file. */
struct parse {
    struct golden *golden;
    unsigned line;
    size_t room_packets;
    size_t room_bytes;
    uint64_t repeat; /* times; 0 outside of it */
    unsigned repeat_line;
    size_t repeat_from; /* the first packet in it */
};

#define WRONG(parse, ...)                                                                          \
    mistake((parse)->golden->mistake, (parse)->golden->path,                                       \
            (struct place){ .line = (parse)->line }, __VA_ARGS__)

static bool out_of_memory(const struct parse *parse)
{
    return WRONG(parse, "out of memory");
}

/* Cuts the first word off *LINE, in place. "" at the end. */
static char *cut_word(char **line)
{
    char *word = *line + strspn(*line, " \t");

    *line = word + strcspn(word, " \t");
    if (**line)
        *(*line)++ = '\0';
    return word;
}

/* ---- packets ---- */

/* Makes room for one more of SIZE bytes in ARRAY, which has *ROOM and COUNT of them used. */
static void *grow(void *array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return array;
    *room = 2 * *room + 64;
    return realloc(array, *room * size);
}

static bool add_byte(struct parse *parse, uint8_t byte)
{
    struct golden *golden = parse->golden;
    uint8_t *grown = grow(golden->bytes, &parse->room_bytes, golden->size, 1);

    if (!grown)
        return out_of_memory(parse);
    golden->bytes = grown;
    golden->bytes[golden->size++] = byte;
    return true;
}

static bool add_packet(struct parse *parse, const struct golden_packet *packet)
{
    struct golden *golden = parse->golden;
    struct golden_packet *grown =
        grow(golden->packet, &parse->room_packets, golden->packets, sizeof(*grown));

    if (!grown)
        return out_of_memory(parse);
    golden->packet = grown;
    golden->packet[golden->packets++] = *packet;
    return true;
}

static bool is_byte(const char *word, unsigned *byte)
{
    return isxdigit((unsigned char)word[0]) && isxdigit((unsigned char)word[1]) && !word[2] &&
           sscanf(word, "%2x", byte) == 1;
}

/* OFFSET BYTE... NAME PAYLOAD, the offset being cut off already. */
static bool parse_packet(struct parse *parse, const char *offset, char *line)
{
    struct golden *golden = parse->golden;
    struct golden_packet packet = { .line = parse->line, .offset = golden->size };
    char *end, *word = NULL;
    unsigned byte;

    if (strtoull(offset, &end, 16) != golden->size || *end)
        return WRONG(parse, "offset '%s', expected %04zx, as the lines before add up", offset,
                     golden->size);
    for (; is_byte(word = cut_word(&line), &byte); packet.size++) {
        if (packet.size == IPT_PACKET_MAX)
            return WRONG(parse, "more bytes than a packet can have");
        if (!add_byte(parse, (uint8_t)byte))
            return false;
    }
    if (!packet.size)
        return WRONG(parse, "'%s', expected a packet's bytes, of two hexadecimal digits each",
                     word);
    if (!*word)
        return WRONG(parse, "the name of the packet is missing");
    packet.name = word;
    packet.payload = line + strspn(line, " \t");
    return add_packet(parse, &packet);
}

static bool parse_repeat(struct parse *parse, char *line)
{
    const char *times = cut_word(&line);

    if (parse->repeat)
        return WRONG(parse, "a repeat in a repeat");
    if (!number_parse(times, &parse->repeat) || !parse->repeat || parse->repeat > 1 << 24)
        return WRONG(parse, "'%s', expected how many times", times);
    parse->repeat_line = parse->line;
    parse->repeat_from = parse->golden->packets;
    return true;
}

/* Adds what stands since `repeat` as often again as is missing. */
static bool parse_end(struct parse *parse)
{
    struct golden *golden = parse->golden;
    size_t to = golden->packets;

    if (!parse->repeat)
        return WRONG(parse, "end, but no repeat before it");
    for (; parse->repeat > 1; parse->repeat--)
        for (size_t i = parse->repeat_from; i < to; i++) {
            struct golden_packet packet = golden->packet[i];

            for (unsigned j = 0; j < packet.size; j++)
                if (!add_byte(parse, golden->bytes[golden->packet[i].offset + j]))
                    return false;
            packet.offset = golden->size - packet.size;
            if (!add_packet(parse, &packet))
                return false;
        }
    parse->repeat = 0;
    return true;
}

/* ---- the other lines ---- */

static bool parse_state(struct parse *parse, char *kind, char *line)
{
    struct golden *golden = parse->golden;
    struct golden_state *grown =
        realloc(golden->state, (golden->states + 1) * sizeof(golden->state[0]));
    struct golden_state *state;
    char **word;

    if (!grown)
        return out_of_memory(parse);
    golden->state = grown;
    state = &golden->state[golden->states++];
    *state = (struct golden_state){ .line = parse->line };
    for (char *next = kind; *next; next = cut_word(&line)) {
        word = realloc(state->word, (state->words + 1) * sizeof(state->word[0]));
        if (!word)
            return out_of_memory(parse);
        state->word = word;
        state->word[state->words++] = next;
    }
    return state->words >= 3 || WRONG(parse, "%s, expected a name and a value behind it", kind);
}

static bool parse_ids(struct parse *parse, char *line)
{
    struct golden *golden = parse->golden;
    char *to = line;

    if (golden->ids)
        return WRONG(parse, "a second line of ids");
    golden->ids = line;
    golden->ids_line = parse->line;
    for (char *id; *(id = cut_word(&line));) {
        size_t length = strlen(id);

        if (to != golden->ids)
            *to++ = ' ';
        memmove(to, id, length);
        to += length;
    }
    *to = '\0';
    return true;
}

static bool parse_cite(struct parse *parse, char *line)
{
    struct golden *golden = parse->golden;

    if (golden->cite)
        return WRONG(parse, "a second citation");
    golden->cite = line + strspn(line, " \t");
    golden->cite_line = parse->line;
    return *golden->cite || WRONG(parse, "the citation is empty");
}

static bool parse_cpu(struct parse *parse, char *line)
{
    const char *number = cut_word(&line);

    if (strcmp(number, "0"))
        return WRONG(parse, "cpu '%s', expected 0: there is one logical processor", number);
    if (parse->golden->has_packets)
        return WRONG(parse, "a second cpu 0");
    parse->golden->has_packets = true;
    return true;
}

static bool parse_line(struct parse *parse, char *line)
{
    char *word;

    line[strcspn(line, "#\r")] = '\0';
    for (char *end = line + strlen(line); end > line && strchr(" \t", end[-1]);)
        *--end = '\0';
    word = cut_word(&line);
    if (!*word)
        return true;
    if (!strcmp(word, "ids"))
        return parse_ids(parse, line);
    if (!strcmp(word, "cite"))
        return parse_cite(parse, line);
    if (!strcmp(word, "cpu"))
        return parse_cpu(parse, line);
    if (!strcmp(word, "repeat"))
        return parse_repeat(parse, line);
    if (!strcmp(word, "end"))
        return parse_end(parse);
    if (!strcmp(word, "msr") || !strcmp(word, "reg") || !strcmp(word, "mem"))
        return parse_state(parse, word, line);
    if (!isxdigit((unsigned char)*word))
        return WRONG(
            parse, "'%s', expected ids, cite, cpu, repeat, end, msr, reg, mem or an offset", word);
    if (!parse->golden->has_packets)
        return WRONG(parse, "packets, but no cpu line before them");
    return parse_packet(parse, word, line);
}

static bool parse_lines(struct golden *golden)
{
    struct parse parse = { .golden = golden, .line = 0 };

    for (char *line = golden->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        parse.line++;
        if (!parse_line(&parse, line))
            return false;
    }
    parse.line = parse.repeat_line;
    if (parse.repeat)
        return WRONG(&parse, "a repeat without an end");
    parse.line = 0;
    if (!golden->cite)
        return WRONG(&parse, "the citation is missing");
    if (!golden->ids)
        return WRONG(&parse, "the ids are missing");
    return packet_list_make(&golden->list, golden->bytes, golden->size) || out_of_memory(&parse);
}

/* TEXT is golden's from here on. */
static bool take_text(struct golden *golden, const char *path, char *text, size_t size,
                      struct mistake *to)
{
    *golden = (struct golden){ .path = strdup(path), .text = text, .mistake = to };
    if (!golden->path || strlen(text) != size) {
        mistake(to, path, (struct place){ .line = 0 },
                golden->path ? "not a text file: it has NUL characters" : "out of memory");
        golden_free(golden);
        return false;
    }
    if (parse_lines(golden))
        return true;
    golden_free(golden);
    return false;
}

bool golden_read(struct golden *golden, const char *path, struct mistake *mistake)
{
    size_t size;
    char *text = text_file_read(path, &size, mistake);

    return text && take_text(golden, path, text, size, mistake);
}

bool golden_parse(struct golden *golden, const char *path, const char *text, size_t size,
                  struct mistake *to)
{
    char *copy = malloc(size + 1);

    if (!copy)
        return mistake(to, path, (struct place){ .line = 0 }, "out of memory");
    memcpy(copy, text, size);
    copy[size] = '\0';
    return take_text(golden, path, copy, size, to);
}

void golden_free(struct golden *golden)
{
    for (size_t i = 0; i < golden->states; i++)
        free(golden->state[i].word);
    free(golden->state);
    free(golden->packet);
    free(golden->bytes);
    packet_list_free(&golden->list);
    free(golden->text);
    free(golden->path);
}

/* ---- whether it agrees with itself ---- */

static bool check_packet(const struct golden *golden, size_t index, const struct symbols *symbols)
{
    const struct golden_packet *line = &golden->packet[index];
    const struct packet_seen *seen = &golden->list.packet[index];
    const struct place at = { .line = line->line };
    char payload[PACKET_TEXT_MAX];

    if (seen->packet.size != line->size)
        return mistake(golden->mistake, golden->path, at,
                       "the bytes are not one packet: %u of them are '%s'", seen->packet.size,
                       packet_name(seen));
    packet_payload(seen, symbols, payload);
    if (strcmp(packet_name(seen), line->name) || !packet_payload_is(seen, symbols, line->payload))
        return mistake(golden->mistake, golden->path, at,
                       "the text '%s %s' does not say what the bytes are: '%s %s'", line->name,
                       line->payload, packet_name(seen), payload);
    return true;
}

/* Whether the ids are those of the scenario, in its order. */
static bool same_ids(const struct golden *golden, const struct scenario *scenario)
{
    const char *id = golden->ids;

    for (unsigned i = 0; i < scenario->file->ids_count; i++) {
        size_t length = strlen(scenario->file->ids[i].text);

        if (strncmp(id, scenario->file->ids[i].text, length) || (id[length] && id[length] != ' '))
            return false;
        id += length;
        id += *id == ' ';
    }
    return !*id;
}

bool golden_check(const struct golden *golden, const struct scenario *scenario)
{
    if (!same_ids(golden, scenario))
        return mistake(golden->mistake, golden->path, (struct place){ .line = golden->ids_line },
                       "the ids are not those of %s", scenario->path);
    if (strcmp(golden->cite, scenario->file->cite.text))
        return mistake(golden->mistake, golden->path, (struct place){ .line = golden->cite_line },
                       "the citation is not that of %s: '%s'", scenario->path,
                       scenario->file->cite.text);
    for (size_t i = 0; i < golden->packets && i < golden->list.count; i++)
        if (!check_packet(golden, i, &scenario->symbols))
            return false;
    return true;
}
