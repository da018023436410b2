/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt_rig.h"

/* 64-bit mode at CPL 0 and 3, and other address spaces and modes. */
#define K       CONTEXT_64(0, 0x5000)
#define U       CONTEXT_64(3, 0x5000)
#define K2      CONTEXT_64(0, 0x6000)
#define U2      CONTEXT_64(3, 0x6000)
#define P       CONTEXT_32(0, 0x5000)
#define P2      CONTEXT_32(0, 0x6000)
#define PU      CONTEXT_32(3, 0x5000)
#define R       CONTEXT_REAL(0)
#define K_PCID  CONTEXT_64(0, 0x5fff)
#define PAE     CONTEXT_PAE(0, 0x5000)
#define PAE_020 CONTEXT_PAE(0, 0x5020)

#define ALL         CTL_BRANCHES
#define OS_ONLY     (CTL_BRANCHES & ~CTL(User))
#define USER_ONLY   (CTL_BRANCHES & ~CTL(OS))
#define CR3         (CTL_BRANCHES | CTL(CR3Filter)) /* matches 5000H */
/* Range 0, 2000H to 2fffH, filters; range 1, 4000H to 4fffH, stops. */
#define FILTER      (CTL_BRANCHES | CTL_(ADDR0_CFG, 1))
#define STOP        (CTL_BRANCHES | CTL_(ADDR1_CFG, 2))
#define BOTH        (FILTER | STOP)
/* Range 3, at 1000H, where tracing begins. */
#define STOP_HERE   (CTL_BRANCHES | CTL_(ADDR3_CFG, 2))
#define FILTER_HERE CTL_(ADDR2_CFG, 1)

/* What the events give in tracing that began with a WRMSR before 1000H in START. */
struct row {
    const char *title;
    const char *packets;
    uint64_t ctl;
    struct ev_context start;
    struct ptsim_event events[9];
};

/* Table 33-55: PacketEn set before and after. */
static const struct row table_33_55[] = {
    { "1 normal non-jump operation", "", ALL, K, { NEAR(TIME, 0x1000, 3, 0x1003) } },
    { "2 conditional branch, the 6th in the TNT buffer",
      "TNT(101001)",
      ALL,
      K,
      { COND(true, 0x1000, 0x1010), COND(false, 0x1010, 0x1020), COND(true, 0x1012, 0x1020),
        COND(false, 0x1020, 0x1000), COND(false, 0x1022, 0x1000), COND(true, 0x1024, 0x1000) } },
    { "3 conditional branch, the 1st to 5th",
      "",
      ALL,
      K,
      { COND(true, 0x1000, 0x1010), COND(false, 0x1010, 0x1020), COND(true, 0x1012, 0x1020),
        COND(false, 0x1020, 0x1000), COND(false, 0x1022, 0x1000) } },
    { "taken to the next instruction",
      "TNT(1) TIP(1,0x2000)",
      ALL,
      K,
      { COND(true, 0x1000, 0x1002), NEAR(JMP_INDIRECT, 0x1002, 2, 0x2000) } },
    { "4 near indirect JMP", "TIP(1,0x3000)", ALL, K, { NEAR(JMP_INDIRECT, 0x1000, 2, 0x3000) } },
    { "4 near indirect CALL", "TIP(1,0x3000)", ALL, K, { NEAR(CALL_INDIRECT, 0x1000, 2, 0x3000) } },
    { "5 direct near JMP and CALL",
      "",
      ALL,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x3000), NEAR(CALL_DIRECT, 0x3000, 5, 0x1000) } },
    { "6 near RET, uncompressed", "TIP(1,0x3000)", ALL, K, { NEAR(RET, 0x1000, 1, 0x3000) } },
    { "7 near RET, compressed, the 6th in the TNT buffer",
      "TNT(010101)",
      ALL,
      K,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x3000), COND(false, 0x3000, 0x4000),
        COND(true, 0x3002, 0x3004), COND(false, 0x3004, 0x4000), COND(true, 0x3006, 0x3008),
        COND(false, 0x3008, 0x4000), NEAR(RET, 0x300a, 1, 0x1005) } },
    { "8 far branch", "TIP(1,0x3000)", ALL, K, { FAR(FAR_BRANCH, 0x1000, K, 0x3000, U) } },
    { "9 far branch, CR3",
      "PIP(0x6000) TIP(1,0x3000)",
      ALL,
      K,
      { FAR(FAR_BRANCH, 0x1000, K, 0x3000, K2) } },
    { "10 far branch, CR3 and mode",
      "PIP(0x6000) MODE.Exec(32) TIP(1,0x3000)",
      ALL,
      K,
      { FAR(FAR_BRANCH, 0x1000, K, 0x3000, P2) } },
    { "far branch, mode",
      "MODE.Exec(16) TIP(1,0x3000)",
      ALL,
      P,
      { FAR(FAR_BRANCH, 0x1000, P, 0x3000, R) } },
    { "11 external interrupt",
      "FUP(1,0x1000) TIP(1,0x3000)",
      ALL,
      K,
      { FAR(INTERRUPT, 0x1000, K, 0x3000, K) } },
    { "11 NMI", "FUP(1,0x1000) TIP(1,0x3000)", ALL, U, { FAR(NMI, 0x1000, U, 0x3000, K) } },
    { "12 external interrupt, CR3 and mode",
      "FUP(1,0x1000) PIP(0x6000) MODE.Exec(32) TIP(1,0x3000)",
      ALL,
      K,
      { FAR(INTERRUPT, 0x1000, K, 0x3000, P2) } },
    { "13 fault", "FUP(1,0x1000) TIP(1,0x3000)", ALL, U, { FAR(FAULT, 0x1000, U, 0x3000, K) } },
    { "13 software interrupt",
      "FUP(1,0x1000) TIP(1,0x3000)",
      ALL,
      U,
      { FAR(SW_INTERRUPT, 0x1000, U, 0x3000, K) } },
    { "a trap", "FUP(1,0x1000) TIP(1,0x3000)", ALL, U, { FAR(TRAP, 0x1000, U, 0x3000, K) } },
    { "14 MOV to CR3", "PIP(0x6000)", ALL, K, { FAR(MOV_CR3, 0x1000, K, 0x1003, K2) } },
    { "14 MOV to CR3 with the same value",
      "PIP(0x5000)",
      ALL,
      K,
      { FAR(MOV_CR3, 0x1000, K, 0x1003, K) } },
    { "a partial TNT goes before any other packet",
      "TNT(10) PIP(0x6000) TNT(0) FUP(1,0x1005) "
      "TIP(1,0x3000)",
      ALL,
      K,
      { COND(true, 0x1000, 0x1000), COND(false, 0x1000, 0x1000),
        FAR(MOV_CR3, 0x1002, K, 0x1005, K2), COND(false, 0x1003, 0x1000),
        FAR(INTERRUPT, 0x1005, K2, 0x3000, K2) } },
    { "another change of context", "", ALL, K, { FAR(CONTEXT, 0x1000, K, 0x1001, K) } },
};

