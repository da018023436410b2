/* SPDX-License-Identifier: MIT */
/* XSAVES and XRSTORS of state component 8, Intel PT (SDM 33.3.5.2; vol. 1, 13.5.6). */
#ifndef PTSIM_CORE_XSTATE_H
#define PTSIM_CORE_XSTATE_H

#include "lp.h"

#define XSTATE_PT       (UINT64_C(1) << 8)
#define XSTATE_PT_WORDS 9 /* of 64 bits: table 33-13 */

/* Whether one of the MSRs is not 0, which is the component's initial configuration. */
bool lp_pt_in_use(const struct lp *lp);

/* XSAVES: WORDS are the MSRs, and TraceEn, as it was, is cleared: the output pointers are those
 * with the packets that come of it. EVENT as for lp_wrmsr(). */
void lp_xsaves_pt(struct lp *lp, uint64_t words[XSTATE_PT_WORDS], const struct ptsim_event *event);

/* XRSTORS: the MSRs are WORDS, IA32_RTIT_CTL last. #GP(0), and nothing has changed, while TraceEn
 * is set (33.2.8.1), or where a WRMSR of one of the values would be. */
struct arch_fault lp_xrstors_pt(struct lp *lp, const uint64_t words[XSTATE_PT_WORDS],
                                const struct ptsim_event *event);

#endif
