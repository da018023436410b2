/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packets of SDM 33.4.2: each with its bytes as the manual's figures give them, every field at
 * its limits. What is read from the bytes, what is written from the values, what is left when
 * either is cut short. */
#include "../models/pt/encode.h"

#include <string.h>

#include "suite.h"

struct sample {
    const char *bytes;
    struct ipt_packet packet; /* a BIP is in a block of its size, all others are in none */
};

#define M48 UINT64_C(0xffffffffffff)
#define M64 UINT64_MAX

/* clang-format off */
static const struct sample samples[] = {
    { "00", { .type = IPT_PAD } },
    /* TNT: the stop bit moves down as outcomes come in; the table of 33.4.2.1. */
    { "04", { .type = IPT_TNT_8, .tnt = { 0, 1 } } },
    { "06", { .type = IPT_TNT_8, .tnt = { 1, 1 } } },
    { "28", { .type = IPT_TNT_8, .tnt = { 4, 4 } } },
    { "80", { .type = IPT_TNT_8, .tnt = { 0, 6 } } },
    { "fe", { .type = IPT_TNT_8, .tnt = { 0x3f, 6 } } },
    { "c0", { .type = IPT_TNT_8, .tnt = { 0x20, 6 } } },
    { "02a3020000000000", { .type = IPT_TNT_64, .tnt = { 0, 1 } } },
    { "02a3030000000000", { .type = IPT_TNT_64, .tnt = { 1, 1 } } },
    { "02a3ffffffff0000", { .type = IPT_TNT_64, .tnt = { 0x7fffffff, 31 } } },
    { "02a3000000000080", { .type = IPT_TNT_64, .tnt = { 0, 47 } } },
    { "02a3ffffffffffff", { .type = IPT_TNT_64, .tnt = { M48 >> 1, 47 } } },
    { "02a30000000000c0", { .type = IPT_TNT_64, .tnt = { BIT(46), 47 } } },
    /* IP packets: IPBytes in bits 7:5. */
    { "0d", { .type = IPT_TIP, .ip = { 0, IPT_IP_SUPPRESSED } } },
    { "2d3412", { .type = IPT_TIP, .ip = { 0x1234, IPT_IP_UPDATE_16 } } },
    { "4d78563412", { .type = IPT_TIP, .ip = { 0x12345678, IPT_IP_UPDATE_32 } } },
    { "6dbc9a78563412", { .type = IPT_TIP, .ip = { 0x123456789abc, IPT_IP_SEXT_48 } } },
    { "8dffffffffffff", { .type = IPT_TIP, .ip = { M48, IPT_IP_UPDATE_48 } } },
    { "cdefcdab8967452301", { .type = IPT_TIP, .ip = { 0x123456789abcdef, IPT_IP_FULL } } },
    { "cdffffffffffffffff", { .type = IPT_TIP, .ip = { M64, IPT_IP_FULL } } },
    { "11", { .type = IPT_TIP_PGE, .ip = { 0, IPT_IP_SUPPRESSED } } },
    { "31ffff", { .type = IPT_TIP_PGE, .ip = { 0xffff, IPT_IP_UPDATE_16 } } },
    { "51ffffffff", { .type = IPT_TIP_PGE, .ip = { 0xffffffff, IPT_IP_UPDATE_32 } } },
    { "71000000000080", { .type = IPT_TIP_PGE, .ip = { BIT(47), IPT_IP_SEXT_48 } } },
    { "91010000000000", { .type = IPT_TIP_PGE, .ip = { 1, IPT_IP_UPDATE_48 } } },
    { "d10000000000000080", { .type = IPT_TIP_PGE, .ip = { BIT(63), IPT_IP_FULL } } },
    { "01", { .type = IPT_TIP_PGD, .ip = { 0, IPT_IP_SUPPRESSED } } },
    { "210000", { .type = IPT_TIP_PGD, .ip = { 0, IPT_IP_UPDATE_16 } } },
    { "4100000080", { .type = IPT_TIP_PGD, .ip = { BIT(31), IPT_IP_UPDATE_32 } } },
    { "61ffffffffffff", { .type = IPT_TIP_PGD, .ip = { M48, IPT_IP_SEXT_48 } } },
    { "81000000000000", { .type = IPT_TIP_PGD, .ip = { 0, IPT_IP_UPDATE_48 } } },
    { "c10100000000000000", { .type = IPT_TIP_PGD, .ip = { 1, IPT_IP_FULL } } },
    { "1d", { .type = IPT_FUP, .ip = { 0, IPT_IP_SUPPRESSED } } },
    { "3d0080", { .type = IPT_FUP, .ip = { BIT(15), IPT_IP_UPDATE_16 } } },
    { "5d01000000", { .type = IPT_FUP, .ip = { 1, IPT_IP_UPDATE_32 } } },
    { "7d001040000000", { .type = IPT_FUP, .ip = { 0x401000, IPT_IP_SEXT_48 } } },
    { "9d000000000080", { .type = IPT_FUP, .ip = { BIT(47), IPT_IP_UPDATE_48 } } },
    { "dd0000000000000000", { .type = IPT_FUP, .ip = { 0, IPT_IP_FULL } } },
    /* PIP: CR3[51:5] from bit 1 of byte 2, NR below it. */
    { "0243000000000000", { .type = IPT_PIP, .pip = { 0, false } } },
    { "0243010000000000", { .type = IPT_PIP, .pip = { 0, true } } },
    { "0243020000000000", { .type = IPT_PIP, .pip = { BIT(5), false } } },
    { "0243000100000000", { .type = IPT_PIP, .pip = { BIT(12), false } } },
    { "0243000000000080", { .type = IPT_PIP, .pip = { BIT(51), false } } },
    { "0243ffffffffffff", { .type = IPT_PIP, .pip = { BITS(51, 5), true } } },
    /* MODE: leaf 0 Exec, leaf 1 TSX. */
    { "9900", { .type = IPT_MODE_EXEC } },
    { "9901", { .type = IPT_MODE_EXEC, .mode_exec = { .cs_l = true } } },
    { "9902", { .type = IPT_MODE_EXEC, .mode_exec = { .cs_d = true } } },
    { "9904", { .type = IPT_MODE_EXEC, .mode_exec = { .rflags_if = true } } },
    { "9907", { .type = IPT_MODE_EXEC, .mode_exec = { true, true, true } } },
    { "9920", { .type = IPT_MODE_TSX } },
    { "9921", { .type = IPT_MODE_TSX, .mode_tsx = { .in_tx = true } } },
    { "9922", { .type = IPT_MODE_TSX, .mode_tsx = { .abort = true } } },
    { "9923", { .type = IPT_MODE_TSX, .mode_tsx = { true, true } } },
    { "0283", { .type = IPT_TRACE_STOP } },
    { "02030000", { .type = IPT_CBR, .cbr = { 0 } } },
    { "02032400", { .type = IPT_CBR, .cbr = { 0x24 } } },
    { "0203ff00", { .type = IPT_CBR, .cbr = { 0xff } } },
    { "1900000000000000", { .type = IPT_TSC, .tsc = { 0 } } },
    { "1907060504030201", { .type = IPT_TSC, .tsc = { 0x01020304050607 } } },
    { "19ffffffffffffff", { .type = IPT_TSC, .tsc = { BITS(55, 0) } } },
    { "5900", { .type = IPT_MTC, .mtc = { 0 } } },
    { "59ff", { .type = IPT_MTC, .mtc = { 0xff } } },
    /* TMA: byte 4 and bits 7:1 of byte 6 are reserved. */
    { "02730000000000", { .type = IPT_TMA, .tma = { 0, 0 } } },
    { "0273010000ff00", { .type = IPT_TMA, .tma = { 1, 0xff } } },
    { "0273ffff000001", { .type = IPT_TMA, .tma = { 0xffff, 0x100 } } },
    { "0273ffff00ff01", { .type = IPT_TMA, .tma = { 0xffff, 0x1ff } } },
    /* CYC: bits 4:0, 11:5, 18:12 and so on; Exp says that a byte follows. */
    { "03", { .type = IPT_CYC, .cyc = { 0 } } },
    { "13", { .type = IPT_CYC, .cyc = { 2 } } },
    { "fb", { .type = IPT_CYC, .cyc = { 31 } } },
    { "0702", { .type = IPT_CYC, .cyc = { 32 } } },
    { "fffe", { .type = IPT_CYC, .cyc = { 4095 } } },
    { "070102", { .type = IPT_CYC, .cyc = { 4096 } } },
    { "170104", { .type = IPT_CYC, .cyc = { 8194 } } },
    { "fffffe", { .type = IPT_CYC, .cyc = { BIT(19) - 1 } } },
    { "fffffffffffffffffe", { .type = IPT_CYC, .cyc = { BIT(61) - 1 } } },
    { "07010101010101010102", { .type = IPT_CYC, .cyc = { BIT(61) } } },
    { "ffffffffffffffffff0e", { .type = IPT_CYC, .cyc = { M64 } } },
    { "02c80000000000", { .type = IPT_VMCS, .vmcs = { 0 } } },
    { "02c80100000000", { .type = IPT_VMCS, .vmcs = { BIT(12) } } },
    { "02c80000000080", { .type = IPT_VMCS, .vmcs = { BIT(51) } } },
    { "02c8ffffffffff", { .type = IPT_VMCS, .vmcs = { BITS(51, 12) } } },
    { "02f3", { .type = IPT_OVF } },
    { "02820282028202820282028202820282", { .type = IPT_PSB } },
    { "0223", { .type = IPT_PSBEND } },
    { "02c3880000000000000000", { .type = IPT_MNT, .mnt = { 0 } } },
    { "02c388efcdab8967452301", { .type = IPT_MNT, .mnt = { 0x123456789abcdef } } },
    { "02c388ffffffffffffffff", { .type = IPT_MNT, .mnt = { M64 } } },
    { "021200000000", { .type = IPT_PTW, .ptw = { 4, false, 0 } } },
    { "0292ffffffff", { .type = IPT_PTW, .ptw = { 4, true, 0xffffffff } } },
    { "0232efcdab8967452301", { .type = IPT_PTW, .ptw = { 8, false, 0x123456789abcdef } } },
    { "02b2ffffffffffffffff", { .type = IPT_PTW, .ptw = { 8, true, M64 } } },
    { "0262", { .type = IPT_EXSTOP, .exstop = { false } } },
    { "02e2", { .type = IPT_EXSTOP, .exstop = { true } } },
    { "02c20000000000000000", { .type = IPT_MWAIT, .mwait = { 0, 0 } } },
    { "02c26000000001000000", { .type = IPT_MWAIT, .mwait = { 0x60, 1 } } },
    { "02c2ffffffff00000000", { .type = IPT_MWAIT, .mwait = { 0xffffffff, 0 } } },
    { "02c200000000ffffffff", { .type = IPT_MWAIT, .mwait = { 0, 0xffffffff } } },
    { "02220000", { .type = IPT_PWRE, .pwre = { false, 0, 0 } } },
    { "02228000", { .type = IPT_PWRE, .pwre = { true, 0, 0 } } },
    { "022200f0", { .type = IPT_PWRE, .pwre = { false, 15, 0 } } },
    { "0222000f", { .type = IPT_PWRE, .pwre = { false, 0, 15 } } },
    { "02a20000000000", { .type = IPT_PWRX, .pwrx = { 0, 0, 0 } } },
    { "02a2f000000000", { .type = IPT_PWRX, .pwrx = { 15, 0, 0 } } },
    { "02a20f00000000", { .type = IPT_PWRX, .pwrx = { 0, 15, 0 } } },
    { "02a20001000000", { .type = IPT_PWRX, .pwrx = { 0, 0, IPT_WAKE_INTERRUPT } } },
    { "02a20004000000", { .type = IPT_PWRX, .pwrx = { 0, 0, IPT_WAKE_STORE } } },
    { "02a20008000000", { .type = IPT_PWRX, .pwrx = { 0, 0, IPT_WAKE_HW } } },
    { "02a2000f000000", { .type = IPT_PWRX, .pwrx = { 0, 0, 15 } } },
    { "026300", { .type = IPT_BBP, .bbp = { false, 0 } } },
    { "02631f", { .type = IPT_BBP, .bbp = { false, 0x1f } } },
    { "026381", { .type = IPT_BBP, .bbp = { true, 1 } } },
    { "04ffffffff", { .type = IPT_BIP, .bip = { 0, 4, 0xffffffff } } },
    { "fc78563412", { .type = IPT_BIP, .bip = { 0x1f, 4, 0x12345678 } } },
    { "04efcdab8967452301", { .type = IPT_BIP, .bip = { 0, 8, 0x123456789abcdef } } },
    { "fcffffffffffffffff", { .type = IPT_BIP, .bip = { 0x1f, 8, M64 } } },
    { "0233", { .type = IPT_BEP, .bep = { false } } },
    { "02b3", { .type = IPT_BEP, .bep = { true } } },
    { "02130000", { .type = IPT_CFE, .cfe = { 0, false, 0 } } },
    { "0213010e", { .type = IPT_CFE, .cfe = { IPT_CFE_INTR, false, 14 } } },
    { "02139fff", { .type = IPT_CFE, .cfe = { 0x1f, true, 0xff } } },
    { "0253000000000000000000", { .type = IPT_EVD, .evd = { IPT_EVD_PFA, 0 } } },
    { "025302efcdab8967452301", { .type = IPT_EVD, .evd = { IPT_EVD_VMXR, 0x123456789abcdef } } },
    { "02533fffffffffffffffff", { .type = IPT_EVD, .evd = { 0x3f, M64 } } },
};
/* clang-format on */

