/* SPDX-License-Identifier: MIT */
/* System management mode (SDM chapter 32): into it by an SMI, out of it by RSM.
 *
 * The state goes to SMRAM in the layout of save_map.def. What tracing has to do with it is passed
 * in and handed back: struct smm_tracing. */
#ifndef PTSIM_SMM_SMM_H
#define PTSIM_SMM_SMM_H

#include "../arch/segment.h"
#include "../profile.h"

/* An I/O instruction that has retired, or an iteration of a repeated one that has ended. */
struct smm_io {
    bool valid; /* there is one, and it is what came last before this instruction boundary */
    bool in;
    bool string;
    bool repeated;
    bool immediate; /* the port stands in the instruction, else in DX */
    uint8_t size;   /* in bytes: 1, 2 or 4 */
    uint16_t port;
    uint64_t rip;     /* of the instruction, an offset in CS */
    uint64_t address; /* linear, of the memory operand of INS and OUTS */
};

/* What a logical processor has of SMM beside struct arch_state. */
struct smm {
    bool in_smm;
    bool pending; /* an SMI is latched: one at most, in SMM too (32.3.1) */
    uint32_t smbase;
    struct smm_io io;
};

struct smm_cpu {
    struct smm *smm;
    struct arch_cpu arch;
    const struct cpu_profile *profile;
};

/* What an SMI clears after it was saved, and RSM restores (33.2.9.3, 21.1.4.1). */
struct smm_tracing {
    bool trace_en; /* IA32_RTIT_CTL.TraceEn */
    bool lbr_en;   /* IA32_LBR_CTL.LBREn */
};

/* After RESET: SMBASE is 30000H (32.11). An INIT changes nothing here. */
void smm_reset(struct smm *smm);

/* Whether the pending SMI is taken at this instruction boundary (32.2): not in SMM, not after STI,
 * MOV SS and POP SS where the profile says so, not in shutdown nor in wait-for-SIPI. */
bool smm_takes_smi(const struct smm_cpu *cpu);
/* Whether it would be but for STI, MOV SS or POP SS. */
bool smm_awaits_shadow(const struct smm_cpu *cpu);

/* The SMI is taken: the state is saved and that of table 32-4 entered. General registers and DR6,
 * which it leaves undefined, stay; so do GDTR, IDTR, LDTR and TR, of which it says nothing.
 * IA32_EFER becomes 0: without paging there is no IA-32e mode. */
void smm_enter(const struct smm_cpu *cpu, const struct smm_tracing *was);

enum smm_outcome {
    SMM_RESUMED,
    SMM_SHUTDOWN, /* saved state that RSM refuses: shutdown, still in SMM */
};

/* RSM, in SMM. NOW is what tracing has at the moment: TraceEn set is a shutdown (2016 text of
 * 33.2.9.3); *RESTORED, for SMM_RESUMED, what it gets back. */
enum smm_outcome smm_resume(const struct smm_cpu *cpu, const struct smm_tracing *now,
                            struct smm_tracing *restored);

/* Which map PROFILE uses: that of Intel 64 where CPUID says that it is there, and for the
 * processors of table 32-2. */
bool smm_map_is_64(const struct cpu_profile *profile);

/* The rows of a map as data, for whoever shows SMRAM: the row at INDEX, false at the end. */
enum smm_access {
    SMM_NO,
    SMM_YES,
    SMM_KEPT
};
struct smm_field {
    uint16_t offset; /* from SMBASE + 8000H */
    uint8_t size;
    uint8_t shift;
    enum smm_access access;
    const char *name;
};
bool smm_field_at(bool map64, unsigned index, struct smm_field *field);

#endif