/* Table 33-56, cases 4 to 8: PacketEn goes or comes. */
static const struct row table_33_56[] = {
    { "4 direct jump out of the range",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TNT(0) TIP.PGD(1,0x3000)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), COND(false, 0x2000, 0x1000),
        NEAR(JMP_DIRECT, 0x2002, 5, 0x3000), COND(true, 0x3000, 0x3004),
        NEAR(JMP_INDIRECT, 0x3004, 2, 0x1000) } },
    { "4 indirect jump",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x3000)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), NEAR(JMP_INDIRECT, 0x2000, 2, 0x3000) } },
    { "4 RET that could be compressed",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x3000)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), NEAR(CALL_DIRECT, 0x2ffb, 5, 0x2100),
        NEAR(RET, 0x2100, 1, 0x3000) } },
    { "4 conditional branch",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TNT(1) TIP.PGD()",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), COND(true, 0x2000, 0x2010),
        COND(true, 0x2010, 0x3000) } },
    { "4 interrupt",
      "MODE.Exec(64) TIP.PGE(1,0x2000) FUP(1,0x2004) PIP(0x6000) TIP.PGD(1,0x3000)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), FAR(INTERRUPT, 0x2004, K, 0x3000, K2) } },
    { "5 conditional branch, and again without MODE.Exec",
      "MODE.Exec(64) TIP.PGE(1,0x2fff) TIP.PGD() TIP.PGE(1,0x2000)",
      FILTER,
      K,
      { COND(true, 0x1000, 0x2fff), COND(true, 0x2fff, 0x1000), COND(true, 0x1000, 0x2000) } },
    { "5 indirect CALL, RET",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x1000) TIP.PGE(1,0x2800)",
      FILTER,
      K,
      { NEAR(CALL_INDIRECT, 0x1000, 2, 0x2000), NEAR(JMP_INDIRECT, 0x2000, 2, 0x1000),
        NEAR(RET, 0x1000, 1, 0x2800) } },
    { "5 interrupt, fault",
      "PIP(0x6000) MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x1000) TIP.PGE(1,0x2000)",
      FILTER,
      K,
      { FAR(INTERRUPT, 0x1000, K, 0x2000, K2), NEAR(JMP_DIRECT, 0x2000, 2, 0x1000),
        FAR(FAULT, 0x1000, K2, 0x2000, K2) } },
    { "5 far branch into another mode",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x1000) PIP(0x6000) MODE.Exec(32) "
      "TIP.PGE(1,0x2000)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), NEAR(JMP_DIRECT, 0x2000, 2, 0x1000),
        FAR(FAR_BRANCH, 0x1000, K, 0x2000, P2) } },
    { "6 SYSCALL where CPL 3 alone is traced, and the way back, to 32-bit code too",
      "TNT(1) TIP.PGD() TIP.PGE(1,0x1004) TIP.PGD() MODE.Exec(32) TIP.PGE(1,0x1005)",
      USER_ONLY,
      U,
      { COND(true, 0x1000, 0x1002), FAR(FAR_BRANCH, 0x1002, U, 0x8000, K),
        NEAR(JMP_INDIRECT, 0x8000, 2, 0x9000), FAR(FAR_BRANCH, 0x9000, K, 0x1004, U),
        FAR(FAR_BRANCH, 0x1004, U, 0x8000, K), FAR(FAR_BRANCH, 0x8000, K, 0x1005, PU) } },
    { "7 interrupt, NMI",
      "FUP(1,0x1002) TIP.PGD() TIP.PGE(1,0x1002) FUP(1,0x1004) TIP.PGD()",
      USER_ONLY,
      U,
      { FAR(INTERRUPT, 0x1002, U, 0x8000, K), FAR(FAR_BRANCH, 0x8000, K, 0x1002, U),
        FAR(NMI, 0x1004, U, 0x8000, K2) } },
    { "8 fault, software interrupt",
      "FUP(1,0x1002) TIP.PGD() TIP.PGE(1,0x1002) FUP(1,0x1004) TIP.PGD()",
      USER_ONLY,
      U,
      { FAR(FAULT, 0x1002, U, 0x8000, K), FAR(FAR_BRANCH, 0x8000, K, 0x1002, U),
        FAR(SW_INTERRUPT, 0x1004, U, 0x8000, K) } },
    { "CPL 0 alone",
      "TIP.PGD() PIP(0x6000) TIP.PGE(1,0x8000)",
      OS_ONLY,
      K,
      { FAR(FAR_BRANCH, 0x1000, K, 0x400000, U2), NEAR(JMP_INDIRECT, 0x400000, 2, 0x400010),
        FAR(INTERRUPT, 0x400010, U, 0x8000, K2) } },
    { "MOV to CR3 away, further away, back",
      "TIP.PGD() PIP(0x5000) TIP.PGE(1,0x1009)",
      CR3,
      K,
      { FAR(MOV_CR3, 0x1000, K, 0x1003, K2), FAR(MOV_CR3, 0x1003, K2, 0x1006, K2),
        FAR(MOV_CR3, 0x1006, K2, 0x1009, K) } },
    { "task switch away and back",
      "FUP(1,0x1000) TIP.PGD() PIP(0x5000) TIP.PGE(1,0x1000)",
      CR3,
      K,
      { FAR(INTERRUPT, 0x1000, K, 0x8000, K2), FAR(FAR_BRANCH, 0x8000, K2, 0x1000, K) } },
    { "bits 11:0 of CR3 do not matter",
      "PIP(0x5000)",
      CR3,
      K,
      { FAR(MOV_CR3, 0x1000, K, 0x1003, K_PCID) } },
    { "with PAE paging bits 11:5 do",
      "TIP.PGD() PIP(0x5000) TIP.PGE(1,0x1009)",
      CR3,
      PAE,
      { FAR(MOV_CR3, 0x1003, PAE, 0x1006, PAE_020), FAR(MOV_CR3, 0x1006, PAE_020, 0x1009, PAE) } },
    { "with PAE paging PIP has bits 11:5",
      "PIP(0x5020)",
      ALL,
      PAE,
      { FAR(MOV_CR3, 0x1003, PAE, 0x1006, PAE_020) } },
    { "out of the range PIPs go on",
      "PIP(0x6000) PIP(0x5000)",
      FILTER,
      K,
      { FAR(FAR_BRANCH, 0x1000, K, 0x1800, K2), FAR(INTERRUPT, 0x1800, K2, 0x1000, K) } },
    { "no PIP out of context",
      "TIP.PGD()",
      USER_ONLY,
      U,
      { FAR(FAR_BRANCH, 0x1000, U, 0x8000, K2), FAR(MOV_CR3, 0x8000, K2, 0x8003, K) } },
    { "no PIP without OS",
      "FUP(1,0x1000) TIP(1,0x2000)",
      USER_ONLY,
      U,
      { FAR(SW_INTERRUPT, 0x1000, U, 0x2000, U2) } },
    { "without BranchEn PIPs go on",
      "PIP(0x6000) PIP(0x5000)",
      ALL & ~CTL(BranchEn),
      K,
      { COND(true, 0x1000, 0x1002), NEAR(JMP_INDIRECT, 0x1002, 2, 0x1000),
        FAR(INTERRUPT, 0x1000, K, 0x8000, P2), FAR(MOV_CR3, 0x8000, P2, 0x8003, P),
        FAR(FAULT, 0x8003, P, 0x9000, R) } },
};

