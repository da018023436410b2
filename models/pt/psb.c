/* SPDX-License-Identifier: MIT */
#include "psb.h"

#include "emit.h"
#include "rtit_msr.h"

/* What stands between PSB and PSBEND. */
enum item {
    TSC_TMA = 1,
    PIP,
    CBR,
    MODE_TSX,
    MODE_EXEC,
    FUP
};

#define ITEMS_MAX 6

static const uint8_t orders[][ITEMS_MAX] = {
    [IPT_PSB_ORDER_MANUAL] = { TSC_TMA, PIP, CBR, MODE_TSX, MODE_EXEC, FUP },
    [IPT_PSB_ORDER_TIME_FIRST] = { TSC_TMA, MODE_TSX, MODE_EXEC, FUP, PIP, CBR },
    [IPT_PSB_ORDER_SKYLAKE] = { MODE_TSX, MODE_EXEC, FUP, PIP, TSC_TMA, CBR },
    [IPT_PSB_ORDER_BROADWELL] = { CBR, TSC_TMA, PIP, MODE_TSX, MODE_EXEC, FUP },
};

/* Bytes from one PSB to the next: 2 KBytes and up. */
static uint64_t period(const struct ipt *ipt)
{
    return BIT(11 + MSR_GET(ipt->ctl, IA32_RTIT_CTL, PSBFreq));
}

static unsigned packet_byte_cnt_shift(const struct ipt *ipt)
{
    unsigned freq = (unsigned)MSR_GET(ipt->ctl, IA32_RTIT_CTL, PSBFreq);

    return freq > 5 ? freq - 5 : 0;
}

bool ipt_psb_start(struct ipt *ipt)
{
    uint64_t count = 0;

    if (ipt->profile->pt_psb_cyc)
        count = MSR_GET(ipt->status, IA32_RTIT_STATUS, PacketByteCnt) << packet_byte_cnt_shift(ipt);
    ipt->psb.last = ipt_output_total(ipt) - count;
    ipt->psb.due = ipt_output_total(ipt) + (count < period(ipt) ? period(ipt) - count : 0);
    return count == 0;
}

uint64_t ipt_psb_packet_byte_cnt(const struct ipt *ipt)
{
    unsigned shift = packet_byte_cnt_shift(ipt);
    uint64_t count = ipt_output_total(ipt) - ipt->psb.last;

    return ipt->profile->pt_psb_cyc ? (count + BIT(shift) - 1) >> shift : 0;
}

static void send_item(struct ipt *ipt, enum item item, bool packet_en, uint64_t ip)
{
    switch (item) {
    case TSC_TMA:
        ipt_timing_tsc(ipt);
        break;
    case PIP:
        ipt_emit_pip(ipt);
        break;
    case CBR:
        ipt_timing_cbr(ipt);
        break;
    case MODE_TSX:
        if (ipt->enables.context && ipt->enables.branch && ipt->profile->pt_mode_tsx)
            ipt_emit(ipt, (struct ipt_packet){ .type = IPT_MODE_TSX });
        break;
    case MODE_EXEC:
        if (packet_en)
            ipt_emit_mode_exec(ipt);
        break;
    case FUP:
        if (packet_en)
            ipt_emit_ip(ipt, IPT_FUP, ip);
        break;
    }
}

void ipt_psb_send(struct ipt *ipt, bool packet_en, uint64_t ip)
{
    ipt_emit_prepare(ipt, false);
    ipt->psb.last = ipt_output_total(ipt);
    ipt->psb.due = ipt->psb.last + period(ipt);
    ipt_last_ip_reset(&ipt->last_ip);
    ipt->last_ip_unknown = false;
    ipt_ret_stack_clear(&ipt->ret_stack);
    ipt->mode.sent = false;

    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_PSB });
    for (unsigned i = 0; i < ITEMS_MAX; i++)
        send_item(ipt, orders[ipt->profile->pt_psb_order][i], packet_en, ip);
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_PSBEND });
}
