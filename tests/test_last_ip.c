/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IP compression and reconstruction (SDM 33.4.2.2). */
#include "../models/pt/last_ip.h"

#include "suite.h"

#define USER   UINT64_C(0x0000555555554000)
#define KERNEL UINT64_C(0xffffffff81000000)
#define WEIRD  UINT64_C(0x1234800000000000) /* not canonical */

/* The rows of the reconstruction table, on Last IP 1122334455667788. */
static const struct {
    struct ipt_ip packet;
    uint64_t ip;
} rows[] = {
    { { 0xabcd, IPT_IP_UPDATE_16 }, 0x112233445566abcd },
    { { 0x89abcdef, IPT_IP_UPDATE_32 }, 0x1122334489abcdef },
    { { 0x7fffffffffff, IPT_IP_SEXT_48 }, 0x00007fffffffffff },
    { { 0x800000000000, IPT_IP_SEXT_48 }, 0xffff800000000000 },
    { { 0x800000000000, IPT_IP_UPDATE_48 }, 0x1122800000000000 },
    { { 0x8877665544332211, IPT_IP_FULL }, 0x8877665544332211 },
};

START_TEST(test_reconstruct)
{
    struct ipt_last_ip last = { .ip = 0x1122334455667788 };
    uint64_t ip = 1;

    ck_assert(ipt_last_ip_update(&last, &rows[_i].packet, &ip));
    ck_assert_uint_eq(ip, rows[_i].ip);
    ck_assert_uint_eq(last.ip, rows[_i].ip);
}
END_TEST

START_TEST(test_suppressed)
{
    struct ipt_last_ip last = { .ip = KERNEL };
    struct ipt_ip packet = { 0, IPT_IP_SUPPRESSED };
    uint64_t ip = 1;

    ck_assert(!ipt_last_ip_update(&last, &packet, &ip));
    ck_assert_uint_eq(ip, 1);
    ck_assert_uint_eq(last.ip, KERNEL);
}
END_TEST

