/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets as ptdump prints them. The lines are those of ptdump itself, but for BBP, BIP and BEP. */
#include "../models/pt/print.h"

#include <string.h>

#include "suite.h"

#define ALL (IPT_PRINT_OFFSET | IPT_PRINT_RAW | IPT_PRINT_LAST_IP | IPT_PRINT_EXEC_MODE)

/* clang-format off */
static const struct {
    struct ipt_packet packet;
    const char *line;
} lines[] = {
    { { .type = IPT_PSBEND }, "psbend" },
    { { .type = IPT_PSB }, "psb" },
    { { .type = IPT_PAD }, "pad" },
    { { .type = IPT_OVF }, "ovf" },
    { { .type = IPT_TRACE_STOP }, "stop" },
    { { .type = IPT_TNT_8, .tnt = { 0x11, 5 } }, "tnt.8      !...!" },
    { { .type = IPT_TNT_64, .tnt = { 0x4924cd266933, 47 } },
      "tnt.64     !..!..!..!..!..!!..!!.!..!..!!..!!.!..!..!!..!!" },
    { { .type = IPT_TIP, .ip = { 0xffffffff1000, IPT_IP_SEXT_48 } },
      "tip        3: ffffffffffff1000" },
    { { .type = IPT_TIP, .ip = { 0x1000, IPT_IP_SEXT_48 } }, "tip        3: 0000000000001000" },
    { { .type = IPT_TIP, .ip = { 0x1001, IPT_IP_UPDATE_32 } }, "tip        2: ????????00001001" },
    { { .type = IPT_TIP, .ip = { 0x1002, IPT_IP_UPDATE_16 } }, "tip        1: ????????????1002" },
    { { .type = IPT_TIP, .ip = { 0, IPT_IP_SUPPRESSED } }, "tip        0: ????????????????" },
    { { .type = IPT_TIP, .ip = { 0xcccccccccc4000, IPT_IP_FULL } },
      "tip        6: 00cccccccccc4000" },
    { { .type = IPT_TIP, .ip = { 0xffffffff4000, IPT_IP_UPDATE_48 } },
      "tip        4: ????ffffffff4000" },
    { { .type = IPT_TIP_PGE, .ip = { 0x2000, IPT_IP_SEXT_48 } },
      "tip.pge    3: 0000000000002000" },
    { { .type = IPT_TIP_PGD, .ip = { 0x3002, IPT_IP_UPDATE_16 } },
      "tip.pgd    1: ????????????3002" },
    { { .type = IPT_FUP, .ip = { 0, IPT_IP_SUPPRESSED } }, "fup        0: ????????????????" },
    { { .type = IPT_MODE_EXEC }, "mode.exec" },
    { { .type = IPT_MODE_EXEC, .mode_exec = { .cs_d = true } }, "mode.exec  cs.d" },
    { { .type = IPT_MODE_EXEC, .mode_exec = { .cs_l = true } }, "mode.exec  cs.l" },
    { { .type = IPT_MODE_EXEC, .mode_exec = { .rflags_if = true } }, "mode.exec  if" },
    { { .type = IPT_MODE_EXEC, .mode_exec = { true, true, true } }, "mode.exec  cs.d, cs.l, if" },
    { { .type = IPT_MODE_TSX, .mode_tsx = { .in_tx = true } }, "mode.tsx   intx" },
    { { .type = IPT_MODE_TSX }, "mode.tsx" },
    { { .type = IPT_MODE_TSX, .mode_tsx = { .abort = true } }, "mode.tsx   abrt" },
    { { .type = IPT_PIP, .pip = { 0xafafa0, false } },
      "pip        afafa0                    cr3  0000000000afafa0" },
    { { .type = IPT_PIP, .pip = { 0xafafa0, true } },
      "pip        afafa0, nr                cr3  0000000000afafa0" },
    { { .type = IPT_VMCS, .vmcs = { 0xabcd000 } },
      "vmcs       abcd000                   vmcs 000000000abcd000" },
    { { .type = IPT_TSC, .tsc = { 0x12345 } }, "tsc        12345" },
    { { .type = IPT_CBR, .cbr = { 0x24 } }, "cbr        24" },
    { { .type = IPT_TMA, .tma = { 0x12, 0x134 } }, "tma        12, 134" },
    { { .type = IPT_MTC, .mtc = { 0x94 } }, "mtc        94" },
    { { .type = IPT_MTC, .mtc = { 0 } }, "mtc        0" },
    { { .type = IPT_CYC, .cyc = { 0x57 } }, "cyc        57" },
    { { .type = IPT_MNT, .mnt = { 0x2a2242e5d4c3b2a1 } }, "mnt        2a2242e5d4c3b2a1" },
    { { .type = IPT_EXSTOP }, "exstop" },
    { { .type = IPT_EXSTOP, .exstop = { true } }, "exstop     ip" },
    { { .type = IPT_MWAIT, .mwait = { 0xb, 1 } }, "mwait      0000000b, 00000001" },
    { { .type = IPT_PWRE, .pwre = { false, 15, 15 } }, "pwre       c0.0" },
    { { .type = IPT_PWRE, .pwre = { true, 5, 9 } }, "pwre       c6.10, hw" },
    { { .type = IPT_PWRX, .pwrx = { 0, 5, IPT_WAKE_INTERRUPT } }, "pwrx       int: c1, c6" },
    { { .type = IPT_PWRX, .pwrx = { 0, 5, IPT_WAKE_STORE } }, "pwrx        st: c1, c6" },
    { { .type = IPT_PWRX, .pwrx = { 0, 5, IPT_WAKE_HW } }, "pwrx        hw: c1, c6" },
    { { .type = IPT_PWRX, .pwrx = { 0, 5, 0 } }, "pwrx       bad: c1, c6" },
    { { .type = IPT_PWRX, .pwrx = { 0, 5, 5 } }, "pwrx       bad: c1, c6" },
    { { .type = IPT_PTW, .ptw = { 4, true, 0x90abcdef } }, "ptw        0: 90abcdef, ip" },
    { { .type = IPT_PTW, .ptw = { 8, false, 0x1234567890abcdef } },
      "ptw        1: 1234567890abcdef" },
    { { .type = IPT_CFE, .cfe = { IPT_CFE_IRET, false, 0 } }, "cfe        2" },
    { { .type = IPT_CFE, .cfe = { IPT_CFE_SMI, true, 0xf0 } }, "cfe        3, ip" },
    { { .type = IPT_CFE, .cfe = { IPT_CFE_INTR, false, 14 } }, "cfe        1: 14" },
    { { .type = IPT_CFE, .cfe = { IPT_CFE_VMEXIT_INTR, true, 255 } }, "cfe        9: 255, ip" },
    { { .type = IPT_CFE, .cfe = { IPT_CFE_UINTR, false, 0 } }, "cfe        12: 0" },
    { { .type = IPT_CFE, .cfe = { IPT_CFE_SIPI, false, 0x9a } }, "cfe        5: 9a" },
    { { .type = IPT_EVD, .evd = { IPT_EVD_VMXR, 0xf00baa } }, "evd        2: f00baa" },
    { { .type = IPT_BBP, .bbp = { false, 4 } }, "bbp        4" },
    { { .type = IPT_BBP, .bbp = { true, 0x10 } }, "bbp        10, sz" },
    { { .type = IPT_BIP, .bip = { 0x1f, 8, 0xabc } }, "bip        1f: abc" },
    { { .type = IPT_BEP }, "bep" },
    { { .type = IPT_BEP, .bep = { true } }, "bep        ip" },
};
/* clang-format on */

