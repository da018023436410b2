/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The independent judge: libipt's instruction-flow decoder follows a trace through the code and
 * must come by exactly the instructions that were executed. */
#ifndef PTSIM_TESTS_PEER_FLOW_H
#define PTSIM_TESTS_PEER_FLOW_H

#include <intel-pt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../models/profile.h"

struct peer_flow {
    const struct cpu_profile *profile;
    uint64_t rtit_ctl;           /* with which the trace was made */
    const uint64_t (*ranges)[2]; /* IA32_RTIT_ADDRn_A and _B, NULL where none is in use */
    const uint8_t *trace;
    size_t trace_size;
    struct pt_image *image; /* the code; stays the caller's */
    const uint64_t *truth;  /* the instructions that were traced */
    size_t truth_size;
};

/* False where libipt sees anything else than TRUTH, to its end; ERROR then holds a line. */
bool peer_flow_check(const struct peer_flow *flow, char *error, size_t error_size);

#endif