/* LAST.sent is true: a packet after the first. */
static const struct {
    enum ipt_ip_policy policy;
    enum ipt_packet_type type;
    uint64_t last, ip;
    struct ipt_ip packet;
} choices[] = {
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, USER, { 0x4000, IPT_IP_UPDATE_16 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, USER ^ 0x8000, { 0xc000, IPT_IP_UPDATE_16 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, USER ^ 0x10000, { 0x55544000, IPT_IP_UPDATE_32 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, USER ^ BIT(31), { 0xd5554000, IPT_IP_UPDATE_32 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, USER ^ BIT(32), { 0x555455554000, IPT_IP_SEXT_48 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, KERNEL, { 0xffff81000000, IPT_IP_SEXT_48 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP_PGE, 0, 0x1000, { 0x1000, IPT_IP_UPDATE_16 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP_PGD, 0, 0x401000, { 0x401000, IPT_IP_UPDATE_32 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, WEIRD, WEIRD + 1, { 1, IPT_IP_UPDATE_16 } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, WEIRD, WEIRD ^ BIT(40), { WEIRD ^ BIT(40), IPT_IP_FULL } },
    { IPT_IP_POLICY_SILICON, IPT_TIP, USER, WEIRD, { WEIRD, IPT_IP_FULL } },
    { IPT_IP_POLICY_SILICON, IPT_FUP, USER, USER, { USER, IPT_IP_SEXT_48 } },
    { IPT_IP_POLICY_SILICON, IPT_FUP, WEIRD, WEIRD, { WEIRD, IPT_IP_FULL } },
    { IPT_IP_POLICY_SMALLEST, IPT_FUP, USER, USER + 1, { 0x4001, IPT_IP_UPDATE_16 } },
    { IPT_IP_POLICY_SMALLEST, IPT_TIP, USER, KERNEL, { 0xffff81000000, IPT_IP_SEXT_48 } },
    { IPT_IP_POLICY_SMALLEST,
      IPT_TIP,
      WEIRD,
      WEIRD ^ BIT(40),
      { 0x810000000000, IPT_IP_UPDATE_48 } },
    { IPT_IP_POLICY_SMALLEST, IPT_TIP, USER, WEIRD, { WEIRD, IPT_IP_FULL } },
    { IPT_IP_POLICY_SEXT, IPT_TIP, USER, USER, { USER, IPT_IP_SEXT_48 } },
    { IPT_IP_POLICY_SEXT, IPT_FUP, USER, KERNEL, { 0xffff81000000, IPT_IP_SEXT_48 } },
    { IPT_IP_POLICY_SEXT, IPT_TIP, USER, WEIRD, { WEIRD, IPT_IP_FULL } },
    { IPT_IP_POLICY_FULL, IPT_TIP, USER, USER, { USER, IPT_IP_FULL } },
    { IPT_IP_POLICY_FULL, IPT_FUP, KERNEL, KERNEL, { KERNEL, IPT_IP_FULL } },
};

START_TEST(test_choose)
{
    struct ipt_last_ip last = { choices[_i].last, true };
    struct ipt_ip packet =
        ipt_last_ip_compress(&last, choices[_i].policy, choices[_i].type, choices[_i].ip);

    ck_assert_int_eq(packet.ip_bytes, choices[_i].packet.ip_bytes);
    ck_assert_uint_eq(packet.ip, choices[_i].packet.ip);
    ck_assert_uint_eq(last.ip, choices[_i].ip);
}
END_TEST

/* After a PSB the first TIP, TIP.PGE or TIP.PGD is sign-extended, whatever FUPs came before. */
START_TEST(test_silicon_after_psb)
{
    static const enum ipt_packet_type types[] = { IPT_TIP, IPT_TIP_PGE, IPT_TIP_PGD };
    struct ipt_last_ip last = { KERNEL, true };

    ipt_last_ip_reset(&last);
    ck_assert_uint_eq(last.ip, 0);
    ck_assert_int_eq(ipt_last_ip_compress(&last, IPT_IP_POLICY_SILICON, IPT_FUP, USER).ip_bytes,
                     IPT_IP_SEXT_48);
    ck_assert_int_eq(ipt_last_ip_compress(&last, IPT_IP_POLICY_SILICON, types[_i], USER).ip_bytes,
                     IPT_IP_SEXT_48);
    ck_assert_int_eq(ipt_last_ip_compress(&last, IPT_IP_POLICY_SILICON, types[_i], USER).ip_bytes,
                     IPT_IP_UPDATE_16);
}
END_TEST

/* Both sides in step: what one compresses, the other gives back. */
START_TEST(test_in_step)
{
    static const uint64_t ips[] = { 0,       1,          0xffff,          0x10000,
                                    USER,    KERNEL,     WEIRD,           BIT(47),
                                    BIT(63), UINT64_MAX, UINT64_MAX >> 17 };
    struct ipt_last_ip processor = { 0 }, decoder = { 0 };

    for (int i = 0; i < TEST_COUNT(ips); i++)
        for (int j = 0; j < TEST_COUNT(ips); j++)
            for (int k = 0; k < 2; k++) {
                uint64_t ip = k ? ips[j] : ips[i], got = 0;
                struct ipt_ip packet = ipt_last_ip_compress(&processor, (enum ipt_ip_policy)_i,
                                                            (i + j) % 3 ? IPT_TIP : IPT_FUP, ip);

                ck_assert_uint_eq(packet.ip & ~ipt_ip_mask(packet.ip_bytes), 0);
                ck_assert(ipt_last_ip_update(&decoder, &packet, &got));
                ck_assert_uint_eq(got, ip);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last_ip");
    TCase *tcase = tcase_create("last_ip");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, test_reconstruct, 0, TEST_COUNT(rows));
    tcase_add_test(tcase, test_suppressed);
    tcase_add_loop_test(tcase, test_choose, 0, TEST_COUNT(choices));
    tcase_add_loop_test(tcase, test_silicon_after_psb, 0, 3);
    tcase_add_loop_test(tcase, test_in_step, 0, IPT_IP_POLICY_FULL + 1);
    return suite_run(suite);
}
