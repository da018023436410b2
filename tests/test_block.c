/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block decoder, on literal bytes: every change-of-flow instruction in each mode and form. */
#include "../sim/block.h"

#include "../models/cost.h"
#include "suite.h"

#define AT UINT64_C(0x8400)

struct row {
    const char *name;
    uint8_t bits;
    uint8_t size;
    uint8_t bytes[INSN_SIZE_MAX];
    enum block_end end;
    int64_t target; /* relative to the next instruction; 0 where there is none */
    int cond;       /* COND: enum block_cond */
    uint8_t count_bits;
};

#define B(...)                                                                                     \
    sizeof((uint8_t[]){ __VA_ARGS__ }),                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct row branches[] = {
    { "jo", 64, B(0x70, 0x10), BLOCK_COND, 0x10, COND_O, 64 },
    { "jno", 64, B(0x71, 0x10), BLOCK_COND, 0x10, COND_NO, 64 },
    { "jb", 64, B(0x72, 0x10), BLOCK_COND, 0x10, COND_B, 64 },
    { "jnb", 64, B(0x73, 0x10), BLOCK_COND, 0x10, COND_NB, 64 },
    { "jz", 64, B(0x74, 0xf0), BLOCK_COND, -0x10, COND_Z, 64 },
    { "jnz", 64, B(0x75, 0xf0), BLOCK_COND, -0x10, COND_NZ, 64 },
    { "jbe", 64, B(0x76, 0xf0), BLOCK_COND, -0x10, COND_BE, 64 },
    { "ja", 64, B(0x77, 0xf0), BLOCK_COND, -0x10, COND_NBE, 64 },
    { "js", 64, B(0x78, 0x7f), BLOCK_COND, 0x7f, COND_S, 64 },
    { "jns", 64, B(0x79, 0x7f), BLOCK_COND, 0x7f, COND_NS, 64 },
    { "jp", 64, B(0x7a, 0x7f), BLOCK_COND, 0x7f, COND_P, 64 },
    { "jnp", 64, B(0x7b, 0x7f), BLOCK_COND, 0x7f, COND_NP, 64 },
    { "jl", 64, B(0x7c, 0x80), BLOCK_COND, -0x80, COND_L, 64 },
    { "jge", 64, B(0x7d, 0x80), BLOCK_COND, -0x80, COND_NL, 64 },
    { "jle", 64, B(0x7e, 0x80), BLOCK_COND, -0x80, COND_LE, 64 },
    { "jg", 64, B(0x7f, 0x80), BLOCK_COND, -0x80, COND_NLE, 64 },
    { "jo rel32", 64, B(0x0f, 0x80, 0, 1, 0, 0), BLOCK_COND, 0x100, COND_O, 64 },
    { "jnz rel32", 64, B(0x0f, 0x85, 0, 0xff, 0xff, 0xff), BLOCK_COND, -0x100, COND_NZ, 64 },
    { "jg rel32", 32, B(0x0f, 0x8f, 0, 1, 0, 0), BLOCK_COND, 0x100, COND_NLE, 32 },
    { "jg rel16", 16, B(0x0f, 0x8f, 0, 1), BLOCK_COND, 0x100, COND_NLE, 16 },
    { "jz, predicted", 64, B(0x3e, 0x74, 4), BLOCK_COND, 4, COND_Z, 64 },
    { "jz rel8", 16, B(0x74, 4), BLOCK_COND, 4, COND_Z, 16 },
    { "jz rel8", 32, B(0x74, 4), BLOCK_COND, 4, COND_Z, 32 },
    { "jz to the next", 64, B(0x74, 0), BLOCK_COND_NEXT, 0, COND_Z, 64 },
    { "jrcxz", 64, B(0xe3, 4), BLOCK_COND, 4, COND_CXZ, 64 },
    { "jecxz", 64, B(0x67, 0xe3, 4), BLOCK_COND, 4, COND_CXZ, 32 },
    { "jecxz", 32, B(0xe3, 4), BLOCK_COND, 4, COND_CXZ, 32 },
    { "jcxz", 32, B(0x67, 0xe3, 4), BLOCK_COND, 4, COND_CXZ, 16 },
    { "jcxz", 16, B(0xe3, 4), BLOCK_COND, 4, COND_CXZ, 16 },
    { "jecxz", 16, B(0x67, 0xe3, 4), BLOCK_COND, 4, COND_CXZ, 32 },
    { "loopne", 64, B(0xe0, 0xfe), BLOCK_COND, -2, COND_LOOPNE, 64 },
    { "loope", 64, B(0xe1, 0xfe), BLOCK_COND, -2, COND_LOOPE, 64 },
    { "loop", 64, B(0xe2, 0xfe), BLOCK_COND, -2, COND_LOOP, 64 },
    { "loop ecx", 64, B(0x67, 0xe2, 0xfd), BLOCK_COND, -3, COND_LOOP, 32 },
    { "loop", 32, B(0xe2, 0xfe), BLOCK_COND, -2, COND_LOOP, 32 },
    { "loop cx", 32, B(0x67, 0xe2, 0xfd), BLOCK_COND, -3, COND_LOOP, 16 },
    { "loop", 16, B(0xe2, 0xfe), BLOCK_COND, -2, COND_LOOP, 16 },
    { "jmp rel8", 64, B(0xeb, 0x20), BLOCK_JMP_DIRECT, 0x20, 0, 0 },
    { "jmp rel32", 64, B(0xe9, 0, 0, 1, 0), BLOCK_JMP_DIRECT, 0x10000, 0, 0 },
    { "jmp rel32", 32, B(0xe9, 0, 0, 1, 0), BLOCK_JMP_DIRECT, 0x10000, 0, 0 },
    { "jmp rel16", 16, B(0xe9, 0, 1), BLOCK_JMP_DIRECT, 0x100, 0, 0 },
    { "jmp rel32", 16, B(0x66, 0xe9, 0, 1, 0, 0), BLOCK_JMP_DIRECT, 0x100, 0, 0 },
    { "bnd jmp", 64, B(0xf2, 0xe9, 0, 1, 0, 0), BLOCK_JMP_DIRECT, 0x100, 0, 0 },
    { "call rel32", 64, B(0xe8, 0, 0xff, 0xff, 0xff), BLOCK_CALL_DIRECT, -0x100, 0, 0 },
    { "call rel32, rex.w 66", 64, B(0x66, 0x66, 0x48, 0xe8, 0, 1, 0, 0), BLOCK_CALL_DIRECT, 0x100,
      0, 0 },
    { "call rel32", 32, B(0xe8, 0, 1, 0, 0), BLOCK_CALL_DIRECT, 0x100, 0, 0 },
    { "call rel16", 16, B(0xe8, 0, 1), BLOCK_CALL_DIRECT, 0x100, 0, 0 },
    { "call to the next", 64, B(0xe8, 0, 0, 0, 0), BLOCK_CALL_DIRECT, 0, 0, 0 },
    { "jmp rax", 64, B(0xff, 0xe0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "jmp r8", 64, B(0x41, 0xff, 0xe0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "notrack jmp rax", 64, B(0x3e, 0xff, 0xe0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "jmp [rip]", 64, B(0xff, 0x25, 0, 0, 0, 0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "jmp [rax*8+x]", 64, B(0xff, 0x24, 0xc5, 0, 0, 1, 0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "jmp eax", 32, B(0xff, 0xe0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "jmp ax", 16, B(0xff, 0xe0), BLOCK_JMP_INDIRECT, 0, 0, 0 },
    { "call rax", 64, B(0xff, 0xd0), BLOCK_CALL_INDIRECT, 0, 0, 0 },
    { "call [rax]", 64, B(0xff, 0x10), BLOCK_CALL_INDIRECT, 0, 0, 0 },
    { "call [bx]", 16, B(0xff, 0x17), BLOCK_CALL_INDIRECT, 0, 0, 0 },
    { "call [ebx]", 32, B(0xff, 0x13), BLOCK_CALL_INDIRECT, 0, 0, 0 },
    { "ret", 64, B(0xc3), BLOCK_RET, 0, 0, 0 },
    { "repz ret", 64, B(0xf3, 0xc3), BLOCK_RET, 0, 0, 0 },
    { "ret imm16", 64, B(0xc2, 8, 0), BLOCK_RET, 0, 0, 0 },
    { "ret", 32, B(0xc3), BLOCK_RET, 0, 0, 0 },
    { "ret imm16", 16, B(0xc2, 8, 0), BLOCK_RET, 0, 0, 0 },
    { "rep movsb", 64, B(0xf3, 0xa4), BLOCK_REP, 0, 0, 0 },
    { "rep stosq", 64, B(0xf3, 0x48, 0xab), BLOCK_REP, 0, 0, 0 },
    { "repne scasb", 32, B(0xf2, 0xae), BLOCK_REP, 0, 0, 0 },
    { "repe cmpsw", 16, B(0xf3, 0xa7), BLOCK_REP, 0, 0, 0 },
    { "movsb", 64, B(0xa4), BLOCK_SEQUENTIAL, 0, 0, 0 },
    { "nop", 64, B(0x90), BLOCK_SEQUENTIAL, 0, 0, 0 },
    { "endbr64", 64, B(0xf3, 0x0f, 0x1e, 0xfa), BLOCK_SEQUENTIAL, 0, 0, 0 },
    { "mov eax, ds", 64, B(0x8c, 0xd8), BLOCK_SEQUENTIAL, 0, 0, 0 },
    { "pop rax", 64, B(0x58), BLOCK_SEQUENTIAL, 0, 0, 0 },
    { "pop qword [rax]", 64, B(0x8f, 0x00), BLOCK_SEQUENTIAL, 0, 0, 0 },
    { "ud2", 64, B(0x0f, 0x0b), BLOCK_SEQUENTIAL, 0, 0, 0 },
};

static struct block_insn list[BLOCK_INSNS_MAX];

static enum ptsim_status decode(uint8_t bits, const uint8_t *bytes, uint32_t size,
                                struct block *block)
{
    struct code code = { .bytes = bytes, .available = size, .linear = AT, .bits = bits };

    return block_decode(&code, size, cpu_profile_find("max"), list, block);
}

START_TEST(test_branch)
{
    const struct row *row = &branches[_i];
    struct block block;

    ck_assert_msg(decode(row->bits, row->bytes, row->size, &block) == PTSIM_OK, "%s", row->name);
    ck_assert_msg(block.end == row->end, "%s: ends with %d", row->name, block.end);
    ck_assert(!block.special);
    ck_assert_uint_eq(block.insns, 1);
    ck_assert_uint_eq(block.insn[0].length, row->size);
    ck_assert_uint_eq(block.last_ip, AT);
    ck_assert_uint_eq(block.next_ip, AT + row->size);
    if (row->end == BLOCK_COND || row->end == BLOCK_COND_NEXT) {
        ck_assert_msg(block.cond == row->cond, "%s: condition %d", row->name, block.cond);
        ck_assert_msg(block.count_bits == row->count_bits, "%s: count of %d bits", row->name,
                      block.count_bits);
    }
    if (row->end <= BLOCK_CALL_DIRECT && row->end != BLOCK_SEQUENTIAL)
        ck_assert_uint_eq(block.target, AT + row->size + (uint64_t)row->target);
}
END_TEST

/* Branches that wrap: the IP at the operand size, the linear address at 32 bits. */
static const struct {
    uint8_t bits;
    uint8_t size;
    uint8_t bytes[8];
    uint64_t cs_base, linear, target;
} wraps[] = {
    { 16, B(0xe9, 0x10, 0), 0x10000, 0x1fff8, 0x1000b },
    { 16, B(0xeb, 0xf0), 0x10000, 0x10000, 0x1fff2 },
    { 16, B(0x66, 0xe9, 0x10, 0, 0, 0), 0x10000, 0x1fff8, 0x2000e },
    { 32, B(0xe9, 0x10, 0, 0, 0), 0, 0xfffffff8, 0xd },
    { 32, B(0x66, 0xe9, 0x10, 0), 0, 0x12345678, 0x568c },
    { 32, B(0x66, 0x74, 0x10), 0x1000, 0x12346678, 0x668b },
    { 32, B(0xeb, 0xf0), 0xffff0000, 0xffff0008, 0xfffefffa },
    { 64, B(0xeb, 0xf0), 0, 0xffff800000000000, 0xffff7ffffffffff2 },
};

START_TEST(test_wrap)
{
    struct block block;
    struct code code = { .bytes = wraps[_i].bytes,
                         .available = wraps[_i].size,
                         .linear = wraps[_i].linear,
                         .cs_base = wraps[_i].cs_base,
                         .bits = wraps[_i].bits };

    ck_assert_int_eq(block_decode(&code, wraps[_i].size, cpu_profile_find("max"), list, &block),
                     PTSIM_OK);
    ck_assert_uint_eq(block.target, wraps[_i].target);
}
END_TEST

static const struct {
    uint8_t bits;
    uint8_t size;
    uint8_t bytes[INSN_SIZE_MAX + 1];
    enum special special;
    uint8_t opsize;
} specials[] = {
    { 16, B(0xea, 0, 0x10, 0, 0x20), SPECIAL_JMP_FAR, 2 },
    { 32, B(0xea, 0, 0x10, 0, 0, 8, 0), SPECIAL_JMP_FAR, 4 },
    { 64, B(0xff, 0x28), SPECIAL_JMP_FAR, 4 },
    { 64, B(0x48, 0xff, 0x28), SPECIAL_JMP_FAR, 8 },
    { 64, B(0x66, 0xff, 0x28), SPECIAL_JMP_FAR, 2 },
    { 16, B(0x9a, 0, 0x10, 0, 0x20), SPECIAL_CALL_FAR, 2 },
    { 32, B(0x9a, 0, 0x10, 0, 0, 8, 0), SPECIAL_CALL_FAR, 4 },
    { 64, B(0xff, 0x18), SPECIAL_CALL_FAR, 4 },
    { 64, B(0x48, 0xff, 0x18), SPECIAL_CALL_FAR, 8 },
    { 64, B(0xcb), SPECIAL_RET_FAR, 4 },
    { 64, B(0x48, 0xcb), SPECIAL_RET_FAR, 8 },
    { 16, B(0xca, 4, 0), SPECIAL_RET_FAR, 2 },
    { 16, B(0xcf), SPECIAL_IRET, 2 },
    { 32, B(0xcf), SPECIAL_IRETD, 4 },
    { 64, B(0xcf), SPECIAL_IRETD, 4 },
    { 64, B(0x48, 0xcf), SPECIAL_IRETQ, 8 },
    { 64, B(0x0f, 0x05), SPECIAL_SYSCALL, 0 },
    { 64, B(0x0f, 0x07), SPECIAL_SYSRET, 4 },
    { 64, B(0x48, 0x0f, 0x07), SPECIAL_SYSRET, 8 },
    { 32, B(0x0f, 0x34), SPECIAL_SYSENTER, 0 },
    { 64, B(0x48, 0x0f, 0x35), SPECIAL_SYSEXIT, 8 },
    { 32, B(0x0f, 0x35), SPECIAL_SYSEXIT, 4 },
    { 64, B(0xcd, 0x80), SPECIAL_INT, 0 },
    { 64, B(0xcc), SPECIAL_INT3, 0 },
    { 32, B(0xce), SPECIAL_INTO, 0 },
    { 64, B(0xf1), SPECIAL_INT1, 0 },
    { 64, B(0x0f, 0x22, 0xd8), SPECIAL_MOV_CR, 8 },
    { 32, B(0x0f, 0x20, 0xc0), SPECIAL_MOV_CR, 4 },
    { 64, B(0x44, 0x0f, 0x22, 0xc0), SPECIAL_MOV_CR, 8 },
    { 64, B(0x0f, 0x23, 0xf8), SPECIAL_MOV_DR, 8 },
    { 64, B(0x0f, 0x21, 0xf8), SPECIAL_MOV_DR, 8 },
    { 64, B(0x0f, 0x01, 0xf0), SPECIAL_LMSW, 0 },
    { 64, B(0x0f, 0x06), SPECIAL_CLTS, 0 },
    { 64, B(0x0f, 0x30), SPECIAL_WRMSR, 0 },
    { 64, B(0x0f, 0x32), SPECIAL_RDMSR, 0 },
    { 64, B(0x0f, 0xa2), SPECIAL_CPUID, 0 },
    { 64, B(0x0f, 0x31), SPECIAL_RDTSC, 0 },
    { 64, B(0x0f, 0x01, 0xf9), SPECIAL_RDTSCP, 0 },
    { 64, B(0x0f, 0x33), SPECIAL_RDPMC, 0 },
    { 64, B(0xf3, 0x0f, 0xae, 0xe0), SPECIAL_PTWRITE, 4 },
    { 64, B(0xf3, 0x48, 0x0f, 0xae, 0x20), SPECIAL_PTWRITE, 8 },
    { 64, B(0xf4), SPECIAL_HLT, 0 },
    { 64, B(0xfa), SPECIAL_CLI, 0 },
    { 64, B(0xfb), SPECIAL_STI, 0 },
    { 64, B(0x9d), SPECIAL_POPFQ, 8 },
    { 64, B(0x66, 0x9d), SPECIAL_POPF, 2 },
    { 32, B(0x9d), SPECIAL_POPFD, 4 },
    { 64, B(0x9c), SPECIAL_PUSHFQ, 8 },
    { 64, B(0x8e, 0xd8), SPECIAL_MOV_SREG, 0 },
    { 64, B(0x8e, 0x18), SPECIAL_MOV_SREG, 0 },
    { 32, B(0x1f), SPECIAL_POP_SREG, 4 },
    { 32, B(0x07), SPECIAL_POP_SREG, 4 },
    { 32, B(0x17), SPECIAL_POP_SREG, 4 },
    { 64, B(0x0f, 0xa1), SPECIAL_POP_SREG, 8 },
    { 64, B(0x66, 0x0f, 0xa9), SPECIAL_POP_SREG, 2 },
    { 32, B(0xc5, 0x03), SPECIAL_LDS, 4 },
    { 16, B(0xc4, 0x07), SPECIAL_LES, 2 },
    { 64, B(0x48, 0x0f, 0xb2, 0x23), SPECIAL_LSS, 8 },
    { 64, B(0x0f, 0x01, 0x10), SPECIAL_LGDT, 8 },
    { 16, B(0x0f, 0x01, 0x1f), SPECIAL_LIDT, 2 },
    { 64, B(0x0f, 0x00, 0xd0), SPECIAL_LLDT, 0 },
    { 64, B(0x0f, 0x00, 0xd8), SPECIAL_LTR, 0 },
    { 64, B(0x0f, 0x01, 0xf8), SPECIAL_SWAPGS, 0 },
    { 64, B(0x0f, 0x01, 0x38), SPECIAL_INVLPG, 0 },
    { 64, B(0xe4, 0x60), SPECIAL_IN, 0 },
    { 64, B(0xef), SPECIAL_OUT, 4 },
    { 64, B(0xf3, 0x6c), SPECIAL_INSB, 0 },
    { 64, B(0x66, 0xeb, 0x10), SPECIAL_NEAR_OPSIZE, 0 },
    { 64, B(0x66, 0xe9, 0, 1, 0, 0), SPECIAL_NEAR_OPSIZE, 0 },
    { 64, B(0x66, 0x0f, 0x84, 0, 1, 0, 0), SPECIAL_NEAR_OPSIZE, 0 },
    { 64, B(0x66, 0xc3), SPECIAL_NEAR_OPSIZE, 0 },
    { 64, B(0x0f, 0xaa), SPECIAL_RSM, 0 },
    { 64, B(0x0f, 0x01, 0xc2), SPECIAL_VMLAUNCH, 0 },
    { 64, B(0x0f, 0x01, 0xc3), SPECIAL_VMRESUME, 0 },
    { 64, B(0xc7, 0xf8, 0, 0, 0, 0), SPECIAL_XBEGIN, 0 },
    { 64, B(0xc6, 0xf8, 0), SPECIAL_XABORT, 0 },
    { 64, B(0x0f, 0x01, 0xd5), SPECIAL_XEND, 0 },
    { 64, B(0x0f, 0x01, 0xc9), SPECIAL_MWAIT, 0 },
    { 64, B(0xf2, 0x0f, 0xae, 0xf0), SPECIAL_UMWAIT, 0 },
    { 64, B(0x0f, 0xc7, 0xf0), SPECIAL_RDRAND, 0 },
    { 64, B(0x0f, 0x01, 0xd0), SPECIAL_XGETBV, 0 },
    { 64, B(0x06), SPECIAL_UNDEFINED, 0 },
    { 64, B(0xea, 0, 0x10, 0, 0, 8, 0), SPECIAL_UNDEFINED, 0 },
    { 64, B(0x0f, 0x22, 0xc8), SPECIAL_UNDEFINED, 0 },
    { 64, B(0xf0, 0x90), SPECIAL_UNDEFINED, 0 },
    { 64,
      B(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
        0x90),
      SPECIAL_TOO_LONG, 0 },
    { 64, B(0x90), SPECIAL_NONE, 0 },
};

START_TEST(test_special)
{
    const uint8_t *bytes = specials[_i].bytes;
    uint8_t size = specials[_i].size;
    struct block block;
    struct code code = {
        .bytes = bytes, .available = size, .linear = AT, .bits = specials[_i].bits
    };
    struct insn insn;
    bool known = specials[_i].special < SPECIAL_UNDEFINED;

    ck_assert_int_eq(insn_decode(&code, &insn), PTSIM_OK);
    ck_assert_msg(insn.special == specials[_i].special, "row %d is %s", _i,
                  special_name(insn.special));
    ck_assert_uint_eq(insn.length, known ? size : 0);
    if (specials[_i].opsize)
        ck_assert_uint_eq(insn.opsize, specials[_i].opsize);

    ck_assert_int_eq(decode(specials[_i].bits, bytes, size, &block), PTSIM_OK);
    ck_assert_int_eq(block.special, specials[_i].special != SPECIAL_NONE);
    ck_assert_uint_eq(block.insns, specials[_i].special == SPECIAL_NONE);
    ck_assert_uint_eq(block.end, BLOCK_SEQUENTIAL);
}
END_TEST

START_TEST(test_block_lists_its_instructions)
{
    /* add eax,1; imul eax,ebx; lock inc dword [rax]; dec ecx; jnz */
    static const uint8_t bytes[] = { 0x83, 0xc0, 0x01, 0x0f, 0xaf, 0xc3, 0xf0,
                                     0xff, 0x00, 0xff, 0xc9, 0x75, 0xf3 };
    static const uint8_t lengths[] = { 3, 3, 3, 2, 2 };
    const struct cpu_profile *max = cpu_profile_find("max");
    const uint32_t cycles[] = { max->cost_plain, max->cost_mul, max->cost_locked, max->cost_plain,
                                max->cost_plain };
    uint32_t sum = 0;
    struct block block;

    ck_assert_int_eq(decode(64, bytes, sizeof bytes, &block), PTSIM_OK);
    ck_assert_uint_eq(block.insns, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(block.insn[i].length, lengths[i]);
        ck_assert_uint_eq(block.insn[i].cycles, cycles[i]);
        sum += cycles[i];
    }
    ck_assert_uint_eq(block.sum, UINT64_C(5) << 32 | sum);
    ck_assert_uint_eq(block.last_ip, AT + 11);
    ck_assert_uint_eq(block.target, AT);
}
END_TEST

START_TEST(test_block_ends_before_special)
{
    static const uint8_t bytes[] = { 0x90, 0x90, 0x0f, 0xa2, 0x90, 0xeb, 0xfe };
    struct block block;

    ck_assert_int_eq(decode(64, bytes, sizeof bytes, &block), PTSIM_OK);
    ck_assert(block.special);
    ck_assert_uint_eq(block.insns, 2);
    ck_assert_uint_eq(block.next_ip, AT + 2);
    ck_assert_uint_eq(block.size, sizeof bytes);
}
END_TEST

/* What Unicorn cannot have made one block of. */
START_TEST(test_block_refused)
{
    static const uint8_t branch_inside[] = { 0xeb, 0x00, 0x90 };
    static const uint8_t cut[] = { 0x90, 0xe9, 0x00, 0x00 };
    static const uint8_t nops[BLOCK_INSNS_MAX + 1] = { [0 ... BLOCK_INSNS_MAX] = 0x90 };
    struct block block;

    ck_assert_int_eq(decode(64, branch_inside, sizeof branch_inside, &block), PTSIM_INVALID);
    ck_assert_int_eq(decode(64, cut, sizeof cut, &block), PTSIM_INVALID);
    ck_assert_int_eq(decode(64, nops, sizeof nops, &block), PTSIM_INVALID);
    ck_assert_int_eq(decode(64, nops, sizeof nops - 1, &block), PTSIM_OK);
    ck_assert_uint_eq(block.insns, BLOCK_INSNS_MAX);
}
END_TEST

START_TEST(test_insn_truncated)
{
    static const uint8_t bytes[] = { 0x48, 0x0f, 0xb2, 0x24, 0xc5, 1, 2, 3, 4 };
    struct insn insn;

    for (size_t n = 0; n < sizeof bytes; n++) {
        struct code code = { .bytes = bytes, .available = n, .linear = AT, .bits = 64 };

        ck_assert_int_eq(insn_decode(&code, &insn), PTSIM_TRUNCATED);
    }
}
END_TEST

/* Conditions: each row gives the flags and counts for which the branch is taken. */
static bool taken(enum block_cond cond, uint64_t rflags, uint64_t rcx, uint8_t count_bits)
{
    struct block block = { .end = BLOCK_COND, .cond = (uint8_t)cond, .count_bits = count_bits };

    return block_taken(&block, rflags, rcx);
}

START_TEST(test_jcc)
{
    /* The assembler's definition of each condition, over all flags it can look at. */
    for (unsigned f = 0; f < 32; f++) {
        bool cf = f & 1, pf = f & 2, zf = f & 4, sf = f & 8, of = f & 16;
        uint64_t rflags = (cf ? RFLAGS_CF : 0) | (pf ? RFLAGS_PF : 0) | (zf ? RFLAGS_ZF : 0) |
                          (sf ? RFLAGS_SF : 0) | (of ? RFLAGS_OF : 0) | RFLAGS_FIXED1;
        const bool expected[] = {
            of, !of, cf, !cf, zf,       !zf,      cf || zf,       !cf && !zf,
            sf, !sf, pf, !pf, sf != of, sf == of, zf || sf != of, !zf && sf == of
        };

        for (unsigned cc = 0; cc < 16; cc++)
            ck_assert_msg(taken(cc, rflags, 1, 64) == expected[cc], "cc %u flags %u", cc, f);
    }
}
END_TEST

START_TEST(test_count_conditions)
{
    static const struct {
        enum block_cond cond;
        uint64_t rflags, rcx;
        uint8_t bits;
        bool taken;
    } rows[] = {
        { COND_CXZ, 0, 0, 64, true },
        { COND_CXZ, 0, 1, 64, false },
        { COND_CXZ, 0, UINT64_C(1) << 32, 32, true },
        { COND_CXZ, 0, UINT64_C(1) << 32, 64, false },
        { COND_CXZ, 0, 0x10000, 16, true },
        { COND_CXZ, 0, 0x10000, 32, false },
        { COND_LOOP, RFLAGS_ZF, 1, 64, true },
        { COND_LOOP, 0, 0, 64, false },
        { COND_LOOP, 0, 0x50000, 16, false },
        { COND_LOOPE, RFLAGS_ZF, 1, 64, true },
        { COND_LOOPE, 0, 1, 64, false },
        { COND_LOOPE, RFLAGS_ZF, 0, 64, false },
        { COND_LOOPNE, RFLAGS_ZF, 1, 64, false },
        { COND_LOOPNE, 0, 1, 64, true },
        { COND_LOOPNE, 0, 0, 64, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(taken(rows[i].cond, rows[i].rflags, rows[i].rcx, rows[i].bits) ==
                          rows[i].taken,
                      "row %zu", i);
}
END_TEST

/* Operands: what insn_offset() and the fields give for each addressing form. */
static const struct {
    uint8_t bits;
    uint8_t size;
    uint8_t bytes[INSN_SIZE_MAX];
    enum arch_sreg sreg;
    uint64_t offset;
} memory[] = {
    /* lgdt [rax] and so on: GPRn is 0x1000 * (n + 1), RIP 0x8400 */
    { 64, B(0x0f, 0x01, 0x10), ARCH_DS, 0x1000 },
    { 64, B(0x0f, 0x01, 0x50, 0xf0), ARCH_DS, 0xff0 },
    { 64, B(0x0f, 0x01, 0x94, 0x88, 0, 1, 0, 0), ARCH_DS, 0x1000 + 4 * 0x2000 + 0x100 },
    { 64, B(0x0f, 0x01, 0x14, 0x24), ARCH_SS, 0x5000 },
    { 64, B(0x0f, 0x01, 0x55, 0x00), ARCH_SS, 0x6000 },
    { 64, B(0x42, 0x0f, 0x01, 0x14, 0xe0), ARCH_DS, 0x1000 + 8 * 0xd000 },
    { 64, B(0x41, 0x0f, 0x01, 0x17), ARCH_DS, 0x10000 },
    { 64, B(0x0f, 0x01, 0x15, 0x10, 0, 0, 0), ARCH_DS, 0x8417 },
    { 64, B(0x0f, 0x01, 0x15, 0, 0, 0, 0xff), ARCH_DS, UINT64_C(0xffffffffff008407) },
    { 64, B(0x67, 0x0f, 0x01, 0x50, 0x80), ARCH_DS, 0xf80 },
    { 64, B(0x0f, 0x01, 0x14, 0x25, 0, 0, 0, 0x80), ARCH_DS, UINT64_C(0xffffffff80000000) },
    { 64, B(0x67, 0x0f, 0x01, 0x14, 0x25, 0, 0, 0, 0x80), ARCH_DS, 0x80000000 },
    { 64, B(0x64, 0x0f, 0x01, 0x10), ARCH_FS, 0x1000 },
    { 64, B(0x65, 0x0f, 0x01, 0x10), ARCH_GS, 0x1000 },
    { 32, B(0x0f, 0x01, 0x15, 0x10, 0, 0, 0), ARCH_DS, 0x10 },
    { 32, B(0x2e, 0x0f, 0x01, 0x16), ARCH_CS, 0x7000 },
    { 32, B(0x67, 0x0f, 0x01, 0x10), ARCH_DS, 0x4000 + 0x7000 },
    { 16, B(0x0f, 0x01, 0x12), ARCH_SS, 0x6000 + 0x7000 },
    { 16, B(0x0f, 0x01, 0x16, 0x34, 0x12), ARCH_DS, 0x1234 },
    { 16, B(0x26, 0x0f, 0x01, 0x91, 0x00, 0x80), ARCH_ES, 0x4000 },
    { 16, B(0x67, 0x0f, 0x01, 0x14, 0x41), ARCH_DS, 0x2000 + 2 * 0x1000 },
};

START_TEST(test_memory_operand)
{
    struct code code = { .bytes = memory[_i].bytes,
                         .available = memory[_i].size,
                         .linear = AT,
                         .bits = memory[_i].bits };
    struct arch_state state = { .rip = AT };
    struct insn insn;

    for (unsigned i = 0; i < ARCH_GPRS; i++)
        state.gpr[i] = 0x1000 * (i + 1);
    ck_assert_int_eq(insn_decode(&code, &insn), PTSIM_OK);
    ck_assert_int_eq(insn.special, SPECIAL_LGDT);
    ck_assert_uint_eq(insn.operands, 1);
    ck_assert_int_eq(insn.operand[0].kind, INSN_MEM);
    ck_assert_msg(insn.operand[0].sreg == memory[_i].sreg, "row %d", _i);
    ck_assert_uint_eq(insn_offset(&insn, &insn.operand[0], &state), memory[_i].offset);
}
END_TEST

START_TEST(test_other_operands)
{
    static const struct {
        uint8_t bits;
        uint8_t size;
        uint8_t bytes[INSN_SIZE_MAX];
        struct insn_operand operand[2];
    } rows[] = {
        { 32,
          B(0xea, 0x78, 0x56, 0x34, 0x12, 8, 0),
          { { .kind = INSN_PTR, .selector = 8, .value = 0x12345678 } } },
        { 64, B(0xcd, 0x80), { { .kind = INSN_IMM, .value = 0x80 } } },
        { 64, B(0xca, 0x08, 0x80), { { .kind = INSN_IMM, .value = 0x8008 } } },
        { 64,
          B(0x0f, 0x22, 0xd8),
          { { .kind = INSN_CR, .reg = 3 }, { .kind = INSN_GPR, .reg = ARCH_RAX } } },
        { 64,
          B(0x44, 0x0f, 0x20, 0xc0),
          { { .kind = INSN_GPR, .reg = ARCH_RAX }, { .kind = INSN_CR, .reg = 8 } } },
        { 64,
          B(0x41, 0x0f, 0x23, 0xff),
          { { .kind = INSN_DR, .reg = 7 }, { .kind = INSN_GPR, .reg = ARCH_R15 } } },
        { 64,
          B(0x41, 0x8e, 0xe1),
          { { .kind = INSN_SREG, .reg = ARCH_FS }, { .kind = INSN_GPR, .reg = ARCH_R9 } } },
        { 64, B(0x0f, 0xa9), { { .kind = INSN_SREG, .reg = ARCH_GS } } },
        { 64, B(0xf3, 0x41, 0x0f, 0xae, 0xe4), { { .kind = INSN_GPR, .reg = ARCH_R12 } } },
        { 64,
          B(0xe4, 0xe0),
          { { .kind = INSN_GPR, .reg = ARCH_RAX }, { .kind = INSN_IMM, .value = 0xe0 } } },
        { 64, B(0xee), { { .kind = INSN_GPR, .reg = ARCH_RDX }, { .kind = INSN_GPR } } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct code code = { .bytes = rows[i].bytes,
                             .available = rows[i].size,
                             .bits = rows[i].bits };
        struct insn insn;

        ck_assert_int_eq(insn_decode(&code, &insn), PTSIM_OK);
        for (unsigned j = 0; j < 2; j++) {
            const struct insn_operand *expected = &rows[i].operand[j], *got = &insn.operand[j];

            ck_assert_msg(got->kind == expected->kind && got->reg == expected->reg &&
                              got->value == expected->value && got->selector == expected->selector,
                          "row %zu operand %u", i, j);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("block");
    TCase *tcase = tcase_create("block");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, test_branch, 0, TEST_COUNT(branches));
    tcase_add_loop_test(tcase, test_wrap, 0, TEST_COUNT(wraps));
    tcase_add_loop_test(tcase, test_special, 0, TEST_COUNT(specials));
    tcase_add_test(tcase, test_block_lists_its_instructions);
    tcase_add_test(tcase, test_block_ends_before_special);
    tcase_add_test(tcase, test_block_refused);
    tcase_add_test(tcase, test_insn_truncated);
    tcase_add_test(tcase, test_jcc);
    tcase_add_test(tcase, test_count_conditions);
    tcase_add_loop_test(tcase, test_memory_operand, 0, TEST_COUNT(memory));
    tcase_add_test(tcase, test_other_operands);
    return suite_run(suite);
}