static uint8_t block(const struct sample *sample)
{
    return sample->packet.type == IPT_BIP ? sample->packet.bip.bytes : 0;
}

/* Hexadecimal TEXT as bytes into BUF; returns how many. */
static size_t parse(const char *text, uint8_t *buf)
{
    size_t size = strlen(text) / 2;

    for (size_t i = 0; i < size; i++) {
        char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };

        buf[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

static void assert_same(const struct ipt_packet *got, const struct ipt_packet *expected)
{
    ck_assert_int_eq(got->type, expected->type);
    for (unsigned i = 0; ipt_packet_field(got->type, i); i++) {
        const struct ipt_field *field = ipt_packet_field(got->type, i);

        ck_assert_msg(ipt_field_value(field, got) == ipt_field_value(field, expected),
                      "%s.%s: %#jx instead of %#jx", ipt_packet_name(got->type), field->name,
                      (uintmax_t)ipt_field_value(field, got),
                      (uintmax_t)ipt_field_value(field, expected));
    }
}

START_TEST(test_encode)
{
    const struct sample *sample = &samples[_i];
    struct ipt_packet packet = sample->packet;
    uint8_t expected[IPT_PACKET_MAX], out[IPT_PACKET_MAX + 1], untouched[sizeof(out)];
    size_t size = parse(sample->bytes, expected);

    memset(untouched, 0xa5, sizeof(untouched));
    memcpy(out, untouched, sizeof(out));
    for (size_t room = 0; room < size; room++) {
        packet.size = 0xee;
        ck_assert_int_eq(ipt_encode(&packet, out, room), PTSIM_NO_SPACE);
        ck_assert_mem_eq(out, untouched, sizeof(out));
        ck_assert_uint_eq(packet.size, 0xee);
    }
    for (size_t room = size; room <= sizeof(out); room++) {
        memcpy(out, untouched, sizeof(out));
        ck_assert_int_eq(ipt_encode(&packet, out, room), PTSIM_OK);
        ck_assert_uint_eq(packet.size, size);
        ck_assert_mem_eq(out, expected, size);
        ck_assert_mem_eq(out + size, untouched, sizeof(out) - size);
    }
}
END_TEST

/* The encoder in a hurry stays within IPT_PACKET_MAX bytes. */
START_TEST(test_put)
{
    uint8_t expected[IPT_PACKET_MAX], out[IPT_PACKET_MAX + 1];
    size_t size = parse(samples[_i].bytes, expected);

    out[IPT_PACKET_MAX] = 0xa5;
    ck_assert_uint_eq(ipt_put(out, &samples[_i].packet), size);
    ck_assert_mem_eq(out, expected, size);
    ck_assert_uint_eq(out[IPT_PACKET_MAX], 0xa5);
}
END_TEST

START_TEST(test_decode)
{
    const struct sample *sample = &samples[_i];
    uint8_t buf[2 * IPT_PACKET_MAX];
    size_t size = parse(sample->bytes, buf);

    memset(buf + size, 0xff, sizeof(buf) - size);
    for (size_t more = size; more <= sizeof(buf); more++) {
        struct ipt_decode_state state = { block(sample) };
        struct ipt_packet packet;
        /* A copy of exactly that size, so that a sanitizer sees what reads past it. */
        uint8_t *copy = malloc(more);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, buf, more);
        memset(&packet, 0x5a, sizeof(packet));
        ck_assert_int_eq(ipt_decode(&state, copy, more, &packet), PTSIM_OK);
        free(copy);
        ck_assert_uint_eq(packet.size, size);
        assert_same(&packet, &sample->packet);
    }
}
END_TEST

START_TEST(test_cut_short)
{
    const struct sample *sample = &samples[_i];
    uint8_t buf[IPT_PACKET_MAX];
    size_t size = parse(sample->bytes, buf);

    for (size_t cut = 0; cut < size; cut++) {
        struct ipt_decode_state state = { block(sample) };
        struct ipt_packet packet, untouched;
        uint8_t *copy = malloc(cut ? cut : 1);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, buf, cut);
        memset(&packet, 0x5a, sizeof(packet));
        untouched = packet;
        ck_assert_int_eq(ipt_decode(&state, copy, cut, &packet), cut ? PTSIM_TRUNCATED : PTSIM_END);
        free(copy);
        ck_assert_mem_eq(&packet, &untouched, sizeof(packet));
        ck_assert_uint_eq(state.bip_bytes, block(sample));
    }
}
END_TEST

