/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a packet in the words of a scenario: as `ptsim dump` prints it, but an IP is the
 * whole address, and addresses are labels where there are any. */
#ifndef PTSIM_SIM_PACKET_TEXT_H
#define PTSIM_SIM_PACKET_TEXT_H

#include <stdbool.h>

#include "../models/pt/last_ip.h"
#include "symbols.h"

#define PACKET_TEXT_MAX 160

/* A packet of a trace with what it means at its place there. */
struct packet_seen {
    uint64_t offset;
    const uint8_t *bytes;
    struct ipt_packet packet; /* size counts; of bytes that are none, only that */
    bool cut;                 /* bytes at the end that begin a packet */
    bool bad;                 /* bytes, up to the next PSB, that are none */
    bool has_ip;
    uint64_t ip; /* the IP that a decoder has after it, where has_ip */
};

struct packet_list {
    struct packet_seen *packet;
    size_t count;
};

/* Decodes the SIZE bytes at TRACE, which must outlive LIST. False when out of memory. */
bool packet_list_make(struct packet_list *list, const uint8_t *trace, size_t size);
void packet_list_free(struct packet_list *list);

/* "tip.pge", "cut", "bad"; never NULL. */
const char *packet_name(const struct packet_seen *seen);
/* The payload into OUT, which has PACKET_TEXT_MAX bytes. Returns OUT. */
char *packet_payload(const struct packet_seen *seen, const struct symbols *symbols, char *out);
/* Whether TEXT says the same as packet_payload(), with numbers and names for the same values. */
bool packet_payload_is(const struct packet_seen *seen, const struct symbols *symbols,
                       const char *text);

/* ADDRESS as label+0x2 where a label is near, else in hexadecimal, into OUT, which has
 * PACKET_TEXT_MAX bytes. Returns OUT. */
char *address_text(uint64_t address, const struct symbols *symbols, char *out);

#endif