/* 33.2.5.3: ranges are entered and left by branches and events; their limits belong to them. */
static const struct row ranges[] = {
    { "table 33-2",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TNT(0) TIP.PGD(1,0x3000)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000), COND(false, 0x2000, 0x2ff0),
        NEAR(JMP_DIRECT, 0x2ff0, 5, 0x3000) } },
    { "walking out, and the next branch",
      "MODE.Exec(64) TIP.PGE(1,0x2ffe) TNT(00) TIP.PGD(1,0x3010)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2ffe), COND(false, 0x2ffe, 0x1000),
        COND(false, 0x3000, 0x1000), NEAR(JMP_DIRECT, 0x3002, 5, 0x3010) } },
    { "walking in, and the next branch",
      "MODE.Exec(64) TIP.PGE(1,0x2010)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x1ffe), COND(false, 0x1ffe, 0x1000),
        FAR(CONTEXT, 0x2000, K, 0x2001, K), COND(true, 0x2001, 0x2010) } },
    { "MOV to CR3 looks",
      "MODE.Exec(64) TIP.PGE(1,0x2ffe) PIP(0x5000) TIP.PGD(1,0x3001)",
      FILTER,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 2, 0x2ffe), FAR(MOV_CR3, 0x2ffe, K, 0x3001, K) } },
    { "TraceStop, direct",
      "TIP.PGD(1,0x4000) TraceStop",
      STOP,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 5, 0x4000), NEAR(JMP_INDIRECT, 0x4000, 2, 0x1000) } },
    { "TraceStop, indirect",
      "TNT(1) TIP.PGD(1,0x4fff) TraceStop",
      STOP,
      K,
      { COND(true, 0x1000, 0x1002), NEAR(CALL_INDIRECT, 0x1002, 2, 0x4fff) } },
    { "TraceStop, conditional", "TIP.PGD() TraceStop", STOP, K, { COND(true, 0x1000, 0x4000) } },
    { "TraceStop, interrupt",
      "FUP(1,0x1000) PIP(0x6000) TIP.PGD(1,0x4000) TraceStop",
      STOP,
      K,
      { FAR(INTERRUPT, 0x1000, K, 0x4000, K2) } },
    { "TraceStop, walked into",
      "TNT(0) TIP(1,0x1000)",
      STOP,
      K,
      { COND(false, 0x3ffe, 0x1000), NEAR(JMP_INDIRECT, 0x4000, 2, 0x1000) } },
    { "TraceStop, MOV to CR3 in it",
      "PIP(0x6000) TIP.PGD(1,0x4003) TraceStop",
      STOP,
      K,
      { FAR(MOV_CR3, 0x4000, K, 0x4003, K2) } },
    { "TraceStop while FilterEn is clear", "TraceStop", BOTH, K, { COND(true, 0x1000, 0x4000) } },
    { "TraceStop while FilterEn is clear, far",
      "PIP(0x6000) TraceStop",
      BOTH,
      K,
      { FAR(FAR_BRANCH, 0x1000, K, 0x4000, K2), FAR(FAR_BRANCH, 0x1000, K2, 0x2000, K) } },
    { "TraceStop out of the range",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x4800) TraceStop",
      BOTH,
      K,
      { NEAR(JMP_DIRECT, 0x1000, 5, 0x2000), NEAR(JMP_DIRECT, 0x2000, 5, 0x4800) } },
    { "TraceStop needs ContextEn",
      "TIP.PGD()",
      STOP & ~CTL(OS),
      U,
      { FAR(FAR_BRANCH, 0x1000, U, 0x4000, K), NEAR(JMP_DIRECT, 0x4000, 2, 0x4010) } },
    { "a filter range and TraceStop overlap",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP.PGD(1,0x2800) TraceStop",
      FILTER | CTL_(ADDR2_CFG, 2),
      K,
      { NEAR(JMP_DIRECT, 0x1000, 5, 0x2000), NEAR(JMP_DIRECT, 0x2000, 5, 0x2800) } },
};