/* Every packet of the table is among the samples, and every field at its lowest and its highest. */
START_TEST(test_samples_complete)
{
    for (enum ipt_packet_type type = 0; type < IPT_PACKET_TYPES; type++) {
        const struct ipt_field *field;

        for (unsigned i = 0; (field = ipt_packet_field(type, i)); i++) {
            uint64_t low = M64, high = 0;

            for (int s = 0; s < TEST_COUNT(samples); s++) {
                uint64_t value = ipt_field_value(field, &samples[s].packet);

                if (samples[s].packet.type != type)
                    continue;
                low = value < low ? value : low;
                high = value > high ? value : high;
            }
            if (field->hi == 0 || !strcmp(field->name, "ip_bytes"))
                continue;
            ck_assert_uint_eq(low, 0);
            ck_assert_msg(high == BITS(field->hi - field->lo, 0) << field->shift,
                          "%s.%s: no sample has its highest value", ipt_packet_name(type),
                          field->name);
        }
    }
    for (enum ipt_packet_type type = 0; type < IPT_PACKET_TYPES; type++) {
        int found = 0;

        for (int s = 0; s < TEST_COUNT(samples); s++)
            found += samples[s].packet.type == type;
        ck_assert_msg(found, "no sample of %s", ipt_packet_name(type));
    }
}
END_TEST

