/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The far transfers and segment loads of models/arch against those that Unicorn executes by itself:
 * the same instruction from the same state and memory, registers and memory compared afterwards.
 *
 * Unicorn gets into each mode by a boot program that loads the descriptor tables and returns with
 * IRET. What it does not do as the manual says is named where the comparison leaves it out. */
#include <stdio.h>

#include <unicorn/unicorn.h>

#include "../models/arch/control.h"
#include "../models/arch/far.h"
#include "arch_box.h"

#define PROT32 ARCH_MODE_PROT32
#define LONG64 ARCH_MODE_LONG64
#define COMPAT ARCH_MODE_COMPAT
#define REAL   ARCH_MODE_REAL
#define V86    ARCH_MODE_V86

enum {
    PD = 0xe000,    /* page directory: 2-MByte pages, which Unicorn's processor has */
    PT = 0xd000,    /* page table of linear 400000H on */
    BOOT = 0xf0000, /* the boot program, and its data below */
    GDT_OPERAND = 0xeff00,
    BOOT_STACK = 0xef000,
    COMPARED = 0x11000, /* bytes of memory that a case may use */
    TARGET = SEL_FREE,  /* descriptors of a case */
    GATE = SEL_FREE + 0x10,
    SECOND = SEL_FREE + 0x20,
};

/* Unicorn, booted into MODE at CPL, and how it gets back there. */
static uc_engine *uc;
static uc_context *booted;
static int vector; /* of the exception that the case raised, or -1 */
static uint8_t unicorn_memory[COMPARED];

static uint8_t *emit; /* where the boot program goes on */

static void bytes(const char *code, size_t size)
{
    memcpy(emit, code, size);
    emit += size;
}
#define BYTES(code) bytes(code, sizeof(code) - 1)

static void imm(uint64_t value, size_t size)
{
    le_store(emit, value, size);
    emit += size;
}

static void mov_eax(uint32_t value)
{
    BYTES("\xb8");
    imm(value, 4);
}

static void push(uint64_t value)
{
    BYTES("\x68");
    imm(value, 4);
}

static void emit_tables(bool long64)
{
    poke(GDT_OPERAND, state.gdtr.limit, 2);
    poke(GDT_OPERAND + 2, state.gdtr.base, 8);
    if (long64)
        BYTES("\x0f\x01\x14\x25"); /* LGDT [GDT_OPERAND] */
    else
        BYTES("\x0f\x01\x15");
    imm(GDT_OPERAND, 4);
    mov_eax(SEL_LDT);
    BYTES("\x0f\x00\xd0"); /* LLDT AX */
    mov_eax(SEL_TSS);
    BYTES("\x0f\x00\xd8"); /* LTR AX */
}

/* IA-32e mode with paging; Unicorn starts in 64-bit mode without. */
static void emit_ia32e(void)
{
    mov_eax((uint32_t)state.cr3);
    BYTES("\x0f\x22\xd8"); /* MOV CR3, RAX */
    mov_eax((uint32_t)state.cr4);
    BYTES("\x0f\x22\xe0");         /* MOV CR4, RAX */
    BYTES("\xb9\x80\x00\x00\xc0"); /* MOV ECX, IA32_EFER */
    mov_eax((uint32_t)state.efer);
    BYTES("\x31\xd2\x0f\x30"); /* XOR EDX, EDX; WRMSR */
    mov_eax((uint32_t)state.cr0);
    BYTES("\x0f\x22\xc0"); /* MOV CR0, RAX */
}

