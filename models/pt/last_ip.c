/* SPDX-License-Identifier: MIT */
#include "last_ip.h"

bool ipt_last_ip_update(struct ipt_last_ip *last, const struct ipt_ip *packet, uint64_t *ip)
{
    uint64_t mask = ipt_ip_mask(packet->ip_bytes);
    uint64_t payload = packet->ip & mask;

    if (packet->ip_bytes == IPT_IP_SUPPRESSED)
        return false;
    if (packet->ip_bytes == IPT_IP_SEXT_48)
        last->ip = sign_extend(payload, 48);
    else
        last->ip = (last->ip & ~mask) | payload;
    *ip = last->ip;
    return true;
}
