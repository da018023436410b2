/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "block.h"

#include <Zydis/Zydis.h>
#include <assert.h>

#include "../models/arch/cond.h"
#include "../models/bits.h"
#include "../models/cost.h"

/* The forms of a mnemonic that are special. */
enum insn_form {
    FORM_ANY,
    FORM_FAR,         /* the far forms of JMP, CALL, RET */
    FORM_TO_SREG,     /* with a segment register as destination */
    FORM_CR,          /* with a control register */
    FORM_DR,          /* with a debug register */
    FORM_NEAR_OPSIZE, /* found by near_opsize() */
};

/* An instruction as Zydis gives it. */
struct decoded {
    ZydisDecoder decoder;
    ZydisDecoderContext context;
    ZydisDecodedInstruction insn;
};

static void decoder_init(ZydisDecoder *decoder, unsigned bits)
{
    ZydisMachineMode mode = bits == 64   ? ZYDIS_MACHINE_MODE_LONG_64
                            : bits == 32 ? ZYDIS_MACHINE_MODE_LEGACY_32
                                         : ZYDIS_MACHINE_MODE_LEGACY_16;
    ZydisStackWidth stack = bits == 64   ? ZYDIS_STACK_WIDTH_64
                            : bits == 32 ? ZYDIS_STACK_WIDTH_32
                                         : ZYDIS_STACK_WIDTH_16;

    ZyanStatus status = ZydisDecoderInit(decoder, mode, stack);

    assert(ZYAN_SUCCESS(status));
    (void)status;
}

/* PTSIM_BAD_PACKET never; PTSIM_TRUNCATED where the bytes end first; PTSIM_INVALID where they are
 * no instruction, with *SPECIAL saying what the processor makes of them. */
static enum ptsim_status decode_one(struct decoded *decoded, const uint8_t *bytes, size_t available,
                                    enum special *special)
{
    ZyanStatus status = ZydisDecoderDecodeInstruction(
        &decoded->decoder, &decoded->context, bytes,
        available < INSN_SIZE_MAX ? available : INSN_SIZE_MAX, &decoded->insn);

    *special = SPECIAL_NONE;
    if (ZYAN_SUCCESS(status))
        return PTSIM_OK;
    if (status == ZYDIS_STATUS_NO_MORE_DATA && available < INSN_SIZE_MAX)
        return PTSIM_TRUNCATED;
    *special = status == ZYDIS_STATUS_NO_MORE_DATA || status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG
                   ? SPECIAL_TOO_LONG
                   : SPECIAL_UNDEFINED;
    return PTSIM_INVALID;
}

/* Which instruction is special */

static bool is_near_branch(const ZydisDecodedInstruction *insn)
{
    return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT ||
           insn->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR;
}

/* Whether INSN is a near branch whose operand-size prefix Unicorn follows in 64-bit mode. */
static bool near_opsize(const ZydisDecodedInstruction *insn)
{
    if (insn->machine_mode != ZYDIS_MACHINE_MODE_LONG_64 || !is_near_branch(insn))
        return false;
    if (insn->raw.rex.W)
        return false;
    for (unsigned i = 0; i < insn->raw.prefix_count; i++)
        if (insn->raw.prefixes[i].value == 0x66)
            return true;
    return false;
}

/* The destination of MOV and POP as far as the opcode alone tells: every special form of
 * theirs has its own. */
static enum insn_form mov_pop_form(const ZydisDecodedInstruction *insn)
{
    if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
        switch (insn->opcode) {
        case 0x07: /* POP ES, SS, DS */
        case 0x17:
        case 0x1f:
        case 0x8e: /* MOV Sreg, r/m16 */
            return FORM_TO_SREG;
        default:
            return FORM_ANY;
        }
    }
    if (insn->opcode_map != ZYDIS_OPCODE_MAP_0F)
        return FORM_ANY;
    switch (insn->opcode) {
    case 0xa1: /* POP FS, GS */
    case 0xa9:
        return FORM_TO_SREG;
    case 0x20:
    case 0x22:
        return FORM_CR;
    case 0x21:
    case 0x23:
        return FORM_DR;
    default:
        return FORM_ANY;
    }
}

static enum insn_form form_of(const ZydisDecodedInstruction *insn)
{
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_POP:
        return mov_pop_form(insn);
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_RET:
        return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? FORM_FAR : FORM_ANY;
    default:
        return FORM_ANY;
    }
}