/* The frame that IRET loads: every register that STATE has. */
static void emit_iret(enum arch_mode mode)
{
    static const enum arch_sreg v86[] = { ARCH_GS, ARCH_FS, ARCH_DS, ARCH_ES };

    mov_eax(ARCH_FLAT_DATA(0));
    BYTES("\x8e\xd0"); /* MOV SS */
    BYTES("\xbc");     /* MOV ESP, BOOT_STACK */
    imm(BOOT_STACK, 4);
    if (mode == V86) {
        for (int i = 0; i < TEST_COUNT(v86); i++)
            push(state.sreg[v86[i]].selector);
    } else {
        mov_eax(state.sreg[ARCH_DS].selector);
        BYTES("\x8e\xd8\x8e\xc0\x8e\xe0\x8e\xe8"); /* MOV DS, ES, FS, GS */
    }
    if (mode == PROT32 && state.cpl == 0) { /* no stack in the frame */
        BYTES("\xbc");
        imm(state.gpr[ARCH_RSP], 4);
    } else {
        push(state.sreg[ARCH_SS].selector);
        push(state.gpr[ARCH_RSP]);
    }
    push(state.rflags);
    push(state.sreg[ARCH_CS].selector);
    push(state.rip);
    if (mode == LONG64 || mode == COMPAT)
        BYTES("\x48");
    BYTES("\xcf");
}

static void on_interrupt(uc_engine *engine, uint32_t number, void *data)
{
    (void)data;
    vector = (int)number;
    uc_emu_stop(engine);
}

static bool on_invalid(uc_engine *engine, void *data)
{
    (void)data;
    vector = ARCH_UD;
    uc_emu_stop(engine);
    return false;
}

static void on_arrival(uc_engine *engine, uint64_t address, uint32_t size, void *data)
{
    (void)address;
    (void)size;
    (void)data;
    uc_emu_stop(engine);
}

static void check_uc(uc_err err)
{
    ck_assert_msg(err == UC_ERR_OK, "%s", uc_strerror(err));
}

/* Outside its 64-bit mode Unicorn has the names of 32 bits alone. */
static const int *reg_gpr;
static int reg_rip, reg_rflags;

static void name_registers(bool long64)
{
    static const int gpr[2][8] = {
        { UC_X86_REG_EAX, UC_X86_REG_ECX, UC_X86_REG_EDX, UC_X86_REG_EBX, UC_X86_REG_ESP,
          UC_X86_REG_EBP, UC_X86_REG_ESI, UC_X86_REG_EDI },
        { UC_X86_REG_RAX, UC_X86_REG_RCX, UC_X86_REG_RDX, UC_X86_REG_RBX, UC_X86_REG_RSP,
          UC_X86_REG_RBP, UC_X86_REG_RSI, UC_X86_REG_RDI },
    };

    reg_gpr = gpr[long64];
    reg_rip = long64 ? UC_X86_REG_RIP : UC_X86_REG_EIP;
    reg_rflags = long64 ? UC_X86_REG_RFLAGS : UC_X86_REG_EFLAGS;
}

static uint64_t uc_get(int reg)
{
    uint64_t value = 0;

    check_uc(uc_reg_read(uc, reg, &value));
    return value;
}

static void map_2m(void)
{
    limits.no_1gb_pages = true;
    poke(BOX_PML4, BOX_PDPT | 0x27, 8);
    poke(BOX_PDPT, PD | 0x27, 8);
    poke(PD, 0xe7, 8);
}

/* Our state and memory, and Unicorn's, of MODE at CPL. */
static void boot(enum arch_mode mode, uint8_t cpl)
{
    bool long64 = mode == LONG64 || mode == COMPAT;
    uc_mode uc_mode = long64 ? UC_MODE_64 : mode == REAL ? UC_MODE_16 : UC_MODE_32;
    uc_hook hook;

    name_registers(long64);
    box_setup(mode, cpl);
    if (long64)
        map_2m();
    gdt_put(SEL_TSS, descriptor(BOX_TSS, 0xff, AR_TSS32));
    check_uc(uc_open(UC_ARCH_X86, uc_mode, &uc));
    check_uc(uc_mem_map(uc, 0, FLAT_SIZE, UC_PROT_ALL));
    check_uc(uc_hook_add(uc, &hook, UC_HOOK_INTR, (void *)on_interrupt, NULL, 1, 0));
    check_uc(uc_hook_add(uc, &hook, UC_HOOK_INSN_INVALID, (void *)on_invalid, NULL, 1, 0));
    check_uc(uc_context_alloc(uc, &booted));
    if (mode == REAL) {
        uint64_t sp = state.gpr[ARCH_RSP];

        check_uc(uc_reg_write(uc, reg_gpr[ARCH_RSP], &sp));
        check_uc(uc_context_save(uc, booted));
        return;
    }
    emit = flat + BOOT;
    if (long64)
        emit_ia32e();
    emit_tables(long64);
    emit_iret(mode);
    check_uc(uc_mem_write(uc, 0, flat, FLAT_SIZE));
    check_uc(uc_hook_add(uc, &hook, UC_HOOK_CODE, (void *)on_arrival, NULL, state.rip, state.rip));
    vector = -1;
    check_uc(uc_emu_start(uc, BOOT, 0, 0, 0));
    ck_assert_msg(vector == -1, "boot: vector %d at %jx", vector, (uintmax_t)uc_get(reg_rip));
    check_uc(uc_hook_del(uc, hook));
    for (int i = 0; i < 8; i++)
        check_uc(uc_reg_write(uc, reg_gpr[i], &state.gpr[i]));
    check_uc(uc_context_save(uc, booted));
    gdt_put(SEL_TSS, descriptor(BOX_TSS, 0xff, AR_TSS32 | ARCH_TYPE_BUSY));
}