#define PTW(from, bytes, with)                                                                     \
    {                                                                                              \
        .kind = EV_PTWRITE, .from_ip = (from), .next_ip = (from) + 4, .to_ip = (from) + 4,         \
        .size = (bytes), .value = (with)                                                           \
    }

/* Table 33-58 (33-57 in the text: the captions are swapped), and what 33.4.2.21 adds. */
static const struct row ptwrites[] = {
    { "1 ContextEn clear", "", USER_ONLY | CTL(PTWEn), K, { PTW(0x1000, 8, 5) } },
    { "1 FilterEn clear", "", FILTER | CTL(PTWEn), K, { PTW(0x1000, 8, 5) } },
    { "2 of 32 bits", "PTW(4,0xffffffff)", ALL | CTL(PTWEn), K, { PTW(0x1000, 4, 0xffffffff) } },
    { "2 of 32 bits, FUPonPTW",
      "PTW(4,0x5,IP) FUP(1,0x1000)",
      ALL | CTL(PTWEn) | CTL(FUPonPTW),
      K,
      { PTW(0x1000, 4, 5) } },
    { "3 of 64 bits",
      "PTW(8,0x8000000000000000)",
      ALL | CTL(PTWEn),
      K,
      { PTW(0x1000, 8, UINT64_C(1) << 63) } },
    { "3 of 64 bits, FUPonPTW, after an outcome",
      "TNT(1) PTW(8,0x5,IP) FUP(1,0x1010)",
      ALL | CTL(PTWEn) | CTL(FUPonPTW),
      K,
      { COND(true, 0x1000, 0x1010), PTW(0x1010, 8, 5) } },
    { "BranchEn clear",
      "PTW(8,0x5,IP) FUP(1,0x1000)",
      (ALL | CTL(PTWEn) | CTL(FUPonPTW)) & ~CTL(BranchEn),
      K,
      { PTW(0x1000, 8, 5) } },
    { "PTWEn clear", "", ALL | CTL(FUPonPTW), K, { PTW(0x1000, 8, 5) } },
    { "after TraceStop",
      "TIP.PGD(1,0x4000) TraceStop",
      STOP | CTL(PTWEn),
      K,
      { NEAR(JMP_DIRECT, 0x1000, 5, 0x4000), PTW(0x4000, 8, 5) } },
    { "PTW is CYC-eligible, FUP is not",
      "CYC(1) PTW(8,0x5,IP) FUP(1,0x1000) CYC(1) PTW(4,0x6,IP) FUP(1,0x1004)",
      ALL | CTL(PTWEn) | CTL(FUPonPTW) | CTL(CYCEn),
      K,
      { PTW(0x1000, 8, 5), PTW(0x1004, 4, 6) } },
};