START_TEST(test_line)
{
    struct ipt_last_ip last = { 0 };
    char out[IPT_LINE_TEXT_MAX];

    ck_assert_uint_eq(ipt_print_line(0, &last, 0, NULL, &lines[_i].packet, out),
                      strlen(lines[_i].line));
    ck_assert_str_eq(out, lines[_i].line);
}
END_TEST

/* The payload is what follows the name; PIP and VMCS have one more column in a line. */
START_TEST(test_payload)
{
    const char *payload = lines[_i].line + strcspn(lines[_i].line, " ");
    char out[IPT_PAYLOAD_TEXT_MAX], *tracking;
    char expected[IPT_LINE_TEXT_MAX];

    while (*payload == ' ' && payload < lines[_i].line + 11)
        payload++;
    strcpy(expected, payload);
    tracking = strstr(expected, "  ");
    if (tracking)
        *tracking = '\0';
    ck_assert_uint_eq(ipt_print_payload(&lines[_i].packet, out), strlen(expected));
    ck_assert_str_eq(out, expected);
}
END_TEST

START_TEST(test_lines_complete)
{
    for (enum ipt_packet_type type = 0; type < IPT_PACKET_TYPES; type++) {
        int found = 0;

        for (int i = 0; i < TEST_COUNT(lines); i++)
            found += lines[i].packet.type == type;
        ck_assert_msg(found, "no line of %s", ipt_packet_name(type));
    }
}
END_TEST