static void shut_down(void)
{
    uc_context_free(booted);
    uc_close(uc);
}

/* One instruction: its bytes for Unicorn, and the call that is the same to us. */
enum op {
    FAR_JMP,
    FAR_CALL,
    FAR_RET,
    FAR_RET_N,
    IRET,
    MOV_DS,
    MOV_SS,
    LLDT,
    LTR,
    OPS
};

static const char *const op_names[OPS] = { "JMP",    "CALL",   "RETF", "RETF 12", "IRET",
                                           "MOV DS", "MOV SS", "LLDT", "LTR" };

struct instruction {
    enum op op;
    unsigned opsize;
    uint16_t selector; /* of JMP, CALL, MOV, LLDT, LTR */
    uint32_t offset;   /* of JMP, CALL */
};

enum {
    OPERAND = 0x7000
};

static void emit_prefix(unsigned opsize)
{
    unsigned normal = arch_code_bits(&state) == 16 ? 2 : 4;

    if (opsize == 8)
        BYTES("\x48");
    else if (opsize != normal)
        BYTES("\x66");
}

/* JMP and CALL with an immediate where there are any, else from memory. */
static void emit_far(const struct instruction *insn)
{
    bool call = insn->op == FAR_CALL;

    emit_prefix(insn->opsize);
    if (arch_code_bits(&state) == 64) {
        poke(OPERAND, insn->offset, insn->opsize);
        poke(OPERAND + insn->opsize, insn->selector, 2);
        bytes(call ? "\xff\x1c\x25" : "\xff\x2c\x25", 3);
        imm(OPERAND, 4);
    } else {
        bytes(call ? "\x9a" : "\xea", 1);
        imm(insn->offset, insn->opsize);
        imm(insn->selector, 2);
    }
}

static uint64_t emit_instruction(const struct instruction *insn)
{
    uint64_t at = state.sreg[ARCH_CS].base + state.rip;

    emit = flat + at;
    switch (insn->op) {
    case FAR_JMP:
    case FAR_CALL:
        emit_far(insn);
        break;
    case FAR_RET:
        emit_prefix(insn->opsize);
        BYTES("\xcb");
        break;
    case FAR_RET_N:
        emit_prefix(insn->opsize);
        BYTES("\xca\x0c\x00");
        break;
    case IRET:
        emit_prefix(insn->opsize);
        BYTES("\xcf");
        break;
    case MOV_DS:
        BYTES("\x8e\xd8");
        break;
    case MOV_SS:
        BYTES("\x8e\xd0");
        break;
    case LLDT:
        BYTES("\x0f\x00\xd0");
        break;
    case LTR:
        BYTES("\x0f\x00\xd8");
        break;
    case OPS:
        break;
    }
    return (uint64_t)(emit - flat) - at;
}

static struct arch_fault execute(const struct instruction *insn, uint64_t size)
{
    struct arch_fault fault = ARCH_NO_FAULT;
    uint64_t next = state.rip + size;