/* The bytes of no packet, and for each how many of them it takes to see that. */
static const struct {
    const char *bytes;
    size_t seen;
} bad[] = {
    { "05", 1 },                   /* no opcode */
    { "c9", 1 },                   /* no opcode */
    { "d9", 1 },                   /* no opcode */
    { "ad0000000000000000", 1 },   /* IPBytes 101b */
    { "ed0000000000000000", 1 },   /* IPBytes 111b */
    { "b1", 1 },                   /* of TIP.PGE */
    { "e1", 1 },                   /* of TIP.PGD */
    { "bd", 1 },                   /* of FUP */
    { "0200", 2 },                 /* no extended opcode */
    { "0204", 2 },                 /* no extended opcode */
    { "02c300", 3 },               /* no opcode after 02 C3 */
    { "02520000000000000000", 2 }, /* PayloadBytes 10b */
    { "02f20000000000000000", 2 }, /* PayloadBytes 11b */
    { "9940", 2 },                 /* MODE leaf 2 */
    { "99e0", 2 },                 /* MODE leaf 7 */
    { "02a3000000000000", 8 },     /* TNT without a stop bit */
    { "02a3010000000000", 8 },     /* TNT without an outcome */
    { "02730000010000", 5 },       /* reserved byte of TMA */
    { "02730000000002", 7 },       /* reserved bits of TMA */
    { "0282028202830282", 6 },     /* PSB with a byte wrong */
    { "02820282028202820282028202820283", 16 },
    { "ffffffffffffffffff10", 10 }, /* a CYC of 65 bits */
    { "ffffffffffffffffff80", 10 },
    { "0701010101010101010100", 11 }, /* a CYC that goes on after 64 bits */
};

