/* SPDX-License-Identifier: MIT */
#include "ptwrite.h"

#include "emit.h"
#include "rtit_msr.h"

void ipt_ptwrite(struct ipt *ipt, const struct ptsim_event *event, uint64_t ip)
{
    bool fup = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, FUPonPTW);

    if (!(ipt->ctl & MSR_MASK(IA32_RTIT_CTL, PTWEn)) || !ipt->enables.context ||
        !ipt->enables.filter)
        return;
    ipt_emit(ipt, (struct ipt_packet){
                      .type = IPT_PTW,
                      .ptw = { .bytes = event->size, .ip = fup, .payload = event->value } });
    if (fup)
        ipt_emit_ip(ipt, IPT_FUP, ip);
}
