/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoded translation blocks. sim/block.c is the only file that includes Zydis. */
#ifndef PTSIM_SIM_BLOCK_H
#define PTSIM_SIM_BLOCK_H
/* (owner: machine) */
#endif