START_TEST(test_bad)
{
    uint8_t buf[IPT_PACKET_MAX];
    size_t size = parse(bad[_i].bytes, buf);

    for (size_t cut = 1; cut <= size; cut++) {
        struct ipt_decode_state state = { 0 };
        struct ipt_packet packet, untouched;

        memset(&packet, 0x5a, sizeof(packet));
        untouched = packet;
        ck_assert_int_eq(ipt_decode(&state, buf, cut, &packet),
                         cut >= bad[_i].seen ? PTSIM_BAD_PACKET : PTSIM_TRUNCATED);
        ck_assert_mem_eq(&packet, &untouched, sizeof(packet));
    }
}
END_TEST

/* Reserved bits that the manual does not promise to be 0, set; CYC with more bytes than it needs.
 */
static const struct {
    const char *bytes;
    struct ipt_packet packet;
} loose[] = {
    { "991f", { .type = IPT_MODE_EXEC, .mode_exec = { true, true, true } } },
    { "993c", { .type = IPT_MODE_TSX } },
    { "020324ff", { .type = IPT_CBR, .cbr = { 0x24 } } },
    { "02227f00", { .type = IPT_PWRE } },
    { "02a200f0ffffff", { .type = IPT_PWRX } },
    { "02637f", { .type = IPT_BBP, .bbp = { false, 0x1f } } },
    { "02137f00", { .type = IPT_CFE, .cfe = { 0x1f, false, 0 } } },
    { "0253c00000000000000000", { .type = IPT_EVD } },
    { "0700", { .type = IPT_CYC, .cyc = { 0 } } },
    { "17010100", { .type = IPT_CYC, .cyc = { 2 } } },
    { "07010101010101010100", { .type = IPT_CYC, .cyc = { 0 } } },
};

