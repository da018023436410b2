/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our packets against libipt's encoder and packet decoder. */
#include <string.h>

#include "peer.h"
#include "random_packet.h"
#include "suite.h"

#define PACKETS_EACH 10000
#define STREAM_SIZE  (1U << 19)

/* As ck_assert_msg(), which writes to a pipe each time: too slow for a million of them. */
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

/* libipt's encoder and decoder, each on a buffer of its own. */
static struct pt_encoder *encoder;
static uint8_t encoded[IPT_PACKET_MAX];
static struct pt_packet_decoder *decoder;
static uint8_t stream[STREAM_SIZE];

static struct pt_config config_of(uint8_t *begin, size_t size)
{
    struct pt_config config;

    pt_config_init(&config);
    config.begin = begin;
    config.end = begin + size;
    return config;
}

static void setup(void)
{
    struct pt_config config = config_of(encoded, sizeof(encoded));

    encoder = pt_alloc_encoder(&config);
    ck_assert_ptr_nonnull(encoder);
    config = config_of(stream, sizeof(stream));
    decoder = pt_pkt_alloc_decoder(&config);
    ck_assert_ptr_nonnull(decoder);
}

static void teardown(void)
{
    pt_free_encoder(encoder);
    pt_pkt_free_decoder(decoder);
}

/* PEER as libipt encodes it, in encoded[], zero after it. */
static void peer_encode(const struct pt_packet *peer)
{
    memset(encoded, 0, sizeof(encoded));
    REQUIRE(pt_enc_sync_set(encoder, 0) == 0, "pt_enc_sync_set()");
    REQUIRE(pt_enc_next(encoder, peer) > 0, "pt_enc_next()");
}

/* What libipt reads at OFFSET of stream[], and its size; below 0 where it reads nothing. */
static int peer_decode(size_t offset, struct pt_packet *peer)
{
    REQUIRE(pt_pkt_sync_set(decoder, offset) == 0, "pt_pkt_sync_set()");
    return pt_pkt_next(decoder, peer, sizeof(*peer));
}

/* Same values, same bytes; and from those bytes libipt reads values that give them again. What it
 * encodes shows every field, so that its encoder stands for a comparison of the fields. */
START_TEST(test_each)
{
    enum ipt_packet_type type = (enum ipt_packet_type)_i;
    uint64_t seed = 0x9e3779b97f4a7c15 + (uint64_t)_i;
    int compared = 0;

    for (int i = 0; i < PACKETS_EACH; i++) {
        struct ipt_packet packet = random_packet(&seed, type);
        struct pt_packet peer;

        if (!peer_has(&packet))
            continue;
        compared++;
        memset(stream, 0, IPT_PACKET_MAX);
        REQUIRE(!ipt_encode(&packet, stream, sizeof(stream)), "%s %d: not encoded",
                ipt_packet_name(type), i);
        peer = peer_from(&packet);
        peer_encode(&peer);
        REQUIRE(!memcmp(stream, encoded, sizeof(encoded)), "%s %d: libipt encodes otherwise",
                ipt_packet_name(type), i);
        REQUIRE(peer_decode(0, &peer) == packet.size, "%s %d: libipt has another size",
                ipt_packet_name(type), i);
        peer_encode(&peer);
        REQUIRE(!memcmp(stream, encoded, sizeof(encoded)), "%s %d: libipt reads otherwise",
                ipt_packet_name(type), i);
    }
    if (type != IPT_BBP && type != IPT_BIP && type != IPT_BEP)
        ck_assert_int_gt(compared, PACKETS_EACH / 4);
}
END_TEST

/* Whether libipt and we differ on PACKET, which we read, for a reason that peer.h lists. */
static bool expected_difference(const struct ipt_packet *packet)
{
    struct ipt_packet plain = *packet;

    if (packet->type == IPT_PWRX || packet->type == IPT_EVD)
        return false; /* other bits are ignored, not refused */
    if (packet->type == IPT_PWRE)
        plain.pwre.hw = false;
    return !peer_has(&plain);
}

/* What libipt makes of the fields of PACKET that it has. */
static void encode_common(struct ipt_packet packet, bool libipt_hw)
{
    struct pt_packet peer;

    if (packet.type == IPT_EVD)
        packet.evd.type &= 0x1f;
    peer = peer_from(&packet);
    if (packet.type == IPT_PWRE)
        peer.payload.pwre.hw = libipt_hw;
    peer_encode(&peer);
}

/* Random bytes: the same are packets, of the same size and with the same values. */
START_TEST(test_random_bytes)
{
    uint64_t seed = 88172645463325252;

    for (size_t i = 0; i < sizeof(stream); i += 8) {
        uint64_t word = random_next(&seed);

        /* Opcodes after 02 are rare in random bytes. */
        if (word % 2)
            word = (word & ~UINT64_C(0xff)) | 0x02;
        memcpy(stream + i, &word, 8);
    }
    for (size_t at = 0; at + IPT_PACKET_MAX <= sizeof(stream); at++) {
        struct ipt_decode_state state = { 0 };
        struct ipt_packet packet;
        struct pt_packet peer;
        enum ptsim_status status = ipt_decode(&state, stream + at, sizeof(stream) - at, &packet);
        int size = peer_decode(at, &peer);
        uint8_t ours[sizeof(encoded)];

        if (status) {
            REQUIRE(status == PTSIM_BAD_PACKET && size < 0, "libipt knows a packet at %zu", at);
            continue;
        }
        if (size < 0) {
            REQUIRE(expected_difference(&packet), "libipt: no packet at %zu: %s", at,
                    pt_errstr(pt_errcode(size)));
            continue;
        }
        REQUIRE(size == packet.size, "%s at %zu: %d bytes, not %d", ipt_packet_name(packet.type),
                at, size, packet.size);
        encode_common(packet, stream[at + 2] & 8);
        memcpy(ours, encoded, sizeof(ours));
        peer_encode(&peer);
        REQUIRE(!memcmp(ours, encoded, sizeof(ours)), "%s at %zu: other values",
                ipt_packet_name(packet.type), at);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer_packets");
    TCase *tcase = tcase_create("peer_packets");

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_each, 0, IPT_PACKET_TYPES);
    tcase_add_test(tcase, test_random_bytes);
    return suite_run(suite);
}
