/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a trace: what is decoded encodes to the same bytes, but for reserved bits and
 * needless bytes of a CYC, and it can be printed. */
#include <stdlib.h>
#include <string.h>

#include "../../models/pt/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* The bits of a packet that are no reserved ones, in MASK: all where the size varies. */
static void meaningful_bits(const struct ipt_packet *packet, uint8_t *mask)
{
    const struct ipt_packet_row *row = ipt_packet_row(packet->type);
    const struct ipt_field *field;

    memset(mask, 0xff, IPT_PACKET_MAX);
    if (row->size == 0 || row->size == IPT_PACKET_MAX || packet->type == IPT_TNT_8 ||
        packet->type == IPT_TNT_64)
        return;
    memset(mask + row->header_size, 0, IPT_PACKET_MAX - row->header_size);
    if (packet->type == IPT_MODE_EXEC || packet->type == IPT_MODE_TSX)
        mask[1] = 0xe0; /* the leaf */
    for (unsigned i = 0; (field = ipt_packet_field(packet->type, i)); i++)
        for (unsigned bit = field->lo; bit <= field->hi; bit++)
            mask[bit / 8] |= (uint8_t)(1U << bit % 8);
}

static void encode_again(const struct ipt_packet *decoded, const uint8_t *raw)
{
    struct ipt_packet packet = *decoded;
    uint8_t out[IPT_PACKET_MAX], mask[IPT_PACKET_MAX];

    REQUIRE(ipt_encode(&packet, out, sizeof(out)) == PTSIM_OK);
    if (packet.type == IPT_CYC && packet.size < decoded->size)
        return;
    REQUIRE(packet.size == decoded->size);
    meaningful_bits(&packet, mask);
    for (unsigned i = 0; i < packet.size; i++)
        REQUIRE(((out[i] ^ raw[i]) & mask[i]) == 0);
}

static void print(const struct ipt_packet *packet, const uint8_t *raw, struct ipt_last_ip *last)
{
    char payload[IPT_PAYLOAD_TEXT_MAX], line[IPT_LINE_TEXT_MAX];

    REQUIRE(ipt_print_payload(packet, payload) == strlen(payload));
    REQUIRE(
        ipt_print_line(IPT_PRINT_OFFSET | IPT_PRINT_RAW | IPT_PRINT_LAST_IP | IPT_PRINT_EXEC_MODE,
                       last, UINT64_MAX, raw, packet, line) == strlen(line));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_last_ip last = { 0 };
    size_t at = 0, sync;

    while (at < size) {
        struct ipt_packet packet;

        switch (ipt_decode(&state, data + at, size - at, &packet)) {
        case PTSIM_OK:
            REQUIRE(packet.size >= 1 && packet.size <= size - at);
            encode_again(&packet, data + at);
            print(&packet, data + at, &last);
            at += packet.size;
            break;
        case PTSIM_BAD_PACKET:
            at++;
            break;
        case PTSIM_TRUNCATED:
            REQUIRE(size - at < IPT_PACKET_MAX);
            at = size;
            break;
        default:
            abort();
        }
    }
    if (ipt_sync(data, size, 0, &sync) == PTSIM_OK) {
        struct ipt_packet psb;

        REQUIRE(ipt_decode(&state, data + sync, size - sync, &psb) == PTSIM_OK);
        REQUIRE(psb.type == IPT_PSB);
    }
    return 0;
}
