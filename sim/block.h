/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoded translation blocks, and the operands of the instructions that the simulator executes
 * itself. sim/block.c is the only file that includes Zydis.
 *
 * A block is what Unicorn runs between two block hooks: instructions one after the other, the
 * last of which may be a near branch or a repeated string instruction. It is decoded once; what
 * tracing needs of it at run time is then a few fields. */
#ifndef PTSIM_SIM_BLOCK_H
#define PTSIM_SIM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../models/arch/state.h"
#include "../models/profile.h"
#include "../models/status.h"

/* Unicorn never puts more instructions into a block. */
#define BLOCK_INSNS_MAX 512
/* The longest instruction, in bytes. */
#define INSN_SIZE_MAX   15

/* How a block ends: what its last instruction is. */
enum block_end {
    BLOCK_SEQUENTIAL, /* no branch: execution goes on at next_ip */
    BLOCK_COND,
    BLOCK_COND_NEXT, /* a conditional branch to the next instruction: addresses cannot tell */
    BLOCK_JMP_DIRECT,
    BLOCK_CALL_DIRECT,
    BLOCK_JMP_INDIRECT,
    BLOCK_CALL_INDIRECT,
    BLOCK_RET,
    BLOCK_REP, /* a repeated string instruction: it may go back to itself (last_ip) */
};

/* Conditions of conditional branches: those of Jcc in encoding order (SDM vol. 1, table B-1),
 * then those that look at the count register. */
enum block_cond {
    COND_O,
    COND_NO,
    COND_B,
    COND_NB,
    COND_Z,
    COND_NZ,
    COND_BE,
    COND_NBE,
    COND_S,
    COND_NS,
    COND_P,
    COND_NP,
    COND_L,
    COND_NL,
    COND_LE,
    COND_NLE,
    COND_LOOPNE,
    COND_LOOPE,
    COND_LOOP,
    COND_CXZ,
};

/* No linear address: it is not canonical. */
#define BLOCK_NOWHERE UINT64_C(0x8000000000000000)

/* What the block hook looks at lies in one cache line. */
#define BLOCK_ALIGN 64

struct block {
    _Alignas(BLOCK_ALIGN) uint64_t linear; /* of its first instruction */
    uint64_t target;   /* COND, COND_NEXT, JMP_DIRECT, CALL_DIRECT: linear address of the target */
    uint64_t cond_sum; /* COND: SUM; else more cycles than any limit allows */
    uint64_t sum;      /* its instructions << 32 | their core clocks */
    uint64_t last_ip;  /* linear address of its last instruction */
    uint64_t next_ip;  /* linear address behind it */
    uint32_t size;     /* in bytes, as Unicorn says; next_ip may lie before its end */
    uint16_t insns;    /* how many; 0 where the first one is special */
    uint8_t end;       /* enum block_end */
    bool special;      /* the instruction at next_ip is not the engine's to run: insn_decode()
                          says what it is */

    struct block *chain; /* the cache's */

    uint8_t cond;       /* COND, COND_NEXT: enum block_cond */
    uint8_t count_bits; /* the same: address size, the width of the count register they look at */
    const struct block_insn *insn; /* insns of them */
};

/* Above it no sum of cycles may get. */
#define BLOCK_CYCLES_MAX (UINT32_C(1) << 30)

struct block_insn {
    uint8_t length;  /* in bytes */
    uint16_t cycles; /* 1 or more */
};

/* Where code lies, for the decoder. */
struct code {
    const uint8_t *bytes;
    size_t available; /* how many can be read, at least the size asked for */
    uint64_t linear;  /* of bytes[0] */
    uint64_t cs_base; /* hidden base of CS; 0 in 64-bit mode */
    uint8_t bits;     /* 16, 32, 64: arch_code_bits() */
};

/* Decodes the SIZE bytes of CODE into BLOCK, whose instructions then are in LIST, which has room
 * for BLOCK_INSNS_MAX. The block ends before the first instruction that is special or has no
 * meaning.
 * PTSIM_INVALID: Unicorn would not have made these bytes one block, so it decodes them otherwise:
 * a branch in the middle, an instruction that SIZE cuts in two, too many instructions. */
enum ptsim_status block_decode(const struct code *code, uint32_t size,
                               const struct cpu_profile *profile, struct block_insn *list,
                               struct block *block);

/* Whether the COND or COND_NEXT block's branch is taken, given RFLAGS and RCX as they are after it.
 */
bool block_taken(const struct block *block, uint64_t rflags, uint64_t rcx);

/* The instructions the simulator executes itself. */
enum special {
    SPECIAL_NONE, /* the engine runs it */
#define SPECIAL(id, mnemonic, form, cost, handler, reference)         SPECIAL_##id,
#define ABSENT(id, mnemonic, leaf, subleaf, register, bit, reference) SPECIAL_##id,
#include "specials.def"
#undef ABSENT
#undef SPECIAL
    SPECIAL_UNDEFINED, /* no instruction: #UD */
    SPECIAL_TOO_LONG,  /* more than 15 bytes: #GP(0) */
    SPECIALS
};

enum insn_operand_kind {
    INSN_NONE,
    INSN_GPR,  /* reg: enum arch_gpr */
    INSN_SREG, /* reg: enum arch_sreg */
    INSN_CR,   /* reg: its number */
    INSN_DR,   /* reg: its number */
    INSN_IMM,  /* value, sign-extended where the instruction does */
    INSN_PTR,  /* far pointer: selector, value */
    INSN_MEM,  /* sreg:[base + index * scale + value] */
};

/* INSN_MEM: no register, or the IP of the next instruction as base */
#define INSN_NO_GPR 0xff
#define INSN_IP     0xfe

struct insn_operand {
    uint8_t kind; /* enum insn_operand_kind */
    uint8_t size; /* in bytes */
    uint8_t reg;
    uint8_t sreg; /* INSN_MEM: enum arch_sreg */
    uint8_t base;
    uint8_t index;
    uint8_t scale; /* 1, 2, 4, 8 */
    uint16_t selector;
    uint64_t value;
};

/* One instruction. */
struct insn {
    enum special special;
    uint8_t length;
    uint8_t opsize;      /* effective operand size in bytes: 2, 4, 8 */
    uint8_t addrsize;    /* effective address size in bytes: 2, 4, 8 */
    uint8_t cost;        /* enum cost_class */
    bool rep;            /* has a REP, REPE or REPNE prefix that repeats it */
    uint8_t string_sreg; /* the segment that OUTS reads: DS or what a prefix names */
    uint8_t operands;    /* visible ones */
    struct insn_operand operand[3];
};

/* Decodes the instruction at CODE.
 * PTSIM_TRUNCATED: the available bytes end within it. What is no instruction is
 * SPECIAL_UNDEFINED of length 0. */
enum ptsim_status insn_decode(const struct code *code, struct insn *insn);

/* The name of the instruction as the manual writes it, for messages. */
const char *special_name(enum special special);

/* The offset in its segment that the INSN_MEM operand names, in STATE with the instruction at
 * state->rip. */
uint64_t insn_offset(const struct insn *insn, const struct insn_operand *operand,
                     const struct arch_state *state);

#endif
