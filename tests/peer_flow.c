/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer_flow.h"

#include <inttypes.h>
#include <stdio.h>

#include "../models/bits.h"

struct walk {
    const struct peer_flow *flow;
    struct pt_insn_decoder *decoder;
    size_t seen; /* instructions */
    bool lost;   /* an overflow was met: the next may be a later one */
    char *error;
    size_t error_size;
};

static bool fail(const struct walk *walk, const char *what, uint64_t ip, const char *why)
{
    uint64_t offset = 0;

    pt_insn_get_offset(walk->decoder, &offset);
    snprintf(walk->error, walk->error_size,
             "instruction %zu of %zu, trace offset 0x%" PRIx64 ": %s 0x%" PRIx64 "%s%s", walk->seen,
             walk->flow->truth_size, offset, what, ip, *why ? ": " : "", why);
    return false;
}

/* What comes between instructions. STATUS is the decoder's last one, and is made its next. */
static bool take_events(struct walk *walk, int *status)
{
    while (*status & pts_event_pending) {
        struct pt_event event;

        *status = pt_insn_event(walk->decoder, &event, sizeof(event));
        if (*status < 0)
            return fail(walk, "event", 0, pt_errstr(pt_errcode(*status)));
        if (event.type == ptev_overflow)
            walk->lost = true;
    }
    return true;
}

static bool take_instruction(struct walk *walk, int *status)
{
    const struct peer_flow *flow = walk->flow;
    struct pt_insn insn;

    *status = pt_insn_next(walk->decoder, &insn, sizeof(insn));
    if (*status == -pte_eos)
        return true;
    if (*status < 0)
        return fail(walk, "at", insn.ip, pt_errstr(pt_errcode(*status)));
    while (walk->lost && walk->seen < flow->truth_size && insn.ip != flow->truth[walk->seen])
        walk->seen++;
    walk->lost = false;
    if (walk->seen == flow->truth_size)
        return fail(walk, "libipt goes on at", insn.ip, "");
    if (insn.ip != flow->truth[walk->seen]) {
        char why[64];

        snprintf(why, sizeof(why), "executed was 0x%" PRIx64, flow->truth[walk->seen]);
        return fail(walk, "libipt is at", insn.ip, why);
    }
    walk->seen++;
    return true;
}

static bool follow(struct walk *walk)
{
    int status = pt_insn_sync_forward(walk->decoder);

    if (status == -pte_eos && walk->flow->truth_size == 0)
        return true;
    if (status < 0)
        return fail(walk, "no start:", 0, pt_errstr(pt_errcode(status)));
    while (!(status & pts_eos)) {
        if (!take_events(walk, &status))
            return false;
        if (status & pts_eos)
            break;
        if (!take_instruction(walk, &status))
            return false;
        if (status < 0)
            break;
    }
    if (walk->seen < walk->flow->truth_size)
        return fail(walk, "the trace ends before", walk->flow->truth[walk->seen], "");
    return true;
}

static void set_ranges(struct pt_config *config, const struct peer_flow *flow)
{
    struct pt_conf_addr_filter *filter = &config->addr_filter;
    uint64_t *const to[4][2] = { { &filter->addr0_a, &filter->addr0_b },
                                 { &filter->addr1_a, &filter->addr1_b },
                                 { &filter->addr2_a, &filter->addr2_b },
                                 { &filter->addr3_a, &filter->addr3_b } };

    filter->config.addr_cfg = bits_get(flow->rtit_ctl, 47, 32);
    for (unsigned n = 0; n < 4; n++)
        for (unsigned end = 0; end < 2; end++)
            *to[n][end] = flow->ranges[n][end];
}

bool peer_flow_check(const struct peer_flow *flow, char *error, size_t error_size)
{
    struct walk walk = { .flow = flow, .error = error, .error_size = error_size };
    struct pt_config config;
    bool ok;

    pt_config_init(&config);
    /* libipt does not write to the trace */
    config.begin = (uint8_t *)(uintptr_t)flow->trace;
    config.end = config.begin + flow->trace_size;
    config.mtc_freq = (uint8_t)bits_get(flow->rtit_ctl, 17, 14);
    config.nom_freq = flow->profile->max_non_turbo_ratio;
    config.cpuid_0x15_eax = flow->profile->tsc_ratio_den;
    config.cpuid_0x15_ebx = flow->profile->tsc_ratio_num;
    if (flow->ranges)
        set_ranges(&config, flow);
    walk.decoder = pt_insn_alloc_decoder(&config);
    if (!walk.decoder) {
        snprintf(error, error_size, "libipt does not start");
        return false;
    }
    ok = pt_insn_set_image(walk.decoder, flow->image) >= 0 && follow(&walk);
    pt_insn_free_decoder(walk.decoder);
    return ok;
}
