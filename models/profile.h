/* SPDX-License-Identifier: MIT */
/* CPU profiles: what CPUID says, and what the core chooses where the manual leaves it open.
 *
 * The fields are in profile.def, one row each with its default (that of profile `max`, which
 * has everything the manual describes), its meaning and its source; the profiles are in
 * profiles.def, each as what it changes. */
#ifndef PTSIM_PROFILE_H
#define PTSIM_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* How a processor chooses IPBytes, which the manual leaves open (33.4.2.2). */
enum ipt_ip_policy {
    /* What recordings of real processors show: FUP, and the first of TIP, TIP.PGE and TIP.PGD
     * after a PSB, in 6 bytes sign-extended (011b); the others in the smallest of 001b, 010b and
     * 011b that gives the IP. 110b where none does. */
    IPT_IP_POLICY_SILICON,
    /* The same, but FUP and TIP.PGE in 8 bytes (110b): a recording of an Ice Lake core. */
    IPT_IP_POLICY_ICELAKE,
    /* The smallest encoding of all for every packet, 100b among them; of 011b and 100b the first.
     */
    IPT_IP_POLICY_SMALLEST,
    /* No compression: 011b, or 110b where sign extension does not give the IP. */
    IPT_IP_POLICY_SEXT,
    /* Always 110b. */
    IPT_IP_POLICY_FULL,
};

/* The order of the packets between PSB and PSBEND, which "is not fixed" (33.3.7). The lists are in
 * pt/psb.c. */
enum ipt_psb_order {
    IPT_PSB_ORDER_MANUAL,     /* as 33.3.7 lists them */
    IPT_PSB_ORDER_TIME_FIRST, /* TSC and TMA first, CBR last */
    IPT_PSB_ORDER_SKYLAKE,    /* the modes and the IP first */
    IPT_PSB_ORDER_BROADWELL,  /* CBR, the modes, the IP */
};

struct cpu_profile {
    const char *name;
    const char *title;
#define FIELD(type, name, value, meaning) type name;
#include "profile.def"
#undef FIELD
};

/* The profile of that name, or NULL. */
const struct cpu_profile *cpu_profile_find(const char *name);
/* The profile at INDEX in the table's order, or NULL at its end. */
const struct cpu_profile *cpu_profile_at(unsigned index);

#endif