/* RFLAGS.IF is set in K and U. */
#define K_CLI                                                                                      \
    {                                                                                              \
        .cr3 = 0x5000, .cs_l = true, .lma = true                                                   \
    }
#define VECTOR(what, number, from, in, to, then)                                                   \
    {                                                                                              \
        .kind = EV_##what, .vector = (number), .value = 0xb123, .from_ip = (from), .to_ip = (to),  \
        .before = in, .after = then                                                                \
    }
#define EVENTS       (ALL | CTL(EventEn))
#define EVENTS_ALONE (EVENTS & ~CTL(BranchEn))
#define EVENTS_OS    (EVENTS_ALONE & ~CTL(User))

/* 33.4.2.29 and table 33-59, beside what the goldens have. */
static const struct row event_traces[] = {
    { "INTR into the context: no IP",
      "CFE(1,32)",
      EVENTS_OS,
      U,
      { VECTOR(INTERRUPT, 32, 0x1000, U, 0x2000, K) } },
    { "INTR out of the context: the IP of before",
      "CFE(1,32,IP) FUP(1,0x1000)",
      EVENTS_OS,
      K,
      { VECTOR(INTERRUPT, 32, 0x1000, K, 0x2000, U) } },
    { "INTR outside", "", EVENTS_OS, U, { VECTOR(INTERRUPT, 32, 0x1000, U, 0x2000, U) } },
    { "#PF into the context: table 33-59, case 7",
      "",
      EVENTS_OS,
      U,
      { VECTOR(FAULT, 14, 0x1000, U, 0x2000, K) } },
    { "#GP has no EVD",
      "CFE(1,13,IP) FUP(1,0x1000)",
      EVENTS_ALONE,
      K,
      { VECTOR(FAULT, 13, 0x1000, K, 0x2000, K) } },
    { "a trap",
      "CFE(1,1,IP) FUP(1,0x1000)",
      EVENTS_ALONE,
      K,
      { VECTOR(TRAP, 1, 0x1000, K, 0x2000, K) } },
    { "without EventEn",
      "FUP(1,0x1000) TIP(1,0x2000)",
      ALL,
      K,
      { VECTOR(FAULT, 14, 0x1000, K, 0x2000, K) } },
    { "FilterEn clear: a FUP of its own",
      "CFE(1,32,IP) FUP(1,0x1000)",
      FILTER | CTL(EventEn),
      K,
      { VECTOR(INTERRUPT, 32, 0x1000, K, 0x3000, K) } },
    { "an interrupt gate clears RFLAGS.IF: the mode of the target",
      "CFE(1,32) FUP(1,0x1000) MODE.Exec(64) TIP(1,0x2000)",
      EVENTS,
      K,
      { VECTOR(INTERRUPT, 32, 0x1000, K, 0x2000, K_CLI) } },
    { "other far transfers",
      "TIP(1,0x2000)",
      EVENTS,
      K,
      { FAR(FAR_BRANCH, 0x1000, K, 0x2000, K) } },
    { "CLI out of context",
      "",
      EVENTS_ALONE & ~CTL(OS),
      K,
      { FAR(CONTEXT, 0x1000, K, 0x1001, K_CLI) } },
    { "CLI without EventEn", "", ALL, K, { FAR(CONTEXT, 0x1000, K, 0x1001, K_CLI) } },
};