START_TEST(test_loose)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;
    uint8_t buf[IPT_PACKET_MAX];
    size_t size = parse(loose[_i].bytes, buf);

    ck_assert_int_eq(ipt_decode(&state, buf, size, &packet), PTSIM_OK);
    ck_assert_uint_eq(packet.size, size);
    assert_same(&packet, &loose[_i].packet);
}
END_TEST

static const struct ipt_packet invalid[] = {
    { .type = IPT_PACKET_TYPES },
    { .type = IPT_TNT_8, .tnt = { 0, 0 } },
    { .type = IPT_TNT_8, .tnt = { 0, 7 } },
    { .type = IPT_TNT_8, .tnt = { 2, 1 } },
    { .type = IPT_TNT_64, .tnt = { 0, 0 } },
    { .type = IPT_TNT_64, .tnt = { 0, 48 } },
    { .type = IPT_TNT_64, .tnt = { BIT(47), 47 } },
    { .type = IPT_TIP, .ip = { 0, 5 } },
    { .type = IPT_TIP, .ip = { 0, 7 } },
    { .type = IPT_TIP, .ip = { 0, 8 } },
    { .type = IPT_TIP, .ip = { 1, IPT_IP_SUPPRESSED } },
    { .type = IPT_TIP_PGE, .ip = { 0x10000, IPT_IP_UPDATE_16 } },
    { .type = IPT_TIP_PGD, .ip = { BIT(32), IPT_IP_UPDATE_32 } },
    { .type = IPT_FUP, .ip = { BIT(48), IPT_IP_SEXT_48 } },
    { .type = IPT_FUP, .ip = { M64, IPT_IP_UPDATE_48 } },
    { .type = IPT_PIP, .pip = { BIT(52), false } },
    { .type = IPT_PIP, .pip = { BIT(4), false } },
    { .type = IPT_TSC, .tsc = { BIT(56) } },
    { .type = IPT_TMA, .tma = { 0, 0x200 } },
    { .type = IPT_VMCS, .vmcs = { BIT(11) } },
    { .type = IPT_VMCS, .vmcs = { BIT(52) } },
    { .type = IPT_PTW, .ptw = { 2, false, 0 } },
    { .type = IPT_PTW, .ptw = { 4, false, BIT(32) } },
    { .type = IPT_PWRE, .pwre = { false, 16, 0 } },
    { .type = IPT_PWRE, .pwre = { false, 0, 16 } },
    { .type = IPT_PWRX, .pwrx = { 16, 0, 0 } },
    { .type = IPT_PWRX, .pwrx = { 0, 16, 0 } },
    { .type = IPT_PWRX, .pwrx = { 0, 0, 16 } },
    { .type = IPT_BBP, .bbp = { false, 0x20 } },
    { .type = IPT_BIP, .bip = { 0x20, 4, 0 } },
    { .type = IPT_BIP, .bip = { 0, 0, 0 } },
    { .type = IPT_BIP, .bip = { 0, 4, BIT(32) } },
    { .type = IPT_CFE, .cfe = { 0x20, false, 0 } },
    { .type = IPT_EVD, .evd = { 0x40, 0 } },
};

