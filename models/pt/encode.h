/* SPDX-License-Identifier: MIT */
/* Inline encoders of the packets that are most of a trace.
 *
 * Each writes one packet at OUT and returns its size in bytes, which is at most IPT_PACKET_MAX. It
 * writes those bytes and no more. The caller has made sure of the room and of the arguments, whose
 * ranges are asserted. ipt_encode() is made of the same functions; it checks both. */
#ifndef PTSIM_PT_ENCODE_H
#define PTSIM_PT_ENCODE_H

#include <assert.h>

#include "../bits.h"
#include "packet.h"

/* The longest CYC: 64 bits, 5 in the first byte and 7 in each one after it. */
#define IPT_CYC_MAX 10

/* The low SIZE bytes of VALUE, lowest first. A compiler makes one store of it where SIZE is a
 * constant power of two. */
static inline void ipt_put_le(uint8_t *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

/* COUNT outcomes, 1 to IPT_TNT_8_MAX, the oldest in bit COUNT-1; no bit above is set. */
static inline size_t ipt_put_tnt_8(uint8_t *out, uint64_t bits, unsigned count)
{
    assert(count >= 1 && count <= IPT_TNT_8_MAX && bits >> count == 0);
    out[0] = (uint8_t)((BIT(count) | bits) << 1 | IPT_TNT_8_OPCODE);
    return 1;
}

/* COUNT outcomes, 1 to IPT_TNT_64_MAX, the oldest in bit COUNT-1; no bit above is set. */
static inline size_t ipt_put_tnt_64(uint8_t *out, uint64_t bits, unsigned count)
{
    assert(count >= 1 && count <= IPT_TNT_64_MAX && bits >> count == 0);
    ipt_put_le(out, (BIT(count) | bits) << 16 | IPT_TNT_64_OPCODE << 8 | IPT_OPCODE_EXT, 8);
    return 8;
}

/* The opcode byte of an IP packet with its IPBytes. */
static inline uint8_t ipt_ip_opcode(enum ipt_packet_type type, enum ipt_ip_bytes ip_bytes)
{
    unsigned opcode = type == IPT_TIP       ? IPT_TIP_OPCODE
                      : type == IPT_TIP_PGE ? IPT_TIP_PGE_OPCODE
                      : type == IPT_TIP_PGD ? IPT_TIP_PGD_OPCODE
                                            : IPT_FUP_OPCODE;

    assert(ipt_is_ip(type));
    return (uint8_t)((unsigned)ip_bytes << 5 | opcode);
}

/* TYPE is TIP, TIP_PGE, TIP_PGD or FUP; IP the payload as ipt_last_ip_compress() gives it. Bits
 * of IP that IP_BYTES does not send are ignored. */
static inline size_t ipt_put_ip(uint8_t *out, enum ipt_packet_type type, enum ipt_ip_bytes ip_bytes,
                                uint64_t ip)
{
    out[0] = ipt_ip_opcode(type, ip_bytes);
    switch (ip_bytes) {
    case IPT_IP_SUPPRESSED:
        return 1;
    case IPT_IP_UPDATE_16:
        ipt_put_le(out + 1, ip, 2);
        return 3;
    case IPT_IP_UPDATE_32:
        ipt_put_le(out + 1, ip, 4);
        return 5;
    case IPT_IP_SEXT_48:
    case IPT_IP_UPDATE_48:
        ipt_put_le(out + 1, ip, 6);
        return 7;
    case IPT_IP_FULL:
        ipt_put_le(out + 1, ip, 8);
        return 9;
    }
    assert(0 && "IPBytes 101b and 111b are reserved");
    return 0;
}

/* CYCLES may be anything; the packet is the shortest that holds it. Decoders differ in how long a
 * CYC they take: up to 2^61 - 1 cycles, 9 bytes, all of them do. */
static inline size_t ipt_put_cyc(uint8_t *out, uint64_t cycles)
{
    uint64_t rest = cycles >> 5;
    size_t size = 1;

    out[0] = (uint8_t)((cycles & 0x1f) << 3 | (uint64_t)(rest != 0) << 2 | IPT_CYC_OPCODE);
    while (rest) {
        uint64_t low = rest & 0x7f;

        rest >>= 7;
        out[size++] = (uint8_t)(low << 1 | (uint64_t)(rest != 0));
    }
    return size;
}

static inline size_t ipt_put_mtc(uint8_t *out, uint8_t ctc)
{
    out[0] = IPT_MTC_OPCODE;
    out[1] = ctc;
    return 2;
}

static inline size_t ipt_put_psb(uint8_t *out)
{
    for (size_t i = 0; i < IPT_PACKET_MAX; i += 2) {
        out[i] = IPT_OPCODE_EXT;
        out[i + 1] = IPT_PSB_OPCODE;
    }
    return IPT_PACKET_MAX;
}

#endif