static void check_row(const struct row *row)
{
    struct rig *rig = rig_new("max");

    rig->ipt.cr3_match = 0x5000;
    memcpy(rig->ipt.addr,
           (uint64_t[4][2]){ { 0x2000, 0x2fff }, { 0x4000, 0x4fff }, { 0x2800, 0x28ff } },
           sizeof(rig->ipt.addr));
    rig_ctl(rig, row->ctl, 0xffe, &row->start);
    rig_take(rig);
    rig_events(rig, row->events, 1);
    ck_assert_msg(!strcmp(rig_take(rig), row->packets), "%s:\n  %s\nis not\n  %s", row->title,
                  rig->text.text, row->packets);
    free(rig);
}

#define ROWS_TEST(table)                                                                           \
    START_TEST(table##_rows)                                                                       \
    {                                                                                              \
        check_row(&table[_i]);                                                                     \
    }                                                                                              \
    END_TEST
ROWS_TEST(table_33_55)
ROWS_TEST(table_33_56)
ROWS_TEST(ranges)
ROWS_TEST(ptwrites)
ROWS_TEST(event_traces)

/* Table 33-56, cases 1 to 3, and PSB+ in their place: what TraceEn 0->1 sends at core clock 100,
 * from an instruction before 1000H, and then 1->0 from one at 1100H. */
static const struct {
    const char *title;
    const char *profile;
    uint64_t ctl;
    bool psb; /* PacketByteCnt is 0 */
    struct ev_context start;
    const char *on, *off;
} starts[] = {
    { "1", "max", USER_ONLY, false, K, "CBR(0x15) MODE.Exec(64)", "" },
    { "1, timing", "max", USER_ONLY | CTL(TSCEn) | CTL(MTCEn), false, K,
      "TSC(0x64) TMA(0x1,0x10) CBR(0x15) MODE.Exec(64)", "" },
    { "1, without MODE.Exec", "skylake", USER_ONLY, false, K, "CBR(0x15)", "" },
    { "1, PSB+", "max", USER_ONLY, true, K, "PSB CBR(0x15) PSBEND MODE.Exec(64)", "" },
    { "out of the range", "max", FILTER, false, K, "CBR(0x15)", "" },
    { "out of the range, PSB+", "max", FILTER, true, K,
      "PSB PIP(0x5000) CBR(0x15) MODE.TSX(0,0) PSBEND", "" },
    { "2", "max", ALL, false, K, "CBR(0x15) MODE.Exec(64) TIP.PGE(3,0x1000)",
      "FUP(1,0x1100) TIP.PGD()" },
    { "2, TSC", "max", ALL | CTL(TSCEn), false, P,
      "TSC(0x64) CBR(0x15) MODE.Exec(32) TIP.PGE(3,0x1000)", "FUP(1,0x1100) TIP.PGD()" },
    { "2, TSC and MTC", "max", ALL | CTL(TSCEn) | CTL(MTCEn), false, R,
      "TSC(0x64) TMA(0x1,0x10) CBR(0x15) MODE.Exec(16) TIP.PGE(3,0x1000)",
      "FUP(1,0x1100) TIP.PGD()" },
    { "2, MTC without TSC", "max", ALL | CTL(MTCEn), false, R,
      "CBR(0x15) MODE.Exec(16) TIP.PGE(3,0x1000)", "FUP(1,0x1100) TIP.PGD()" },
    { "2, PSB+", "max", ALL | CTL(TSCEn) | CTL(MTCEn), true, K,
      "PSB TSC(0x64) TMA(0x1,0x10) PIP(0x5000) CBR(0x15) MODE.TSX(0,0) PSBEND MODE.Exec(64) "
      "TIP.PGE(1,0x1000)",
      "FUP(1,0x1100) TIP.PGD()" },
    { "2, PSB+ on Skylake", "skylake", ALL | CTL(TSCEn), true, K,
      "PSB MODE.TSX(0,0) PIP(0x5000) TSC(0x64) CBR(0x15) PSBEND MODE.Exec(64) TIP.PGE(3,0x1000)",
      "FUP(3,0x1100) TIP.PGD()" },
    { "always PSB+ where it is not configurable", "broadwell", USER_ONLY, false, U,
      "PSB CBR(0x15) MODE.TSX(0,0) PSBEND MODE.Exec(64) TIP.PGE(3,0x1000)",
      "FUP(3,0x1100) TIP.PGD()" },
    { "no branches", "max", ALL & ~CTL(BranchEn), true, K, "PSB PIP(0x5000) CBR(0x15) PSBEND", "" },
    { "in a TraceStop range", "max", STOP_HERE, false, K, "CBR(0x15) TraceStop", "" },
    { "in a TraceStop range that is also to be traced", "max", STOP_HERE | FILTER_HERE, false, K,
      "CBR(0x15) TraceStop", "" },
    { "in a TraceStop range, out of context", "max", STOP_HERE & ~CTL(OS), false, K,
      "CBR(0x15) MODE.Exec(64)", "" },
};

START_TEST(start_rows)
{
    struct rig *rig = rig_new(starts[_i].profile);

    memcpy(rig->ipt.addr,
           (uint64_t[4][2]){
               { 0x2000, 0x2fff }, { 0x4000, 0x4fff }, { 0x1000, 0x1001 }, { 0x1000, 0x1000 } },
           sizeof(rig->ipt.addr));
    rig->ipt.output_base = 0x1000;
    rig->memory[0x1000] = rig->memory[0x1001] = 0; /* a ToPA table for the one that has no other */
    le_store(rig->memory + 0x1000, 0x10000, 8);
    le_store(rig->memory + 0x1008, 0x1000 | 1, 8);
    rig->ipt.output_mask_ptrs = 0x7f;
    if (!starts[_i].psb)
        rig->ipt.status = MSR_PUT(0, IA32_RTIT_STATUS, PacketByteCnt, 1);
    rig_ctl(rig, starts[_i].ctl | CTL(ToPA), 0xffe, &starts[_i].start);
    ck_assert_msg(!strcmp(rig_take(rig), starts[_i].on), "%s:\n  %s\nis not\n  %s",
                  starts[_i].title, rig->text.text, starts[_i].on);
    rig_ctl(rig, 0, 0x1100, &starts[_i].start);
    ck_assert_msg(!strcmp(rig_take(rig), starts[_i].off), "%s, off:\n  %s\nis not\n  %s",
                  starts[_i].title, rig->text.text, starts[_i].off);
    free(rig);
}
END_TEST

/* Choices of the start (33.2.8.3, 33.3.7, 33.4.2.8). */
START_TEST(start_choices)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;
    const struct ptsim_event in_out[] = { NEAR(JMP_DIRECT, 0x1000, 2, 0x2000),
                                          NEAR(JMP_DIRECT, 0x2000, 2, 0x1000),
                                          NEAR(JMP_DIRECT, 0x1000, 2, 0x2000),
                                          { .from_ip = 0 } };

    rig->profile.pt_psb_start_ip = true;
    rig_ctl(rig, ALL, 0xffe, &k);
    ck_assert_str_eq(rig_take(rig), "PSB PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) "
                                    "FUP(1,0x1000) PSBEND TIP.PGE(1,0x1000)");
    rig_ctl(rig, 0, 0x1100, &k);
    rig_take(rig);

    rig->profile.pt_mode_tsx = false;
    rig->profile.pt_mode_exec_always = true;
    rig->ipt.status = 0;
    rig->ipt.addr[0][0] = 0x2000;
    rig->ipt.addr[0][1] = 0x2fff;
    rig_ctl(rig, FILTER, 0xffe, &k);
    rig_events(rig, in_out, 1);
    ck_assert_str_eq(rig_take(rig), "PSB PIP(0x5000) CBR(0x15) PSBEND MODE.Exec(64) "
                                    "TIP.PGE(1,0x2000) TIP.PGD(1,0x1000) MODE.Exec(64) "
                                    "TIP.PGE(1,0x2000)");
    free(rig);
}
END_TEST