    switch (insn->op) {
    case FAR_JMP:
        return arch_far_jmp(&cpu, insn->selector, insn->offset, insn->opsize, next);
    case FAR_CALL:
        return arch_far_call(&cpu, insn->selector, insn->offset, insn->opsize, next);
    case FAR_RET:
        return arch_far_ret(&cpu, insn->opsize, 0);
    case FAR_RET_N:
        return arch_far_ret(&cpu, insn->opsize, 12);
    case IRET:
        return arch_iret(&cpu, insn->opsize, next);
    case MOV_DS:
        fault = arch_load_sreg(&cpu, ARCH_DS, insn->selector);
        break;
    case MOV_SS:
        fault = arch_load_sreg(&cpu, ARCH_SS, insn->selector);
        break;
    case LLDT:
        fault = arch_load_ldtr(&cpu, insn->selector);
        break;
    case LTR:
        fault = arch_load_tr(&cpu, insn->selector);
        break;
    case OPS:
        break;
    }
    if (!fault.raised)
        state.rip = next;
    return fault;
}

static void run_unicorn(void)
{
    uint64_t at = state.sreg[ARCH_CS].base + state.rip;
    uc_err err;

    check_uc(uc_context_restore(uc, booted));
    check_uc(uc_reg_write(uc, reg_gpr[ARCH_RAX], &state.gpr[ARCH_RAX]));
    check_uc(uc_reg_write(uc, reg_rflags, &state.rflags));
    check_uc(uc_reg_write(uc, UC_X86_REG_CR0, &state.cr0));
    check_uc(uc_mem_write(uc, 0, flat, COMPARED));
    check_uc(uc_ctl_remove_cache(uc, at, at + 16));
    vector = -1;
    err = uc_emu_start(uc, at, BOOT, 0, 1);
    if (err == UC_ERR_INSN_INVALID)
        vector = ARCH_UD;
    else
        check_uc(err);
    check_uc(uc_mem_read(uc, 0, unicorn_memory, COMPARED));
}

static const int uc_sregs[ARCH_SREGS] = { UC_X86_REG_ES, UC_X86_REG_CS, UC_X86_REG_SS,
                                          UC_X86_REG_DS, UC_X86_REG_FS, UC_X86_REG_GS };

/* What a case is, for a message. */
static char text[160];

static void describe(const struct instruction *insn, const char *what)
{
    snprintf(text, sizeof(text), "%s, %u bytes, CPL %u, %u-bit code, selector %x, %s: TARGET %jx",
             op_names[insn->op], insn->opsize, before.cpl, arch_code_bits(&before), insn->selector,
             what, (uintmax_t)peek(BOX_GDT + TARGET, 8));
}

#define SAME(ours, theirs)                                                                         \
    do {                                                                                           \
        uint64_t ours_ = (ours), theirs_ = (theirs);                                               \
        if (ours_ != theirs_)                                                                      \
            ck_abort_msg("%s: " #ours " is %jx, Unicorn's %jx", text, (uintmax_t)ours_,            \
                         (uintmax_t)theirs_);                                                      \
    } while (0)

static void compare_system(const struct arch_seg *seg, int reg)
{
    uc_x86_mmr mmr;

    check_uc(uc_reg_read(uc, reg, &mmr));
    SAME(seg->selector, mmr.selector);
    SAME(seg->base, mmr.base);
    SAME(seg->limit, mmr.limit);
}

static void compare(void)
{
    SAME(state.rip, uc_get(reg_rip));
    SAME(state.rflags, uc_get(reg_rflags));
    for (int i = 0; i < ARCH_SREGS; i++)
        SAME(state.sreg[i].selector, uc_get(uc_sregs[i]));
    for (int i = 0; i < 8; i++)
        SAME(state.gpr[i], uc_get(reg_gpr[i]));
    for (unsigned at = 0; at < COMPARED; at++)
        if (flat[at] != unicorn_memory[at])
            ck_abort_msg("%s: byte %x is %x, Unicorn's %x", text, at, flat[at], unicorn_memory[at]);
    if (!arch_real_mode(&state)) {
        compare_system(&state.ldtr, UC_X86_REG_LDTR);
        compare_system(&state.tr, UC_X86_REG_TR);
    }
}