START_TEST(test_invalid)
{
    struct ipt_packet packet = invalid[_i];
    uint8_t out[IPT_PACKET_MAX] = { 0 }, untouched[IPT_PACKET_MAX] = { 0 };

    ck_assert_int_eq(ipt_encode(&packet, out, sizeof(out)), PTSIM_INVALID);
    ck_assert_mem_eq(out, untouched, sizeof(out));
    ck_assert_uint_eq(packet.size, 0);
}
END_TEST

/* A byte that is a TNT outside a block is a BIP inside; BEP, OVF and PSB close it. */
START_TEST(test_block)
{
    static const struct {
        const char *bytes;
        enum ipt_packet_type type;
    } stream[] = {
        { "2c", IPT_TNT_8 },
        { "026304", IPT_BBP },
        { "2c0000000000000000", IPT_BIP },
        { "13", IPT_CYC },
        { "2a", IPT_TNT_8 },
        { "2c0000000000000000", IPT_BIP },
        { "026384", IPT_BBP },
        { "2c00000000", IPT_BIP },
        { "02b3", IPT_BEP },
        { "2c", IPT_TNT_8 },
        { "026304", IPT_BBP },
        { "02f3", IPT_OVF },
        { "2c", IPT_TNT_8 },
        { "026304", IPT_BBP },
        { "02820282028202820282028202820282", IPT_PSB },
        { "2c", IPT_TNT_8 },
    };
    struct ipt_decode_state state = { 0 };
    uint8_t buf[128];
    size_t size = 0, at = 0;

    for (int i = 0; i < TEST_COUNT(stream); i++)
        size += parse(stream[i].bytes, buf + size);
    for (int i = 0; i < TEST_COUNT(stream); i++) {
        struct ipt_packet packet;

        ck_assert_int_eq(ipt_decode(&state, buf + at, size - at, &packet), PTSIM_OK);
        ck_assert_int_eq(packet.type, stream[i].type);
        ck_assert_uint_eq(packet.size, strlen(stream[i].bytes) / 2);
        at += packet.size;
    }
    ck_assert_uint_eq(at, size);
}
END_TEST

/* All values of the inline encoders' arguments where there are few, against ipt_encode(). */
START_TEST(test_inline_encoders)
{
    uint8_t out[IPT_PACKET_MAX], expected[IPT_PACKET_MAX];

    for (unsigned count = 1; count <= IPT_TNT_8_MAX; count++)
        for (uint64_t bits = 0; bits < BIT(count); bits++) {
            struct ipt_packet tnt = { .type = IPT_TNT_8, .tnt = { bits, (uint8_t)count } };

            ck_assert_int_eq(ipt_encode(&tnt, expected, sizeof(expected)), PTSIM_OK);
            ck_assert_uint_eq(ipt_put_tnt_8(out, bits, count), tnt.size);
            ck_assert_mem_eq(out, expected, tnt.size);
        }
    for (unsigned ctc = 0; ctc < 256; ctc++) {
        struct ipt_packet mtc = { .type = IPT_MTC, .mtc = { (uint8_t)ctc } };

        ck_assert_int_eq(ipt_encode(&mtc, expected, sizeof(expected)), PTSIM_OK);
        ck_assert_uint_eq(ipt_put_mtc(out, (uint8_t)ctc), mtc.size);
        ck_assert_mem_eq(out, expected, mtc.size);
    }
}
END_TEST