/* With all columns, and the last IP that one packet leaves to the next. */
START_TEST(test_columns)
{
    static const struct {
        struct ipt_packet packet;
        const char *line;
    } stream[] = {
        { { .type = IPT_FUP, .size = 7, .ip = { 0xffff81000000, IPT_IP_SEXT_48 } },
          "0000000000000000  7d00000081ffff                    "
          "fup        3: ffffffff81000000       ip   ffffffff81000000" },
        { { .type = IPT_TIP, .size = 3, .ip = { 0x1234, IPT_IP_UPDATE_16 } },
          "0000000000000007  2d3412                            "
          "tip        1: ????????????1234       ip   ffffffff81001234" },
        { { .type = IPT_TIP_PGD, .size = 1, .ip = { 0, IPT_IP_SUPPRESSED } },
          "000000000000000a  01                                "
          "tip.pgd    0: ????????????????       ip   <suppressed>" },
        { { .type = IPT_PSB, .size = 16 },
          "000000000000000b  02820282028202820282028202820282  psb" },
        { { .type = IPT_TIP_PGE, .size = 3, .ip = { 0x1234, IPT_IP_UPDATE_16 } },
          "000000000000001b  313412                            "
          "tip.pge    1: ????????????1234       ip   0000000000001234" },
        { { .type = IPT_MODE_EXEC, .size = 2, .mode_exec = { .cs_l = true } },
          "000000000000001e  9901                              "
          "mode.exec  cs.l                      em   64-bit" },
        { { .type = IPT_MODE_EXEC, .size = 2 },
          "0000000000000020  9900                              "
          "mode.exec                            em   16-bit" },
        { { .type = IPT_MODE_EXEC, .size = 2, .mode_exec = { .cs_d = true } },
          "0000000000000022  9902                              "
          "mode.exec  cs.d                      em   32-bit" },
        { { .type = IPT_MODE_EXEC, .size = 2, .mode_exec = { true, true, false } },
          "0000000000000024  9903                              "
          "mode.exec  cs.d, cs.l                em   unknown" },
    };
    struct ipt_last_ip last = { 0 };
    uint64_t offset = 0;

    for (int i = 0; i < TEST_COUNT(stream); i++) {
        struct ipt_packet packet = stream[i].packet;
        char out[IPT_LINE_TEXT_MAX];
        uint8_t raw[IPT_PACKET_MAX];

        ck_assert_int_eq(ipt_encode(&packet, raw, sizeof(raw)), PTSIM_OK);
        ck_assert_uint_eq(ipt_print_line(ALL, &last, offset, raw, &packet, out),
                          strlen(stream[i].line));
        ck_assert_str_eq(out, stream[i].line);
        offset += packet.size;
    }
}
END_TEST

START_TEST(test_hex)
{
    char out[2 * IPT_PACKET_MAX + 1];

    ck_assert_uint_eq(ipt_print_hex(0, 1, out), 1);
    ck_assert_str_eq(out, "0");
    ck_assert_uint_eq(ipt_print_hex(0xabc, 2, out), 3);
    ck_assert_str_eq(out, "abc");
    ck_assert_uint_eq(ipt_print_hex(UINT64_MAX, 1, out), 16);
    ck_assert_str_eq(out, "ffffffffffffffff");
    ck_assert_uint_eq(ipt_print_hex(0x10, 16, out), 16);
    ck_assert_str_eq(out, "0000000000000010");
    ck_assert_uint_eq(ipt_print_bytes((const uint8_t[]){ 0x02, 0xf3 }, 2, out), 4);
    ck_assert_str_eq(out, "02f3");
    ck_assert_uint_eq(ipt_print_bytes((const uint8_t[]){ 0 }, 0, out), 0);
    ck_assert_str_eq(out, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print");
    TCase *tcase = tcase_create("print");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, test_line, 0, TEST_COUNT(lines));
    tcase_add_loop_test(tcase, test_payload, 0, TEST_COUNT(lines));
    tcase_add_test(tcase, test_lines_complete);
    tcase_add_test(tcase, test_columns);
    tcase_add_test(tcase, test_hex);
    return suite_run(suite);
}
