/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random packets, every field of which is in its range; the same ones for the same seed. */
#ifndef PTSIM_TESTS_RANDOM_PACKET_H
#define PTSIM_TESTS_RANDOM_PACKET_H

#include <string.h>

#include "../models/bits.h"
#include "../models/pt/packet.h"

/* xorshift64; STATE is the seed first, not 0. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A number of 1 to 64 bits, small ones as often as large ones. */
static inline uint64_t random_sized(uint64_t *state)
{
    unsigned shift = random_next(state) & 63;

    return random_next(state) >> shift;
}

static inline void random_field(const struct ipt_field *field, uint64_t value,
                                struct ipt_packet *packet)
{
    char *member = (char *)packet + field->offset;
    uint8_t byte = (uint8_t)value;
    uint16_t word = (uint16_t)value;
    uint32_t dword = (uint32_t)value;

    switch (field->size) {
    case 1:
        memcpy(member, &byte, sizeof(byte));
        break;
    case 2:
        memcpy(member, &word, sizeof(word));
        break;
    case 4:
        memcpy(member, &dword, sizeof(dword));
        break;
    default:
        memcpy(member, &value, sizeof(value));
    }
}

static inline struct ipt_packet random_packet(uint64_t *state, enum ipt_packet_type type)
{
    static const enum ipt_ip_bytes ip_bytes[] = { IPT_IP_SUPPRESSED, IPT_IP_UPDATE_16,
                                                  IPT_IP_UPDATE_32,  IPT_IP_SEXT_48,
                                                  IPT_IP_UPDATE_48,  IPT_IP_FULL };
    struct ipt_packet packet = { .type = type };
    const struct ipt_field *field;
    unsigned max = type == IPT_TNT_8 ? IPT_TNT_8_MAX : IPT_TNT_64_MAX;

    for (unsigned i = 0; (field = ipt_packet_field(type, i)); i++) {
        uint64_t mask = field->hi ? BITS(field->hi - field->lo, 0) << field->shift : UINT64_MAX;

        random_field(field, random_sized(state) & mask, &packet);
    }
    switch (type) {
    case IPT_TNT_8:
    case IPT_TNT_64:
        packet.tnt.count = (uint8_t)(1 + random_next(state) % max);
        packet.tnt.bits &= BIT(packet.tnt.count) - 1;
        break;
    case IPT_TIP:
    case IPT_TIP_PGE:
    case IPT_TIP_PGD:
    case IPT_FUP:
        packet.ip.ip_bytes = ip_bytes[random_next(state) % 6];
        packet.ip.ip &= ipt_ip_mask(packet.ip.ip_bytes);
        break;
    case IPT_PTW:
        packet.ptw.bytes = random_next(state) & 1 ? 4 : 8;
        packet.ptw.payload &= UINT64_MAX >> (64 - 8 * packet.ptw.bytes);
        break;
    case IPT_BIP:
        packet.bip.bytes = random_next(state) & 1 ? 4 : 8;
        packet.bip.payload &= UINT64_MAX >> (64 - 8 * packet.bip.bytes);
        break;
    default:
        break;
    }
    return packet;
}

#endif
