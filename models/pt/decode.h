/* SPDX-License-Identifier: MIT */
/* Decoding without a detour: ipt_get() is ipt_decode(), inline for the packets that are most of
 * a trace. */
#ifndef PTSIM_PT_DECODE_H
#define PTSIM_PT_DECODE_H

#include "../bits.h"
#include "packet.h"

/* PAYLOAD is the TNT from the stop bit down, at least 2; SIZE that of the packet. */
static inline enum ptsim_status ipt_get_tnt(enum ipt_packet_type type, uint64_t payload,
                                            size_t size, struct ipt_packet *packet)
{
    unsigned count = bits_top(payload);

    packet->type = type;
    packet->size = (uint8_t)size;
    packet->tnt.count = count;
    packet->tnt.bits = payload ^ BIT(count);
    return PTSIM_OK;
}

/* The low SIZE bytes of a number, which are at BUF; LEFT bytes are there. */
static inline uint64_t ipt_get_le(const uint8_t *buf, size_t size, size_t left)
{
    uint64_t value = 0;

    if (left >= 8)
        return size ? le64_get(buf) & UINT64_MAX >> (64 - 8 * size) : 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)buf[i] << (8 * i);
    return value;
}

static inline enum ptsim_status ipt_get_ip(enum ipt_packet_type type, const uint8_t *buf,
                                           size_t size, struct ipt_packet *packet)
{
    enum ipt_ip_bytes ip_bytes = (enum ipt_ip_bytes)(buf[0] >> 5);
    size_t bytes = ipt_ip_size(ip_bytes);

    if (!ipt_ip_bytes_valid(ip_bytes))
        return PTSIM_BAD_PACKET;
    if (size < 1 + bytes)
        return PTSIM_TRUNCATED;
    packet->type = type;
    packet->size = (uint8_t)(1 + bytes);
    packet->ip.ip_bytes = ip_bytes;
    packet->ip.ip = ipt_get_le(buf + 1, bytes, size - 1);
    return PTSIM_OK;
}

/* A CYC whose Exp bit in the first byte is set. */
enum ptsim_status ipt_get_cyc_long(const uint8_t *buf, size_t size, struct ipt_packet *packet);

static inline enum ptsim_status ipt_get_cyc(const uint8_t *buf, size_t size,
                                            struct ipt_packet *packet)
{
    if (buf[0] & BIT(2))
        return ipt_get_cyc_long(buf, size, packet);
    packet->type = IPT_CYC;
    packet->size = 1;
    packet->cyc.cycles = buf[0] >> 3;
    return PTSIM_OK;
}

static inline enum ptsim_status ipt_get_mtc(const uint8_t *buf, size_t size,
                                            struct ipt_packet *packet)
{
    if (size < 2)
        return PTSIM_TRUNCATED;
    packet->type = IPT_MTC;
    packet->size = 2;
    packet->mtc.ctc = buf[1];
    return PTSIM_OK;
}

/* The rest: PAD, MODE, TSC, what begins with 02, and BIP. */
enum ptsim_status ipt_get_rare(struct ipt_decode_state *state, const uint8_t *buf, size_t size,
                               struct ipt_packet *packet);

/* As ipt_decode(). */
static inline enum ptsim_status ipt_get(struct ipt_decode_state *state, const uint8_t *buf,
                                        size_t size, struct ipt_packet *packet)
{
    if (size == 0)
        return PTSIM_END;
    if ((buf[0] & 1) == 0 && buf[0] > IPT_OPCODE_EXT && state->bip_bytes == 0)
        return ipt_get_tnt(IPT_TNT_8, buf[0] >> 1, 1, packet);
    if ((buf[0] & 3) == IPT_CYC_OPCODE)
        return ipt_get_cyc(buf, size, packet);
    switch (buf[0] & 0x1f) {
    case IPT_TIP_OPCODE:
        return ipt_get_ip(IPT_TIP, buf, size, packet);
    case IPT_TIP_PGE_OPCODE:
        return ipt_get_ip(IPT_TIP_PGE, buf, size, packet);
    case IPT_TIP_PGD_OPCODE:
        return ipt_get_ip(IPT_TIP_PGD, buf, size, packet);
    case IPT_FUP_OPCODE:
        return ipt_get_ip(IPT_FUP, buf, size, packet);
    }
    if (buf[0] == IPT_MTC_OPCODE)
        return ipt_get_mtc(buf, size, packet);
    return ipt_get_rare(state, buf, size, packet);
}

#endif