/* Executes INSN in both, from the state and memory that there are, and compares. */
static void both(const struct instruction *insn, const char *what)
{
    uint64_t size = emit_instruction(insn);
    struct arch_fault fault;

    state.gpr[ARCH_RAX] = insn->selector; /* which MOV, LLDT and LTR take from AX */
    before = state;
    run_unicorn();
    describe(insn, what);
    fault = execute(insn, size);
    if (fault.raised)
        SAME(fault.vector, (uint64_t)vector);
    else if (vector >= 0)
        ck_abort_msg("%s: Unicorn raises %d", text, vector);
    else
        compare();
}

/* Each case begins where the boot left off. */
static struct arch_state start_state;
static uint8_t start_memory[COMPARED];

static void keep_start(void)
{
    start_state = state;
    memcpy(start_memory, flat, COMPARED);
}

static void begin_case(void)
{
    state = start_state;
    memcpy(flat, start_memory, COMPARED);
}

/* A stack segment of rights AR with room at its top, expand-down or not. */
static uint64_t stack_descriptor(uint32_t ar)
{
    bool down = (ar & ARCH_AR_S) && !(ar & ARCH_TYPE_CODE) && (ar & ARCH_TYPE_DOWN);

    return descriptor(0, down ? 0 : 0xffffffff, ar | AR_FLAT32 | (ar & ARCH_AR_S ? 1 : 0));
}

/* The descriptor at TARGET; always marked accessed, since Unicorn's far transfers do not do that.
 */
static void put_target(uint32_t ar)
{
    if (ar & ARCH_AR_S)
        ar |= ARCH_TYPE_ACCESSED;
    gdt_put(TARGET, descriptor(0, 0xffffffff, ar));
}

/* A frame for RETF and IRET: to TARGET, on the stack of the level that RPL says. */
static void put_frame(const struct instruction *insn, uint16_t ss, uint64_t flags)
{
    static const uint32_t top[] = { BOX_STACK0, BOX_STACK1, BOX_STACK2, BOX_STACK3 };
    uint64_t at = state.gpr[ARCH_RSP];
    unsigned size = insn->opsize;

    poke(at, 0x1000, size);
    poke(at + size, insn->selector, size);
    at += 2 * size;
    if (insn->op == IRET) {
        poke(at, flags, size);
        at += size;
    }
    at += insn->op == FAR_RET_N ? 12 : 0;
    poke(at, top[ss & 3] - 0x200, size);
    poke(at + size, ss, size);
}

static const struct {
    enum arch_mode mode;
    uint8_t cpl;
} worlds[] = {
    { PROT32, 0 }, { PROT32, 1 }, { PROT32, 3 }, { LONG64, 0 },
    { LONG64, 3 }, { COMPAT, 0 }, { COMPAT, 3 }, { V86, 3 },
};
enum {
    PROTECTED_WORLDS = TEST_COUNT(worlds) - 1
}; /* all but the last */

static void start_world(int i)
{
    boot(worlds[i].mode, worlds[i].cpl);
    keep_start();
}

/* Instructions that go to, or load, the descriptor at TARGET: each of the 256 bytes of type, S, DPL
 * and P, as 32-bit and as 64-bit code. Left out: LTR of a 16-bit TSS in IA-32e mode, which does not
 * exist there, but Unicorn loads it. */
START_TEST(descriptors)
{
    start_world(_i);
    for (enum op op = FAR_JMP; op < OPS; op++) {
        for (uint32_t ar = 0; ar < 0x200; ar++) {
            uint32_t size = !(ar & ARCH_AR_S) ? 0 : ar & 0x100 ? AR_FLAT64 : AR_FLAT32;
            bool tss16 = !(ar & ARCH_AR_S) && arch_ar_type(ar) == ARCH_TYPE_TSS16;

            if ((op == LTR && tss16 && arch_long_mode(&start_state)) ||
                ((ar & 0x100) && (op >= MOV_DS || !arch_long_mode(&start_state))))
                continue;
            for (uint16_t rpl = 0; rpl < 4; rpl += 3) {
                struct instruction insn = { op, 4, (uint16_t)(TARGET | rpl), 0x1000 };

                begin_case();
                put_target((ar & 0xff) | size);
                put_frame(&insn, ARCH_FLAT_DATA(rpl), 2);
                both(&insn, "");
            }
        }
    }
    shut_down();
}
END_TEST