static enum special special_of(const ZydisDecodedInstruction *insn)
{
    static const struct {
        ZydisMnemonic mnemonic;
        enum insn_form form;
        enum special special;
    } rows[] = {
#define SPECIAL(id, mnemonic, form, cost, handler, reference)                                      \
    { ZYDIS_MNEMONIC_##mnemonic, FORM_##form, SPECIAL_##id },
#define ABSENT(id, mnemonic, leaf, subleaf, register, bit, reference)                              \
    { ZYDIS_MNEMONIC_##mnemonic, FORM_ANY, SPECIAL_##id },
#include "specials.def"
#undef ABSENT
#undef SPECIAL
    };

    if (near_opsize(insn))
        return SPECIAL_NEAR_OPSIZE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].mnemonic == insn->mnemonic && rows[i].form == form_of(insn))
            return rows[i].special;
    return SPECIAL_NONE;
}

const char *special_name(enum special special)
{
    static const char *const name[SPECIALS] = {
        [SPECIAL_NONE] = "an instruction of the engine",
        [SPECIAL_UNDEFINED] = "an undefined opcode",
        [SPECIAL_TOO_LONG] = "an instruction of more than 15 bytes",
#define SPECIAL(id, mnemonic, form, cost, handler, reference)         [SPECIAL_##id] = #mnemonic,
#define ABSENT(id, mnemonic, leaf, subleaf, register, bit, reference) [SPECIAL_##id] = #mnemonic,
#include "specials.def"
#undef ABSENT
#undef SPECIAL
    };

    if (special == SPECIAL_NEAR_OPSIZE)
        return "a near branch with an operand-size prefix in 64-bit mode";
    return name[special];
}

/* Costs */