static void check_enables(const struct rig *rig, bool trigger, bool context, bool filter)
{
    ck_assert_uint_eq(MSR_GET(rig->ipt.status, IA32_RTIT_STATUS, TriggerEn), trigger);
    ck_assert_uint_eq(MSR_GET(rig->ipt.status, IA32_RTIT_STATUS, ContextEn), context);
    ck_assert_uint_eq(MSR_GET(rig->ipt.status, IA32_RTIT_STATUS, FilterEn), filter);
}

/* 33.2.6, table 33-7: what IA32_RTIT_STATUS shows. */
START_TEST(status)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K, u = U;
    const struct ptsim_event to_user = FAR(FAR_BRANCH, 0x1000, K, 0x1200, U);
    const struct ptsim_event into_stop = NEAR(JMP_DIRECT, 0x1000, 5, 0x4000);

    check_enables(rig, false, false, false);
    rig_ctl(rig, OS_ONLY, 0xffe, &k);
    ipt_flush(&rig->ipt);
    check_enables(rig, true, true, true);
    ck_assert(ipt_packet_en(&rig->ipt));
    rig_event(rig, &to_user);
    ipt_flush(&rig->ipt);
    check_enables(rig, true, false, true);
    ck_assert(!ipt_packet_en(&rig->ipt));
    rig_ctl(rig, 0, 0x1200, &u);
    check_enables(rig, false, false, true);

    rig->ipt.addr[0][0] = 0x2000;
    rig->ipt.addr[1][0] = 0x4000;
    rig->ipt.addr[1][1] = 0x4fff;
    rig_ctl(rig, BOTH, 0xffe, &k);
    ipt_flush(&rig->ipt);
    check_enables(rig, true, true, false);
    rig_event(rig, &into_stop);
    check_enables(rig, false, true, false);
    ck_assert(rig->ipt.status & MSR_MASK(IA32_RTIT_STATUS, Stopped));
    rig_ctl(rig, 0, 0x4000, &k);

    /* Stopped, TriggerEn stays clear until software has cleared it. */
    rig_take(rig);
    rig_ctl(rig, ALL, 0xffe, &k);
    check_enables(rig, false, true, false);
    ck_assert_str_eq(rig_take(rig), "");
    free(rig);
}
END_TEST

