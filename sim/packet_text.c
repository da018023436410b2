/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "packet_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../models/pt/print.h"

/* How far behind a label an address is still named after it. */
#define LABEL_REACH 0x1000

/* ---- the packets of a trace ---- */

static bool is_ip_packet(enum ipt_packet_type type)
{
    return type == IPT_TIP || type == IPT_TIP_PGE || type == IPT_TIP_PGD || type == IPT_FUP;
}

/* What the first of the SIZE bytes at TRACE are. */
static struct packet_seen see(struct ipt_decode_state *state, struct ipt_last_ip *last,
                              const uint8_t *trace, size_t size)
{
    struct packet_seen seen = { .bytes = trace };
    enum ptsim_status status = ipt_decode(state, trace, size, &seen.packet);
    size_t next;

    if (status == PTSIM_TRUNCATED) {
        seen.cut = true;
        seen.packet.size = (uint8_t)size;
    } else if (status != PTSIM_OK) {
        seen.bad = true;
        if (ipt_sync(trace, size, 1, &next) != PTSIM_OK)
            next = size;
        seen.packet.size = (uint8_t)(next < IPT_PACKET_MAX ? next : IPT_PACKET_MAX);
    } else if (seen.packet.type == IPT_PSB) {
        ipt_last_ip_reset(last);
    } else if (is_ip_packet(seen.packet.type)) {
        seen.has_ip = ipt_last_ip_update(last, &seen.packet.ip, &seen.ip);
    }
    return seen;
}

bool packet_list_make(struct packet_list *list, const uint8_t *trace, size_t size)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_last_ip last;
    size_t room = 0;

    *list = (struct packet_list){ .packet = NULL };
    ipt_last_ip_reset(&last);
    for (size_t at = 0; at < size; at += list->packet[list->count++].packet.size) {
        if (list->count == room) {
            struct packet_seen *grown =
                realloc(list->packet, (room = 2 * room + 64) * sizeof(list->packet[0]));

            if (!grown) {
                packet_list_free(list);
                return false;
            }
            list->packet = grown;
        }
        list->packet[list->count] = see(&state, &last, trace + at, size - at);
        list->packet[list->count].offset = at;
    }
    return true;
}

void packet_list_free(struct packet_list *list)
{
    free(list->packet);
    *list = (struct packet_list){ .packet = NULL };
}

/* ---- their text ---- */

const char *packet_name(const struct packet_seen *seen)
{
    if (seen->cut)
        return "cut";
    return seen->bad ? "bad" : ipt_packet_row(seen->packet.type)->dump;
}

char *address_text(uint64_t address, const struct symbols *symbols, char *out)
{
    const struct symbol *label = symbols_near(symbols, SYMBOL_LABEL, address, LABEL_REACH);

    if (!label)
        snprintf(out, PACKET_TEXT_MAX, "0x%" PRIx64, address);
    else if (label->value == address)
        snprintf(out, PACKET_TEXT_MAX, "%s", label->name);
    else
        snprintf(out, PACKET_TEXT_MAX, "%.100s+0x%" PRIx64, label->name, address - label->value);
    return out;
}

/* The payload without names: an IP as IPBytes and the whole address. */
static void plain_payload(const struct packet_seen *seen, char *out)
{
    if (seen->cut || seen->bad)
        *out = '\0';
    else if (seen->has_ip)
        snprintf(out, IPT_PAYLOAD_TEXT_MAX, "%x: %" PRIx64, (unsigned)seen->packet.ip.ip_bytes,
                 seen->ip);
    else if (is_ip_packet(seen->packet.type))
        snprintf(out, IPT_PAYLOAD_TEXT_MAX, "%x:", (unsigned)seen->packet.ip.ip_bytes);
    else
        ipt_print_payload(&seen->packet, out);
}

char *packet_payload(const struct packet_seen *seen, const struct symbols *symbols, char *out)
{
    const struct symbol *root;
    char address[PACKET_TEXT_MAX];

    if (seen->has_ip) {
        snprintf(out, PACKET_TEXT_MAX, "%x: %.150s", (unsigned)seen->packet.ip.ip_bytes,
                 address_text(seen->ip, symbols, address));
        return out;
    }
    root = !seen->cut && !seen->bad && seen->packet.type == IPT_PIP
               ? symbols_near(symbols, SYMBOL_ROOT, seen->packet.pip.cr3, 1)
               : NULL;
    if (root)
        snprintf(out, PACKET_TEXT_MAX, "%.100s%s", root->name, seen->packet.pip.nr ? ", nr" : "");
    else
        plain_payload(seen, out);
    return out;
}

/* ---- comparing ---- */

/* The next word at *TEXT, which is stepped; false at the end. Commas and colons separate. */
static bool next_word(const char **text, char *word, size_t size)
{
    static const char separators[] = " \t,:";
    size_t length;

    *text += strspn(*text, separators);
    length = strcspn(*text, separators);
    snprintf(word, size, "%.*s", (int)length, *text);
    *text += length;
    return length;
}

static bool hex_parse(const char *word, uint64_t *value)
{
    char *end;

    *value = strtoull(word, &end, 16);
    return isxdigit((unsigned char)*word) && !*end;
}

/* Whether WORD stands for what was PRINTED: the same letters, or the same hexadecimal number, or an
 * expression of its value. Bare digits are no expression: they are read as they are printed. */
static bool word_is(const char *word, const char *printed, const struct symbols *symbols)
{
    uint64_t value, wanted;
    struct expr_bad bad;

    if (!strcasecmp(word, printed))
        return true;
    if (!hex_parse(printed, &wanted))
        return false;
    if (hex_parse(word, &value) && strncasecmp(word, "0x", 2) && value == wanted)
        return true;
    return (!isdigit((unsigned char)*word) || !strncasecmp(word, "0x", 2)) &&
           expr_eval(word, symbols, &value, &bad) == EXPR_OK && value == wanted;
}

bool packet_payload_is(const struct packet_seen *seen, const struct symbols *symbols,
                       const char *text)
{
    char plain[IPT_PAYLOAD_TEXT_MAX], word[PACKET_TEXT_MAX], printed[PACKET_TEXT_MAX];
    const char *rest = plain;

    plain_payload(seen, plain);
    while (next_word(&text, word, sizeof(word))) {
        if (is_ip_packet(seen->packet.type) && !seen->has_ip && !strcmp(word, "????????????????"))
            continue;
        if (!next_word(&rest, printed, sizeof(printed)) || !word_is(word, printed, symbols))
            return false;
    }
    return !next_word(&rest, printed, sizeof(printed));
}