/* RETF and IRET: SS of every type, in every operand size, with every RPL. Left out: SS not present,
 * where Unicorn raises #NP and not #SS, and a null SS for compatibility mode, which it takes. */
START_TEST(return_stacks)
{
    start_world(_i);
    for (enum op op = FAR_RET; op <= IRET; op++) {
        for (unsigned opsize = 2; opsize <= (arch_64bit_mode(&start_state) ? 8 : 4); opsize *= 2) {
            for (uint16_t rpl = start_state.cpl; rpl < 4; rpl++) {
                struct instruction insn = { op, opsize, ARCH_FLAT_CODE(rpl), 0 };

                for (uint32_t ar = ARCH_AR_P; ar < 0x100; ar++) {
                    begin_case();
                    gdt_put(SECOND, stack_descriptor(ar));
                    put_frame(&insn, SECOND | rpl, 2);
                    both(&insn, "SS of every type");
                }
                begin_case();
                put_frame(&insn, SECOND | ((rpl + 1) & 3), 2);
                both(&insn, "RPL of SS");
                if (start_state.sreg[ARCH_CS].ar & ARCH_AR_L) {
                    begin_case();
                    put_frame(&insn, rpl, 2);
                    both(&insn, "null SS");
                }
            }
        }
    }
    shut_down();
}
END_TEST

/* IRET with every flag popped as 1 and as 0, at every IOPL. Left out: TF, for the trap that would
 * follow, and VIF and VIP at CPL 0, which Unicorn does not load. */
START_TEST(iret_flags)
{
    unsigned max_opsize = worlds[_i].mode == LONG64 ? 8 : 4;

    start_world(_i);
    for (unsigned opsize = 2; opsize <= max_opsize; opsize *= 2) {
        for (unsigned bit = 0; bit <= 22; bit++) {
            uint64_t popped = bit == 22 ? 0x277ed5 : UINT64_C(1) << bit;
            struct instruction insn = { IRET, opsize, ARCH_FLAT_CODE(start_state.cpl), 0 };

            if (popped & (RFLAGS_TF | RFLAGS_VIF | RFLAGS_VIP | RFLAGS_VM))
                continue;
            begin_case();
            put_frame(&insn, ARCH_FLAT_DATA(start_state.cpl), popped);
            both(&insn, "flags");
        }
    }
    shut_down();
}
END_TEST

/* JMP and CALL in every operand size, and with offsets at the limits. Left out: CALL m16:64 to
 * 32-bit code past its limit, which Unicorn does not check. */
START_TEST(offsets)
{
    static const uint32_t offset[] = { 0, 0x1000, 0xffff, 0x10000, 0x8000 };

    start_world(_i);
    for (enum op op = FAR_JMP; op <= FAR_CALL; op++) {
        for (unsigned opsize = 2; opsize <= (arch_64bit_mode(&start_state) ? 8 : 4); opsize *= 2) {
            for (int i = 0; i < TEST_COUNT(offset); i++) {
                uint32_t dpl = (uint32_t)start_state.cpl << ARCH_AR_DPL_SHIFT;
                struct instruction insn = { op, opsize, TARGET | start_state.cpl, offset[i] };

                if (op == FAR_CALL && opsize == 8 && offset[i] > 0xffff)
                    continue;
                begin_case();
                gdt_put(TARGET, descriptor(0, 0xffff, AR_CODE | dpl | ARCH_AR_DB));
                both(&insn, "offsets");
            }
        }
    }
    shut_down();
}
END_TEST

/* Through call gates of both sizes, to code of every type. Left out: JMP to code that is not
 * present, where Unicorn raises #GP and not #NP; CALL to conforming code of a lower DPL, after
 * which Unicorn has that for its CPL. */