/* A write of the value that IA32_RTIT_CTL has is any other instruction (33.2.8.3). */
START_TEST(same_value)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;

    rig_ctl(rig, ALL, 0xffe, &k);
    rig_take(rig);
    rig_ctl(rig, ALL, 0x1000, &k);
    ck_assert_str_eq(rig_take(rig), "");
    free(rig);
}
END_TEST

/* 33.3.1.1: linear or effective IPs, in packets and in ranges; a program at CS base 20000H. */
START_TEST(ip_kinds)
{
    static const struct ptsim_event events[] = {
        NEAR(JMP_INDIRECT, 0x20100, 2, 0x20200),
        NEAR(CALL_DIRECT, 0x20200, 3, 0x20300),
        NEAR(RET, 0x20300, 1, 0x20203),
        FAR(SW_INTERRUPT, 0x20203, CONTEXT_REAL(0x20000), 0x30010, CONTEXT_REAL(0x30000)),
        { .from_ip = 0 },
    };
    static const char *const packets[] = {
        "TIP(1,0x200) TNT(1) FUP(1,0x203) TIP(2,0x30010)",
        "TIP(1,0x200) TNT(1) FUP(1,0x203) TIP(1,0x10)",
    };
    struct rig *rig = rig_new("max");
    const struct ev_context real = CONTEXT_REAL(0x20000);

    rig->profile.pt_lip = !_i;
    rig_ctl(rig, ALL, 0x200fe, &real);
    rig_take(rig);
    rig_events(rig, events, 1);
    ck_assert_str_eq(rig_take(rig), packets[_i]);
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gen");
    TCase *tcase = tcase_create("gen");

    tcase_add_loop_test(tcase, table_33_55_rows, 0, TEST_COUNT(table_33_55));
    tcase_add_loop_test(tcase, table_33_56_rows, 0, TEST_COUNT(table_33_56));
    tcase_add_loop_test(tcase, ranges_rows, 0, TEST_COUNT(ranges));
    tcase_add_loop_test(tcase, ptwrites_rows, 0, TEST_COUNT(ptwrites));
    tcase_add_loop_test(tcase, event_traces_rows, 0, TEST_COUNT(event_traces));
    tcase_add_loop_test(tcase, start_rows, 0, TEST_COUNT(starts));
    tcase_add_test(tcase, start_choices);
    tcase_add_test(tcase, status);
    tcase_add_test(tcase, same_value);
    tcase_add_loop_test(tcase, ip_kinds, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
