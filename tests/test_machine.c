/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine on small guest programs: the events they must give and the addresses executed. */
#include <stdio.h>
#include <string.h>

#include "../models/cost.h"
#include "guest.h"
#include "suite.h"

/* Programs that run to HLT. events: instruction count, kind, from, to; truth: addresses, all of
 * them as label or label+offset. NULL: not looked at. */
struct row {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    const char *text, *events, *truth;
};

static const struct row rows[] = {
    { "near branches", ARCH_MODE_LONG64, 0,
      "mov ecx, 2\n"
      "a: dec ecx\n"
      "b: jnz a\n"
      "c: jmp d\n"
      "nop\n"
      "d: call f\n"
      "e: lea rax, [rip + g]\n"
      "h: jmp rax\n"
      "f: ret\n"
      "g: lea rax, [rip + f]\n"
      "i: call rax\n"
      "end: hlt\n",
      "3 cond_branch taken b a\n"
      "5 cond_branch not_taken b c\n"
      "6 jmp_direct c d\n"
      "7 call_direct d f\n"
      "8 ret f e\n"
      "10 jmp_indirect h g\n"
      "12 call_indirect i f\n"
      "13 ret f end\n",
      "start a b a b c d f e h g i f end" },
    { "a conditional branch to the next instruction, taken and not", ARCH_MODE_LONG64, 0,
      "xor eax, eax\n"
      "a: jz b\n"
      "b: jnz c\n"
      "c: stc\n"
      "d: jc e\n"
      "e: ja f\n"
      "f: hlt\n",
      "2 cond_branch taken a b\n"
      "3 cond_branch not_taken b c\n"
      "5 cond_branch taken d e\n"
      "6 cond_branch not_taken e f\n",
      NULL },
    { "LOOP and JRCXZ to the next instruction", ARCH_MODE_LONG64, 0,
      "mov ecx, 2\n"
      "a: loop b\n"
      "b: loop c\n"
      "c: jrcxz d\n"
      "d: mov ecx, 1\n"
      "e: jecxz f\n"
      "f: hlt\n",
      "2 cond_branch taken a b\n"
      "3 cond_branch not_taken b c\n"
      "4 cond_branch taken c d\n"
      "6 cond_branch not_taken e f\n",
      NULL },
    { "LOOPE and LOOPNE", ARCH_MODE_LONG64, 0,
      "mov ecx, 3\n"
      "cmp eax, eax\n"
      "a: loope a\n"
      "b: mov ecx, 3\n"
      "c: loopne c\n"
      "d: hlt\n",
      "3 cond_branch taken a a\n"
      "4 cond_branch taken a a\n"
      "5 cond_branch not_taken a b\n"
      "7 cond_branch not_taken c d\n",
      NULL },
    { "a repeated string instruction counts once", ARCH_MODE_LONG64, 0,
      "mov edi, 0x100000\n"
      "mov ecx, 5\n"
      "a: nop\n"
      "b: rep stosb\n"
      "c: rep stosb\n"
      "d: jmp e\n"
      "e: hlt\n",
      "6 jmp_direct d e\n", "start start+5 a b c d e" },
    { "REPNE SCASB that is the target of its own block's branch", ARCH_MODE_LONG64, 0,
      "mov edi, 0x100000\n"
      "mov ecx, 4\n"
      "mov ebx, 2\n"
      "mov al, 1\n"
      "a: repne scasb\n"
      "b: mov ecx, 1\n"
      "c: dec ebx\n"
      "d: jnz a\n"
      "e: hlt\n",
      "8 cond_branch taken d a\n"
      "12 cond_branch not_taken d e\n",
      NULL },
    { "a zero-length CALL, pushed and popped", ARCH_MODE_LONG64, 0,
      "a: call b\n"
      "b: pop rax\n"
      "hlt\n",
      "1 call_direct a b\n", NULL },
    { "RET imm16 and RET elsewhere", ARCH_MODE_LONG64, 0,
      "push 0\n"
      "a: call b\n"
      "c: lea rax, [rip + e]\n"
      "push rax\n"
      "d: ret\n"
      "nop\n"
      "b: ret 8\n"
      "e: hlt\n",
      "2 call_direct a b\n"
      "3 ret b c\n"
      "6 ret d e\n",
      NULL },
    { "a block longer than Unicorn makes one", ARCH_MODE_LONG64, 0,
      "a: jmp b\n"
      "b: .rept 1500\nnop\n.endr\n"
      "c: jmp d\n"
      "d: hlt\n",
      "1 jmp_direct a b\n"
      "1502 jmp_direct c d\n",
      NULL },
    { "real mode: near branches wrap within the segment", ARCH_MODE_REAL, 0,
      "a: call b\n"
      "c: mov cx, 2\n"
      "d: loop d\n"
      "e: mov bx, offset f\n"
      "g: jmp bx\n"
      "b: ret\n"
      "f: jcxz h\n"
      "h: hlt\n",
      "1 call_direct a b\n"
      "2 ret b c\n"
      "4 cond_branch taken d d\n"
      "5 cond_branch not_taken d e\n"
      "7 jmp_indirect g f\n"
      "8 cond_branch taken f h\n",
      NULL },
    { "real mode: far transfers", ARCH_MODE_REAL, 0,
      "a: call 0x100:b - 0x1000\n"
      "c: jmp 0x200:d - 0x2000\n"
      "b: retf\n"
      "d: pushf\n"
      "push cs\n"
      "push offset f - 0x2000\n"
      "e: iret\n"
      "nop\n"
      "f: hlt\n",
      "1 far_branch a b\n"
      "2 far_branch b c\n"
      "3 far_branch c d\n"
      "7 iret e f\n",
      NULL },
    { "real mode: software interrupts through the IVT", ARCH_MODE_REAL, 0,
      "a: int 0x21\n"
      "b: int3\n"
      "c: mov al, 0x7f\n"
      "inc al\n"
      "d: into\n"
      "clc\n"
      "f: hlt\n"
      "vec_33: iret\n"
      "vec_3: iret\n"
      "vec_4: iret\n",
      "1 sw_interrupt 33 a vec_33\n"
      "2 iret vec_33 b\n"
      "3 sw_interrupt 3 b vec_3\n"
      "4 iret vec_3 c\n"
      "7 sw_interrupt 4 d vec_4\n"
      "8 iret vec_4 d+1\n",
      NULL },
    { "INTO with OF clear is no transfer", ARCH_MODE_PROT32, 0,
      "xor eax, eax\n"
      "into\n"
      "hlt\n",
      "", NULL },
    { "32-bit protected mode: far transfers and INT1", ARCH_MODE_PROT32, 0,
      "a: .byte 0x9a\n.long b\n.word 8\n"
      "c: .byte 0xf1\n"
      "d: jmp e\n"
      "b: retf\n"
      "e: hlt\n"
      "vec_1: iretd\n",
      "1 far_branch a b\n"
      "2 far_branch b c\n"
      "3 sw_interrupt 1 c vec_1\n"
      "4 iret vec_1 d\n"
      "5 jmp_direct d e\n",
      NULL },
    { "64-bit user code: a system call by interrupt, with a stack switch", ARCH_MODE_LONG64, 3,
      "a: nop\n"
      "b: int 0x80\n"
      "c: int 0x20\n"
      "vec_128: mov rax, rsp\n"
      "d: iretq\n"
      "vec_32: hlt\n",
      "2 sw_interrupt 128 b vec_128\n"
      "4 iret d c\n"
      "5 sw_interrupt 32 c vec_32\n",
      "a b vec_128 d c vec_32" },
    { "32-bit user code: the same", ARCH_MODE_PROT32, 3,
      "b: int 0x80\n"
      "c: int 0x20\n"
      "vec_128: push eax\n"
      "pop eax\n"
      "d: iretd\n"
      "vec_32: hlt\n",
      "1 sw_interrupt 128 b vec_128\n"
      "4 iret d c\n"
      "5 sw_interrupt 32 c vec_32\n",
      NULL },
    { "a divide error in the middle of a block, repaired and repeated", ARCH_MODE_LONG64, 0,
      "xor ecx, ecx\n"
      "xor edx, edx\n"
      "mov eax, 6\n"
      "a: div ecx\n"
      "b: jmp c\n"
      "c: hlt\n"
      "vec_0: mov ecx, 2\n"
      "d: iretq\n",
      "3 fault 0 a vec_0\n"
      "5 iret d a\n"
      "7 jmp_direct b c\n",
      "start start+2 start+4 vec_0 d a b c" },
    { "#UD, of UD2 and of what no processor has", ARCH_MODE_LONG64, 0,
      "a: ud2\n"
      "b: .byte 0x06\n"
      "c: hlt\n"
      "vec_6: cmp byte ptr [rsp + 25], 0\n"
      "mov rax, [rsp]\n"
      "cmp byte ptr [rax], 6\n"
      "d: jz e\n"
      "inc qword ptr [rsp]\n"
      "e: inc qword ptr [rsp]\n"
      "f: iretq\n",
      NULL, "vec_6 vec_6+5 vec_6+9 d d+2 e f vec_6 vec_6+5 vec_6+9 d e f c" },
    { "privileged instructions of user code: #GP, and no event of their own", ARCH_MODE_LONG64, 3,
      "a: hlt\n"
      "b: cli\n"
      "c: wrmsr\n"
      "d: mov cr3, rax\n"
      "e: int 0x20\n"
      "vec_13: add rsp, 8\n"
      "mov rax, [rsp]\n"
      "cmp byte ptr [rax], 0x0f\n"
      "jnz f\n"
      "inc qword ptr [rsp]\n"
      "cmp byte ptr [rax + 1], 0x22\n"
      "jnz f\n"
      "inc qword ptr [rsp]\n"
      "f: inc qword ptr [rsp]\n"
      "iretq\n"
      "vec_32: hlt\n",
      NULL, NULL },
    { "a page fault at the target of a branch: the branch has retired", ARCH_MODE_LONG64, 0,
      "a: jmp 0x500000\n"
      "vec_14: hlt\n",
      "1 jmp_direct a 0x500000\n"
      "1 fault 14 0x500000 vec_14\n",
      "a vec_14" },
    { "a page fault in data, at the third instruction", ARCH_MODE_LONG64, 0,
      "nop\n"
      "mov eax, 0x500000\n"
      "a: mov ebx, [rax]\n"
      "nop\n"
      "hlt\n"
      "vec_14: hlt\n",
      "2 fault 14 a vec_14\n", "start start+1 vec_14" },
    { "code that changes code ahead of it", ARCH_MODE_LONG64, 0,
      "mov ecx, 2\n"
      "a: jmp b\n"
      "b: nop\n"
      "c: jmp d\n"
      "d: dec ecx\n"
      "e: jz f\n"
      "mov byte ptr [rip + c + 1], f - c - 2\n"
      "g: jmp b\n"
      "f: hlt\n",
      "2 jmp_direct a b\n"
      "4 jmp_direct c d\n"
      "6 cond_branch not_taken e e+2\n"
      "8 jmp_direct g b\n"
      "10 jmp_direct c f\n",
      NULL },
    { "code that changes its own block, ahead of the store", ARCH_MODE_LONG64, 0,
      "a: nop\n"
      "b: mov byte ptr [rip + c], 0xf4\n"
      "nop\n"
      "c: jmp d\n"
      "d: hlt\n",
      "", "a b b+7 c" },
    { "code that changes its own block, behind the store", ARCH_MODE_LONG64, 0,
      "mov ecx, 2\n"
      "a: mov byte ptr [rip + a], 0xc6\n"
      "b: dec ecx\n"
      "c: jnz a\n"
      "d: hlt\n",
      "4 cond_branch taken c a\n"
      "7 cond_branch not_taken c d\n",
      "start a b c a b c d" },
    { "MOV CR3, CLI and STI", ARCH_MODE_LONG64, 0,
      "mov rax, cr3\n"
      "a: mov cr3, rax\n"
      "b: sti\n"
      "c: sti\n"
      "d: cli\n"
      "pushf\n"
      "popf\n"
      "hlt\n",
      "2 mov_cr3 a b\n"
      "3 context b c\n"
      "5 context d d+1\n",
      NULL },
    { "TF: a trap after each instruction, a branch too", ARCH_MODE_LONG64, 0,
      "pushf\n"
      "or dword ptr [rsp], 0x100\n"
      "a: popf\n"
      "b: nop\n"
      "c: jmp d\n"
      "nop\n"
      "d: pushf\n"
      "e: and dword ptr [rsp], 0xfffffeff\n"
      "f: popf\n"
      "g: hlt\n"
      "vec_1: iretq\n",
      "4 trap 1 c vec_1\n"
      "5 iret vec_1 c\n"
      "6 jmp_direct c d\n"
      "6 trap 1 d vec_1\n"
      "7 iret vec_1 d\n"
      "8 trap 1 e vec_1\n"
      "9 iret vec_1 e\n"
      "10 trap 1 f vec_1\n"
      "11 iret vec_1 f\n"
      "12 trap 1 g vec_1\n"
      "13 iret vec_1 g\n",
      NULL },
    { "SYSCALL and SYSRET", ARCH_MODE_LONG64, 0,
      "mov ecx, 0xc0000080\n"
      "rdmsr\n"
      "or eax, 1\n"
      "wrmsr\n"
      "mov ecx, 0xc0000081\n"
      "mov edx, 0x00280008\n"
      "wrmsr\n"
      "mov ecx, 0xc0000082\n"
      "lea rax, [rip + entry]\n"
      "xor edx, edx\n"
      "wrmsr\n"
      "lea rcx, [rip + user]\n"
      "mov r11d, 2\n"
      "a: sysretq\n"
      "user: nop\n"
      "b: syscall\n"
      "entry: hlt\n",
      NULL, NULL },
};

START_TEST(test_row)
{
    const struct row *row = &rows[_i];
    struct guest guest;

    guest_start(&guest, "max", row->mode, row->cpl, row->text);
    guest_watch(&guest);

    enum machine_end end = guest_run(&guest);

    ck_assert_msg(end == MACHINE_HALTED, "%s: ended with %d: %s\n%s%s", row->name, end,
                  machine_error(guest.machine), guest.events, guest.truth);
    if (row->events)
        ck_assert_msg(!strcmp(guest.events, row->events), "%s: events\n%sinstead of\n%s", row->name,
                      guest.events, row->events);
    if (row->truth)
        ck_assert_msg(!strcmp(guest.truth, row->truth), "%s: executed\n%s\ninstead of\n%s",
                      row->name, guest.truth, row->truth);
    ck_assert_uint_le(guest.insns, machine_instructions(guest.machine));
    guest_end(&guest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine");
    TCase *tcase = tcase_create("machine");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, test_row, 0, TEST_COUNT(rows));
    return suite_run(suite);
}