static bool is_repeated(const ZydisDecodedInstruction *insn)
{
    return insn->attributes &
           (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static enum cost_class special_cost(enum special special)
{
    static const uint8_t cost[SPECIALS] = {
#define SPECIAL(id, mnemonic, form, class, handler, reference)        [SPECIAL_##id] = COST_##class,
#define ABSENT(id, mnemonic, leaf, subleaf, register, bit, reference) [SPECIAL_##id] = COST_SYSTEM,
#include "specials.def"
#undef ABSENT
#undef SPECIAL
    };

    return cost[special];
}

static enum cost_class cost_of_mnemonic(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_IMUL:
        return COST_MUL;
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
        return COST_DIV;
    case ZYDIS_MNEMONIC_FDIV:
    case ZYDIS_MNEMONIC_FDIVP:
    case ZYDIS_MNEMONIC_FDIVR:
    case ZYDIS_MNEMONIC_FDIVRP:
    case ZYDIS_MNEMONIC_FIDIV:
    case ZYDIS_MNEMONIC_FIDIVR:
    case ZYDIS_MNEMONIC_FSQRT:
    case ZYDIS_MNEMONIC_DIVPS:
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_DIVPD:
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_SQRTPS:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_SQRTPD:
    case ZYDIS_MNEMONIC_SQRTSD:
        return COST_FP_DIV;
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
    case ZYDIS_MNEMONIC_PAUSE:
        return COST_FENCE;
    default:
        return COST_PLAIN;
    }
}

static enum cost_class cost_of(const ZydisDecodedInstruction *insn, enum special special)
{
    enum cost_class cost = cost_of_mnemonic(insn->mnemonic);

    if (special != SPECIAL_NONE)
        return special_cost(special);
    if (insn->attributes & ZYDIS_ATTRIB_HAS_LOCK)
        return COST_LOCKED;
    if (insn->mnemonic == ZYDIS_MNEMONIC_XCHG && insn->attributes & ZYDIS_ATTRIB_HAS_MODRM &&
        insn->raw.modrm.mod != 3)
        return COST_LOCKED;
    if (is_repeated(insn))
        return COST_STRING;
    if (cost != COST_PLAIN)
        return cost;
    if (insn->meta.category == ZYDIS_CATEGORY_X87_ALU || insn->meta.category == ZYDIS_CATEGORY_SSE)
        return COST_FP;
    return COST_PLAIN;
}

/* How a block ends */

static enum block_cond cond_of(const ZydisDecodedInstruction *insn)
{
    switch (insn->opcode) {
    case 0xe0:
        return COND_LOOPNE;
    case 0xe1:
        return COND_LOOPE;
    case 0xe2:
        return COND_LOOP;
    case 0xe3:
        return COND_CXZ;
    default: /* 70+cc, 0F 80+cc */
        return insn->opcode & 0xf;
    }
}

static enum block_end end_of(const ZydisDecodedInstruction *insn)
{
    bool direct = insn->raw.imm[0].is_relative;

    if (is_repeated(insn))
        return BLOCK_REP;
    switch (insn->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return BLOCK_COND;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return direct ? BLOCK_JMP_DIRECT : BLOCK_JMP_INDIRECT;
    case ZYDIS_CATEGORY_CALL:
        return direct ? BLOCK_CALL_DIRECT : BLOCK_CALL_INDIRECT;
    case ZYDIS_CATEGORY_RET:
        return BLOCK_RET;
    default:
        return BLOCK_SEQUENTIAL;
    }
}

/* The linear target of the direct branch INSN, which ends at NEXT_IP. In a code segment of 16 or
 * 32 bits the IP wraps at the operand size, then the base is added. */
static uint64_t target_of(const ZydisDecodedInstruction *insn, const struct code *code,
                          uint64_t next_ip)
{
    uint64_t ip = next_ip - code->cs_base + insn->raw.imm[0].value.u;

    if (code->bits == 64)
        return ip;
    if (insn->operand_width == 16)
        ip = (uint16_t)ip;
    return (uint32_t)(code->cs_base + ip);
}

static void block_finish(struct block *block, const ZydisDecodedInstruction *insn,
                         const struct code *code)
{
    block->end = (uint8_t)end_of(insn);
    block->last_ip = block->next_ip - insn->length;
    if (block->end == BLOCK_COND) {
        block->cond = (uint8_t)cond_of(insn);
        block->count_bits = insn->address_width;
    }
    if (insn->raw.imm[0].is_relative)
        block->target = target_of(insn, code, block->next_ip);
    if (block->end == BLOCK_COND && block->target == block->next_ip)
        block->end = BLOCK_COND_NEXT;
}

static enum ptsim_status decode_all(const struct code *code, uint32_t size,
                                    const struct cpu_profile *profile, struct block_insn *list,
                                    struct block *block)
{
    struct decoded decoded;
    enum special special = SPECIAL_NONE;
    uint32_t at = 0;

    decoder_init(&decoded.decoder, code->bits);
    *block = (struct block){ .linear = code->linear,
                             .last_ip = code->linear,
                             .next_ip = code->linear,
                             .size = size,
                             .insn = list };
    while (at < size && block->end == BLOCK_SEQUENTIAL) {
        enum ptsim_status status =
            decode_one(&decoded, code->bytes + at, code->available - at, &special);

        if (status == PTSIM_TRUNCATED || block->insns == BLOCK_INSNS_MAX)
            return PTSIM_INVALID;
        if (special == SPECIAL_NONE)
            special = special_of(&decoded.insn);
        block->special = special != SPECIAL_NONE;
        if (block->special)
            return PTSIM_OK;

        uint32_t cycles = cost_cycles(profile, cost_of(&decoded.insn, SPECIAL_NONE));

        list[block->insns++] = (struct block_insn){ decoded.insn.length, (uint16_t)cycles };
        block->sum += UINT64_C(1) << 32 | cycles;
        at += decoded.insn.length;
        block->next_ip = code->linear + at;
        block_finish(block, &decoded.insn, code);
    }
    return at == size ? PTSIM_OK : PTSIM_INVALID;
}

enum ptsim_status block_decode(const struct code *code, uint32_t size,
                               const struct cpu_profile *profile, struct block_insn *list,
                               struct block *block)
{
    enum ptsim_status status = decode_all(code, size, profile, list, block);

    block->cond_sum = block->end == BLOCK_COND ? block->sum : BLOCK_CYCLES_MAX;
    return status;
}

bool block_taken(const struct block *block, uint64_t rflags, uint64_t rcx)
{
    unsigned addr_size = block->count_bits / 8;

    switch ((enum block_cond)block->cond) {
    case COND_CXZ:
        return arch_jcxz_taken(rcx, addr_size);
    case COND_LOOPNE:
    case COND_LOOPE:
    case COND_LOOP: /* it has counted RCX down already */
        return arch_loop_taken(0xe0u + block->cond - COND_LOOPNE, rcx + 1, addr_size, rflags);
    default:
        return arch_condition(block->cond, rflags);
    }
}

/* Operands */

static uint8_t gpr_of(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_NONE)
        return INSN_NO_GPR;
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP || reg == ZYDIS_REGISTER_IP)
        return INSN_IP;
    return (uint8_t)ZydisRegisterGetId(reg);
}