START_TEST(gates)
{
    start_world(_i);
    for (enum op op = FAR_JMP; op <= FAR_CALL; op++) {
        for (uint32_t ar = 0; ar < 0x200; ar++) {
            uint32_t size = ar & 0x100 ? AR_FLAT64 : AR_FLAT32;
            bool conforming = arch_ar_is_code(ar) && (ar & ARCH_TYPE_CONFORMING);

            if (((ar & 0x100) && !arch_long_mode(&start_state)) ||
                (op == FAR_JMP && !(ar & ARCH_AR_P)) ||
                (op == FAR_CALL && conforming && arch_ar_dpl(ar) < start_state.cpl))
                continue;
            for (unsigned i = 0; i < 8; i++) {
                struct instruction insn = { op, 4, (uint16_t)(GATE | start_state.cpl), 0 };
                unsigned type = i & 1 ? ARCH_TYPE_CALL_GATE32 : ARCH_TYPE_CALL_GATE16;
                unsigned dpl = i & 2 ? 3 : 0;

                begin_case();
                put_target((ar & 0xff) | size);
                gdt_put(GATE, gate(type, dpl, TARGET | (i & 4 ? 3 : 0), 0x1000, 5));
                gdt_put(GATE + 8, 0);
                for (unsigned j = 0; j < 5; j++)
                    poke(state.gpr[ARCH_RSP] + 4 * j, 0x11111111 * (j + 1), 4);
                both(&insn, "gate");
            }
        }
    }
    shut_down();
}
END_TEST

/* The stack that the TSS has for a CALL to level 0: every type of it. Left out: not present, where
 * Unicorn raises #TS and not #SS. */
START_TEST(inner_stacks)
{
    boot(PROT32, 3);
    keep_start();
    for (uint32_t ar = 0; ar < 0x100; ar++) {
        bool checked = (ar & ARCH_AR_P) || !arch_ar_is_writable_data(ar) || arch_ar_dpl(ar);

        for (uint16_t rpl = 0; checked && rpl < 2; rpl++) {
            struct instruction insn = { FAR_CALL, 4, GATE | 3, 0 };

            begin_case();
            gdt_put(GATE, gate(ARCH_TYPE_CALL_GATE32, 3, ARCH_FLAT_CODE(0), 0x1000, 0));
            gdt_put(SECOND, stack_descriptor(ar));
            poke(BOX_TSS + 8, (uint16_t)(SECOND | rpl), 4);
            both(&insn, "SS0 of every type");
        }
    }
    shut_down();
}
END_TEST

/* Task switches by JMP, CALL and IRET to a 32-bit task; FIELD of the new TSS, if any, then
 * selects a descriptor of every type. Left out: SS not present, where Unicorn raises #NP and not
 * #SS; 16-bit tasks, whose segment registers Unicorn looks for in the wrong places. */
static void switch_task(enum op op, unsigned field, uint32_t ar)
{
    struct instruction insn = { op, 4, op == IRET ? 0 : SEL_TSS_B, 0 };

    begin_case();
    box_task_b(4);
    if (op == IRET) {
        state.rflags |= RFLAGS_NT;
        poke(BOX_TSS, SEL_TSS_B, 2);
        poke(BOX_GDT + SEL_TSS_B + 5, peek(BOX_GDT + SEL_TSS_B + 5, 1) | ARCH_TYPE_BUSY, 1);
    }
    gdt_put(TARGET, descriptor(0, 0xffff, ar | (ar & ARCH_AR_S ? 1 : 0)));
    if (field)
        poke(BOX_TSS_B + field, TARGET, 2);
    both(&insn, "new task");
}

START_TEST(tasks)
{
    static const unsigned fields[] = { 0, 0x48, 0x4c, 0x50, 0x54, 0x60 };

    boot(PROT32, 0);
    keep_start();
    for (enum op op = FAR_JMP; op <= FAR_CALL; op++)
        for (int i = 0; i < TEST_COUNT(fields); i++)
            for (uint32_t ar = 0; ar < 0x100; ar++)
                if (fields[i] != 0x50 || (ar & ARCH_AR_P))
                    switch_task(op, fields[i], ar);
    switch_task(IRET, 0, 0);
    shut_down();
}
END_TEST

