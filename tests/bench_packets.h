/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PTSIM_TESTS_BENCH_PACKETS_H
#define PTSIM_TESTS_BENCH_PACKETS_H

#include <stddef.h>
#include <stdint.h>

/* Prints what a packet takes our encoder and decoder, beside libipt's pt_enc_next() and
 * pt_pkt_next(): those of TRACE, SIZE bytes of a raw trace file, then a random mix. */
void bench_packets(const uint8_t *trace, size_t size);

#endif