/* No bit of a packet of fixed size belongs to two rows, and none to the header and a row. */
START_TEST(test_rows_disjoint)
{
    for (enum ipt_packet_type type = 0; type < IPT_PACKET_TYPES; type++) {
        const struct ipt_packet_row *row = ipt_packet_row(type);
        uint8_t owner[8 * IPT_PACKET_MAX] = { 0 };
        const struct ipt_field *field;

        for (unsigned i = 0; (field = ipt_packet_field(type, i)); i++) {
            if (field->hi == 0)
                continue;
            ck_assert_uint_le(field->lo, field->hi);
            ck_assert_uint_lt(field->hi, row->size ? 8 * row->size : 8 * IPT_PACKET_MAX);
            ck_assert_uint_le(field->hi - field->lo + 1U + field->shift, 8U * field->size);
            for (unsigned bit = field->lo; bit <= field->hi; bit++) {
                ck_assert_msg(!owner[bit]++, "%s: two rows have bit %u", row->name, bit);
                if (bit < 8U * row->header_size)
                    ck_assert_uint_eq(row->header[bit / 8] >> bit % 8 & 1, 0);
            }
        }
    }
}
END_TEST

#define PSB16 "02820282028202820282028202820282"

static const struct {
    const char *bytes;
    size_t from;
    size_t offset; /* SIZE_MAX: none */
} syncs[] = {
    { "", 0, SIZE_MAX },
    { PSB16, 0, 0 },
    { PSB16, 1, SIZE_MAX },
    { PSB16, 16, SIZE_MAX },
    { PSB16, 17, SIZE_MAX },
    { "00" PSB16 "0223", 0, 1 },
    { "02820282"
      "00" PSB16,
      0, 5 },
    { "028202820282028202820282028202"
      "00",
      0, SIZE_MAX },
    { PSB16 "0223" PSB16, 0, 0 },
    { PSB16 "0223" PSB16, 2, 18 },
    /* MNT, whose payload ends like a PSB begins. */
    { "02c38802820282028202"
      "82" PSB16,
      0, 11 },
    { "02" PSB16, 0, 1 },
    { "8202" PSB16, 0, 2 },
};

START_TEST(test_sync)
{
    uint8_t buf[64];
    size_t size = parse(syncs[_i].bytes, buf), offset = SIZE_MAX;
    enum ptsim_status status = ipt_sync(buf, size, syncs[_i].from, &offset);

    ck_assert_int_eq(status, syncs[_i].offset == SIZE_MAX ? PTSIM_NO_SYNC : PTSIM_OK);
    ck_assert_uint_eq(offset, syncs[_i].offset);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packet");
    TCase *tcase = tcase_create("packet");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, test_encode, 0, TEST_COUNT(samples));
    tcase_add_loop_test(tcase, test_put, 0, TEST_COUNT(samples));
    tcase_add_loop_test(tcase, test_decode, 0, TEST_COUNT(samples));
    tcase_add_loop_test(tcase, test_cut_short, 0, TEST_COUNT(samples));
    tcase_add_test(tcase, test_samples_complete);
    tcase_add_loop_test(tcase, test_bad, 0, TEST_COUNT(bad));
    tcase_add_loop_test(tcase, test_loose, 0, TEST_COUNT(loose));
    tcase_add_loop_test(tcase, test_invalid, 0, TEST_COUNT(invalid));
    tcase_add_test(tcase, test_block);
    tcase_add_test(tcase, test_inline_encoders);
    tcase_add_test(tcase, test_rows_disjoint);
    tcase_add_loop_test(tcase, test_sync, 0, TEST_COUNT(syncs));
    return suite_run(suite);
}
