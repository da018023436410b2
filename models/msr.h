/* SPDX-License-Identifier: MIT */
/* Model-specific registers as rows of a table, and names for the bits in them.
 *
 * A model keeps its own MSRs in a .def file (pt/rtit_msrs.def); core/msrs.def gathers them all for
 * the MSR bus. Two kinds of row:
 *
 *   MSR(index, name, at, exists, reset, section)
 *     at       where the value is, as one of the accessors that core/msr.c defines
 *     exists   whether the processor has it: an expression on the profile P. Where it has not,
 *              RDMSR and WRMSR are #GP(0)
 *     reset    the value after a cold reset: an expression on P
 *
 *   FIELD(msr, name, hi, lo, access, exists, allows, meaning)
 *     One for each field of the MSR row before it. Bits of no field, and of fields that do not
 *     exist, are reserved: a write that sets one is #GP(0).
 *     access   RW; RO: a write of it is ignored; ONES: reads as all ones, writes are ignored
 *     exists   as for MSR
 *     allows   what an RW field may be written with, else #GP(0): ANY; ENCODING(set), where bit N
 *              of SET allows the value N; PHYSICAL, an address below 2^MAXPHYADDR; CANONICAL
 *     meaning  a few words for a listing */
#ifndef PTSIM_MSR_H
#define PTSIM_MSR_H

#include "bits.h"

/* The bits of a field in its register, and its value in VALUE, right-justified. MSR and FIELD are
 * the names in the table; the header that includes the .def file must be there. */
#define MSR_MASK(msr, field)           BITS(msr##_##field##_HI, msr##_##field##_LO)
#define MSR_GET(value, msr, field)     bits_get(value, msr##_##field##_HI, msr##_##field##_LO)
#define MSR_PUT(value, msr, field, to) bits_put(value, msr##_##field##_HI, msr##_##field##_LO, to)

#endif