static void register_operand(struct insn_operand *operand, ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_SEGMENT:
        operand->kind = INSN_SREG;
        break;
    case ZYDIS_REGCLASS_CONTROL:
        operand->kind = INSN_CR;
        break;
    case ZYDIS_REGCLASS_DEBUG:
        operand->kind = INSN_DR;
        break;
    default:
        operand->kind = INSN_GPR;
        break;
    }
    operand->reg = (uint8_t)ZydisRegisterGetId(reg);
}

static struct insn_operand operand_of(const ZydisDecodedOperand *from)
{
    struct insn_operand operand = { .size = (uint8_t)(from->size / 8) };

    switch (from->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        register_operand(&operand, from->reg.value);
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        operand.kind = INSN_MEM;
        operand.sreg = (uint8_t)ZydisRegisterGetId(from->mem.segment);
        operand.base = gpr_of(from->mem.base);
        operand.index = gpr_of(from->mem.index);
        operand.scale = from->mem.scale;
        operand.value = (uint64_t)from->mem.disp.value;
        break;
    case ZYDIS_OPERAND_TYPE_POINTER:
        operand.kind = INSN_PTR;
        operand.selector = from->ptr.segment;
        operand.value = from->ptr.offset;
        break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        operand.kind = INSN_IMM;
        operand.value = from->imm.value.u;
        break;
    default:
        break;
    }
    return operand;
}

static void decode_operands(const struct decoded *decoded, struct insn *insn)
{
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
    const size_t room = sizeof insn->operand / sizeof insn->operand[0];
    ZyanStatus status =
        ZydisDecoderDecodeOperands(&decoded->decoder, &decoded->context, &decoded->insn, operand,
                                   decoded->insn.operand_count_visible);

    if (!ZYAN_SUCCESS(status))
        return;
    for (size_t i = 0; i < decoded->insn.operand_count_visible && i < room; i++)
        insn->operand[insn->operands++] = operand_of(&operand[i]);
}

static enum arch_sreg string_sreg(const ZydisDecodedInstruction *insn)
{
    static const struct {
        ZydisInstructionAttributes attribute;
        enum arch_sreg sreg;
    } overrides[] = {
        { ZYDIS_ATTRIB_HAS_SEGMENT_CS, ARCH_CS }, { ZYDIS_ATTRIB_HAS_SEGMENT_SS, ARCH_SS },
        { ZYDIS_ATTRIB_HAS_SEGMENT_ES, ARCH_ES }, { ZYDIS_ATTRIB_HAS_SEGMENT_FS, ARCH_FS },
        { ZYDIS_ATTRIB_HAS_SEGMENT_GS, ARCH_GS },
    };

    for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++)
        if (insn->attributes & overrides[i].attribute)
            return overrides[i].sreg;
    return ARCH_DS;
}

enum ptsim_status insn_decode(const struct code *code, struct insn *insn)
{
    struct decoded decoded;
    enum special special;

    *insn = (struct insn){ .special = SPECIAL_UNDEFINED };
    decoder_init(&decoded.decoder, code->bits);

    enum ptsim_status status = decode_one(&decoded, code->bytes, code->available, &special);

    if (status == PTSIM_TRUNCATED)
        return status;
    insn->special = special;
    if (status != PTSIM_OK)
        return PTSIM_OK;
    insn->special = special_of(&decoded.insn);
    insn->length = decoded.insn.length;
    insn->opsize = decoded.insn.operand_width / 8;
    insn->addrsize = decoded.insn.address_width / 8;
    insn->cost = (uint8_t)cost_of(&decoded.insn, insn->special);
    insn->rep = is_repeated(&decoded.insn);
    insn->string_sreg = (uint8_t)string_sreg(&decoded.insn);
    decode_operands(&decoded, insn);
    return PTSIM_OK;
}

uint64_t insn_offset(const struct insn *insn, const struct insn_operand *operand,
                     const struct arch_state *state)
{
    uint64_t offset = operand->value;

    if (operand->base == INSN_IP)
        offset += state->rip + insn->length;
    else if (operand->base != INSN_NO_GPR)
        offset += state->gpr[operand->base];
    if (operand->index != INSN_NO_GPR)
        offset += state->gpr[operand->index] * operand->scale;
    return bits_get(offset, insn->addrsize * 8u - 1, 0);
}