/* Real-address mode. */
START_TEST(real)
{
    boot(REAL, 0);
    keep_start();
    for (enum op op = FAR_JMP; op <= IRET; op++) {
        for (unsigned opsize = 2; opsize <= 4; opsize += 2) {
            for (unsigned bit = 0; bit < 16; bit++) {
                struct instruction insn = { op, opsize, (uint16_t)(0x100 + bit), 0x234 };

                if (1u << bit == RFLAGS_TF)
                    continue;
                begin_case();
                put_frame(&insn, 0, UINT64_C(1) << bit);
                poke(state.gpr[ARCH_RSP], 0x234, opsize);
                both(&insn, "real mode");
            }
        }
    }
    shut_down();
}
END_TEST

/* A byte read (8A 00: MOV AL, [RAX]) and written (88 00) at 400123H. */
static struct arch_fault access_byte(bool write, uint64_t *al)
{
    return write ? arch_write(&cpu, ARCH_DS, 0x400123, 1, *al)
                 : arch_read(&cpu, ARCH_DS, 0x400123, 1, al);
}

static void compare_access(bool write)
{
    uint64_t al = 0x23;
    struct arch_fault fault;

    state.gpr[ARCH_RAX] = 0x400123;
    poke(state.rip, write ? 0x0088 : 0x008a, 2);
    run_unicorn();
    fault = access_byte(write, &al);
    snprintf(text, sizeof(text), "%s at CPL %u, WP %d, PDE %jx, PTE %jx", write ? "write" : "read",
             state.cpl, !!(state.cr0 & CR0_WP), (uintmax_t)peek(PD + 16, 8),
             (uintmax_t)peek(PT, 8));
    SAME(fault.raised ? fault.vector : UINT64_MAX, (uint64_t)vector);
    if (fault.raised)
        SAME(fault.address, uc_get(UC_X86_REG_CR2));
    else
        SAME(al, uc_get(UC_X86_REG_RAX) & 0xff);
    for (unsigned at = 0; at < COMPARED; at++)
        if (flat[at] != unicorn_memory[at] && !fault.raised)
            ck_abort_msg("%s: byte %x is %x, Unicorn's %x", text, at, flat[at], unicorn_memory[at]);
}

/* Page walks: P, R/W, U/S, PS and XD of the page directory's and the page table's entry. */
START_TEST(paging)
{
    boot(LONG64, _i & 1 ? 3 : 0);
    if (_i & 2)
        state.cr0 |= CR0_WP;
    keep_start();
    for (unsigned bits = 0; bits < 0x200; bits++) {
        uint64_t pde = PT | (bits & 7) | (uint64_t)(bits >> 6 & 1) << 63;
        uint64_t pte = 0x6000 | (bits >> 3 & 7) | (uint64_t)(bits >> 7 & 1) << 63;

        if (bits & 0x100)
            pde = (pde & ~(uint64_t)PT) | 0x80;
        for (int write = 0; write < 2; write++) {
            begin_case();
            poke(PD + 16, pde, 8);
            poke(PT, pte, 8);
            poke(0x6123, 0x77, 1);
            check_uc(uc_ctl_flush_tlb(uc));
            compare_access(write);
        }
    }
    shut_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer_arch");
    TCase *tcase = tcase_create("peer_arch");

    tcase_add_loop_test(tcase, descriptors, 0, TEST_COUNT(worlds));
    tcase_add_loop_test(tcase, return_stacks, 0, PROTECTED_WORLDS);
    tcase_add_loop_test(tcase, iret_flags, 0, PROTECTED_WORLDS);
    tcase_add_loop_test(tcase, offsets, 0, PROTECTED_WORLDS);
    tcase_add_loop_test(tcase, gates, 0, PROTECTED_WORLDS);
    tcase_add_test(tcase, inner_stacks);
    tcase_add_test(tcase, tasks);
    tcase_add_test(tcase, real);
    tcase_add_loop_test(tcase, paging, 0, 4);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
