/* SPDX-License-Identifier: MIT */
/* Encoding without a detour: inline for the packets that are most of a trace.
 *
 * All functions write one packet at OUT and return its size in bytes. OUT has IPT_PACKET_MAX bytes,
 * and what is in them behind the packet is lost too: a store of eight bytes is faster than one of
 * the right size. */
#ifndef PTSIM_PT_ENCODE_H
#define PTSIM_PT_ENCODE_H

#include <assert.h>

#include "../bits.h"
#include "packet.h"

/* COUNT outcomes, 1 to IPT_TNT_8_MAX, the oldest in bit COUNT-1; no bit above is set. */
static inline size_t ipt_put_tnt_8(uint8_t *out, uint64_t bits, unsigned count)
{
    assert(count >= 1 && count <= IPT_TNT_8_MAX && bits < BIT(count));
    out[0] = (uint8_t)((BIT(count) | bits) << 1 | IPT_TNT_8_OPCODE);
    return 1;
}

/* 48 outcomes, the oldest in bit 47, in eight packets; no bit above is set. */
static inline size_t ipt_put_tnt_8_times_8(uint8_t *out, uint64_t bits)
{
    static_assert(IPT_TNT_8_MAX == 6, "what follows");
    bits = (bits & BITS(47, 24)) << 8 | (bits & BITS(23, 0));
    bits = (bits & UINT64_C(0x00fff00000fff000)) << 4 | (bits & UINT64_C(0x00000fff00000fff));
    bits = (bits & UINT64_C(0x0fc00fc00fc00fc0)) << 2 | (bits & UINT64_C(0x003f003f003f003f));
    bits = (bits << 1 | UINT64_C(0x8080808080808080)) |
           UINT64_C(0x0101010101010101) * IPT_TNT_8_OPCODE;
    be64_put(out, bits);
    return 8;
}

/* COUNT outcomes, 1 to IPT_TNT_64_MAX, the oldest in bit COUNT-1; no bit above is set. */
static inline size_t ipt_put_tnt_64(uint8_t *out, uint64_t bits, unsigned count)
{
    assert(count >= 1 && count <= IPT_TNT_64_MAX && bits < BIT(count));
    le64_put(out, (BIT(count) | bits) << 16 | IPT_TNT_64_OPCODE << 8 | IPT_OPCODE_EXT);
    return 8;
}

/* TYPE is TIP, TIP_PGE, TIP_PGD or FUP; IP the payload as ipt_last_ip_compress() gives it. Bits
 * of IP that IP_BYTES does not send are ignored. */
static inline size_t ipt_put_ip(uint8_t *out, enum ipt_packet_type type, enum ipt_ip_bytes ip_bytes,
                                uint64_t ip)
{
    static const uint8_t opcode[] = { IPT_TIP_OPCODE, IPT_TIP_PGE_OPCODE, IPT_TIP_PGD_OPCODE,
                                      IPT_FUP_OPCODE };

    static_assert(IPT_TIP_PGE == IPT_TIP + 1 && IPT_TIP_PGD == IPT_TIP + 2 &&
                      IPT_FUP == IPT_TIP + 3,
                  "the order of opcode[]");
    assert(ipt_is_ip(type) && ipt_ip_bytes_valid(ip_bytes));
    le64_put(out, ip << 8 | (unsigned)ip_bytes << 5 | opcode[type - IPT_TIP]);
    out[8] = (uint8_t)(ip >> 56);
    return 1 + ipt_ip_size(ip_bytes);
}

/* ipt_put_cyc() of any number of cycles. */
size_t ipt_put_cyc_long(uint8_t *out, uint64_t cycles);

/* CYCLES may be anything; the packet is the shortest that holds it: 5 bits in the first byte, 7 in
 * each one more. Decoders differ in how long a CYC they take: up to 2^61 - 1 cycles all of them. */
static inline size_t ipt_put_cyc(uint8_t *out, uint64_t cycles)
{
    if (cycles < BIT(5)) {
        out[0] = (uint8_t)(cycles << 3 | IPT_CYC_OPCODE);
        return 1;
    }
    if (cycles < BIT(12)) {
        out[0] = (uint8_t)(cycles << 3 | 1 << 2 | IPT_CYC_OPCODE);
        out[1] = (uint8_t)(cycles >> 5 << 1);
        return 2;
    }
    return ipt_put_cyc_long(out, cycles);
}

static inline size_t ipt_put_mtc(uint8_t *out, uint8_t ctc)
{
    out[0] = IPT_MTC_OPCODE;
    out[1] = ctc;
    return 2;
}

static inline size_t ipt_put_psb(uint8_t *out)
{
    le64_put(out, UINT64_C(0x0001000100010001) * (IPT_PSB_OPCODE << 8 | IPT_OPCODE_EXT));
    le64_put(out + 8, UINT64_C(0x0001000100010001) * (IPT_PSB_OPCODE << 8 | IPT_OPCODE_EXT));
    return IPT_PACKET_MAX;
}

/* Whether TNT has from 1 to MAX outcomes and nothing above them. */
static inline bool ipt_tnt_valid(const struct ipt_tnt *tnt, unsigned max)
{
    return tnt->count - 1 < max && tnt->bits < BIT(tnt->count);
}

/* ipt_put() of the packets that have no function above, and of TNT_64. */
size_t ipt_put_rare(uint8_t *out, const struct ipt_packet *packet);

/* ipt_put_tnt_8() with the check of its arguments that ipt_put() has to make. */
static inline size_t ipt_put_tnt_8_checked(uint8_t *out, const struct ipt_tnt *tnt)
{
    uint64_t stop = BIT(tnt->count & 63);

    if (tnt->count - 1 >= IPT_TNT_8_MAX || tnt->bits >= stop)
        return 0;
    out[0] = (uint8_t)((stop | tnt->bits) << 1 | IPT_TNT_8_OPCODE);
    return 1;
}

/* PACKET, whatever it is. 0 where a field is out of its range. */
static inline size_t ipt_put(uint8_t *out, const struct ipt_packet *packet)
{
    const struct ipt_ip *ip = &packet->ip;

    if (packet->type == IPT_TNT_8)
        return ipt_put_tnt_8_checked(out, &packet->tnt);
    if (packet->type == IPT_CYC)
        return ipt_put_cyc(out, packet->cyc.cycles);
    if (ipt_is_ip(packet->type)) {
        if (!ipt_ip_bytes_valid(ip->ip_bytes) || (ip->ip & ~ipt_ip_mask(ip->ip_bytes)))
            return 0;
        return ipt_put_ip(out, packet->type, ip->ip_bytes, ip->ip);
    }
    if (packet->type == IPT_MTC && packet->mtc.ctc <= UINT8_MAX)
        return ipt_put_mtc(out, (uint8_t)packet->mtc.ctc);
    return ipt_put_rare(out, packet);
}

#endif
