/* SPDX-License-Identifier: MIT */
/* The "last IP" (SDM 33.4.2.2): what the IP of a packet is compressed against.
 *
 * The processor and whoever decodes its trace each keep one, and step it with every IP packet:
 * the one with ipt_last_ip_compress(), the other with ipt_last_ip_update(). */
#ifndef PTSIM_PT_LAST_IP_H
#define PTSIM_PT_LAST_IP_H

#include "../bits.h"
#include "../profile.h"
#include "packet.h"

struct ipt_last_ip {
    uint64_t ip;
    bool sent; /* a TIP, TIP.PGE or TIP.PGD had an IP since the last PSB */
};

/* What a PSB does to it; also the state at the start. */
static inline void ipt_last_ip_reset(struct ipt_last_ip *last)
{
    *last = (struct ipt_last_ip){ .ip = 0 };
}

/* The smallest encoding of IP: of 001b, 010b and 011b, and of 100b where UPDATE_48 allows it. 110b
 * where none of them gives IP back. */
static inline enum ipt_ip_bytes ipt_ip_bytes_smallest(uint64_t last, uint64_t ip, bool update_48)
{
    uint64_t differs = last ^ ip;

    if (differs >> 16 == 0)
        return IPT_IP_UPDATE_16;
    if (differs >> 32 == 0)
        return IPT_IP_UPDATE_32;
    if (is_canonical(ip, 48))
        return IPT_IP_SEXT_48;
    return update_48 && differs >> 48 == 0 ? IPT_IP_UPDATE_48 : IPT_IP_FULL;
}

/* IPBytes of a packet of TYPE with IP. */
static inline enum ipt_ip_bytes ipt_ip_bytes_choose(const struct ipt_last_ip *last,
                                                    enum ipt_ip_policy policy,
                                                    enum ipt_packet_type type, uint64_t ip)
{
    enum ipt_ip_bytes uncompressed = is_canonical(ip, 48) ? IPT_IP_SEXT_48 : IPT_IP_FULL;

    switch (policy) {
    case IPT_IP_POLICY_ICELAKE:
        if (type == IPT_FUP || type == IPT_TIP_PGE)
            return IPT_IP_FULL;
        /* fall through */
    case IPT_IP_POLICY_SILICON:
        if (type == IPT_FUP || !last->sent)
            return uncompressed;
        return ipt_ip_bytes_smallest(last->ip, ip, false);
    case IPT_IP_POLICY_SMALLEST:
        return ipt_ip_bytes_smallest(last->ip, ip, true);
    case IPT_IP_POLICY_SEXT:
        return uncompressed;
    case IPT_IP_POLICY_FULL:
        break;
    }
    return IPT_IP_FULL;
}

/* IPBytes of a packet of TYPE with IP, and the payload that goes with it: the low bytes of IP, no
 * bit above them. LAST is stepped. (A suppressed IP is IPT_IP_SUPPRESSED, and does not come here:
 * Last IP stays.) */
static inline struct ipt_ip ipt_last_ip_compress(struct ipt_last_ip *last,
                                                 enum ipt_ip_policy policy,
                                                 enum ipt_packet_type type, uint64_t ip)
{
    struct ipt_ip packet;

    packet.ip_bytes = ipt_ip_bytes_choose(last, policy, type, ip);
    packet.ip = ip & ipt_ip_mask(packet.ip_bytes);
    last->ip = ip;
    last->sent |= type != IPT_FUP;
    return packet;
}

/* The IP that PACKET stands for, in *IP, and LAST stepped. False, and nothing changed, where it is
 * suppressed. */
bool ipt_last_ip_update(struct ipt_last_ip *last, const struct ipt_ip *packet, uint64_t *ip);

#endif
