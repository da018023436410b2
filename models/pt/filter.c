/* SPDX-License-Identifier: MIT */
#include "filter.h"

#include "rtit_msr.h"

struct ipt_filter ipt_filter_of_ctl(uint64_t ctl)
{
    static const uint8_t addr_cfg_lo[IPT_RANGES_MAX] = {
        IA32_RTIT_CTL_ADDR0_CFG_LO,
        IA32_RTIT_CTL_ADDR1_CFG_LO,
        IA32_RTIT_CTL_ADDR2_CFG_LO,
        IA32_RTIT_CTL_ADDR3_CFG_LO,
    };
    struct ipt_filter filter = { 0, 0 };

    for (unsigned n = 0; n < IPT_RANGES_MAX; n++) {
        uint64_t cfg = bits_get(ctl, addr_cfg_lo[n] + 3u, addr_cfg_lo[n]);

        filter.filter |= (uint8_t)((cfg == 1) << n);
        filter.stop |= (uint8_t)((cfg == 2) << n);
    }
    return filter;
}

bool ipt_filter_hit(const uint64_t addr[IPT_RANGES_MAX][2], uint8_t ranges, uint64_t ip)
{
    for (unsigned n = 0; n < IPT_RANGES_MAX; n++)
        if ((ranges >> n & 1) && addr[n][0] <= ip && ip <= addr[n][1])
            return true;
    return false;
}
