/* SPDX-License-Identifier: MIT */
/* What an SMI saves, between the registers and the bytes of a map. */
#ifndef PTSIM_SMM_IMAGE_H
#define PTSIM_SMM_IMAGE_H

#include "smm.h"

/* Behind those of enum arch_sreg. */
enum {
    SMM_LDTR = ARCH_SREGS,
    SMM_TR,
    SMM_SEGS
};

/* Bits of the member kept. */
enum smm_kept {
    SMM_KEPT_CPL = 3 << 0,
    SMM_KEPT_NMI = 1 << 2, /* NMIs were blocked */
    SMM_KEPT_TRACE_EN = 1 << 3,
    SMM_KEPT_LBR_EN = 1 << 4,
    SMM_KEPT_HALTED = 1 << 5, /* the SMI set the auto HALT restart flag */
};

struct smm_image {
    uint64_t cr0, cr3, cr4, rflags, efer, rip, dr6, dr7;
    uint64_t gpr[ARCH_GPRS];
    struct {
        uint64_t selector, base, limit, ar;
    } seg[SMM_SEGS];
    struct {
        uint64_t base, limit;
    } gdtr, idtr;
    uint64_t pdpte[4];
    uint64_t io_state, io_address, io_rip;
    uint64_t halt_restart, io_restart;
    uint64_t revision, smbase;
    uint64_t kept;
    uint64_t none; /* 0 */
};

void smm_image_take(struct smm_image *image, const struct arch_state *state);
void smm_image_give(const struct smm_image *image, struct arch_state *state);
/* To and from the map at BASE, the physical address SMBASE + 8000H. */
void smm_image_save(const struct smm_image *image, bool map64, const struct mem_port *mem,
                    uint64_t base);
void smm_image_load(struct smm_image *image, bool map64, const struct mem_port *mem, uint64_t base);

#endif
