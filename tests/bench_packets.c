/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bench_packets.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../models/pt/decode.h"
#include "../models/pt/encode.h"
#include "peer.h"
#include "random_packet.h"

/* As many packets as stay in a cache with libipt's beside them. */
#define PACKETS 16384
/* A measurement is the best of so many, each of so many rounds through all packets. */
#define BEST_OF 15
#define ROUNDS  20

struct mix {
    const char *name;
    size_t count;
    struct ipt_packet ours[PACKETS];
    struct pt_packet theirs[PACKETS];
    size_t size; /* of the packets, encoded */
    uint8_t stream[PACKETS * IPT_PACKET_MAX];
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench: %s failed\n", what);
    exit(EXIT_FAILURE);
}

static inline void check(int ok, const char *what)
{
    if (!ok)
        fail(what);
}

static void encode_ours(struct mix *mix)
{
    const struct ipt_packet *end = mix->ours + mix->count;
    uint8_t *out = mix->stream;

    for (const struct ipt_packet *packet = mix->ours; packet < end; packet++) {
        size_t size = ipt_put(out, packet);

        check(size > 0, "ipt_put");
        out += size;
    }
    mix->size = (size_t)(out - mix->stream);
}

static struct pt_config config_of(struct mix *mix)
{
    struct pt_config config;

    pt_config_init(&config);
    config.begin = mix->stream;
    config.end = mix->stream + mix->size;
    return config;
}

static void encode_theirs(struct mix *mix)
{
    struct pt_config config = config_of(mix);
    struct pt_encoder *encoder = pt_alloc_encoder(&config);
    const struct pt_packet *end = mix->theirs + mix->count;

    check(encoder != NULL, "pt_alloc_encoder");
    for (const struct pt_packet *packet = mix->theirs; packet < end; packet++)
        check(pt_enc_next(encoder, packet) > 0, "pt_enc_next");
    pt_free_encoder(encoder);
}

static void decode_ours(struct mix *mix)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;
    size_t at = 0, count = 0, size = mix->size;

    for (; at < size; at += packet.size, count++)
        check(!ipt_get(&state, mix->stream + at, size - at, &packet), "ipt_get");
    check(count == mix->count, "ipt_get's count");
}

static void decode_theirs(struct mix *mix)
{
    struct pt_config config = config_of(mix);
    struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
    struct pt_packet packet;
    size_t count = 0;

    check(decoder && !pt_pkt_sync_set(decoder, 0), "pt_pkt_alloc_decoder");
    while (pt_pkt_next(decoder, &packet, sizeof(packet)) > 0)
        count++;
    check(count == mix->count, "pt_pkt_next's count");
    pt_pkt_free_decoder(decoder);
}

/* Nanoseconds a packet of WORK on MIX, if less than BEST. */
static double measure(void (*work)(struct mix *), struct mix *mix, double best)
{
    double start = now(), took;

    for (int i = 0; i < ROUNDS; i++)
        work(mix);
    took = (now() - start) / ROUNDS / (double)mix->count;
    return took < best ? took : best;
}

/* Turn by turn, so that what else the machine does meets all alike. */
static void bench(struct mix *mix)
{
    double encode = 1e9, pt_encode = 1e9, decode = 1e9, pt_decode = 1e9;

    if (mix->count == 0) {
        printf("  %-14s no packets\n", mix->name);
        return;
    }
    encode_ours(mix);
    for (int i = 0; i < BEST_OF; i++) {
        encode = measure(encode_ours, mix, encode);
        pt_encode = measure(encode_theirs, mix, pt_encode);
        decode = measure(decode_ours, mix, decode);
        pt_decode = measure(decode_theirs, mix, pt_decode);
    }
    printf("  %-14s %7zu  %6.2f %6.2f %5.1fx  %6.2f %6.2f %5.1fx\n", mix->name, mix->count, encode,
           pt_encode, pt_encode / encode, decode, pt_decode, pt_decode / decode);
}

static void add(struct mix *mix, const struct ipt_packet *packet)
{
    if (!peer_has(packet) || mix->count == PACKETS)
        return;
    mix->ours[mix->count] = *packet;
    mix->theirs[mix->count++] = peer_from(packet);
}

/* The packets in the middle of TRACE, from a PSB on; from its first where it is short. */
static void fill_from_trace(struct mix *mix, const uint8_t *trace, size_t size)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;
    size_t at;

    if (ipt_sync(trace, size, size / 2, &at) && ipt_sync(trace, size, 0, &at))
        return;
    for (; mix->count < PACKETS && !ipt_decode(&state, trace + at, size - at, &packet);
         at += packet.size)
        add(mix, &packet);
}

static void fill_at_random(struct mix *mix)
{
    uint64_t seed = 0x123456789abcdef;

    while (mix->count < PACKETS) {
        enum ipt_packet_type type = (enum ipt_packet_type)(random_next(&seed) % IPT_PACKET_TYPES);
        struct ipt_packet packet = random_packet(&seed, type);

        add(mix, &packet);
    }
}

void bench_packets(const uint8_t *trace, size_t size)
{
    struct mix *mix = calloc(1, sizeof(*mix));

    check(mix != NULL, "calloc");
    puts("Nanoseconds a packet\n"
         "                  packets  encode libipt  ratio  decode libipt  ratio");
    mix->name = "of the trace";
    fill_from_trace(mix, trace, size);
    bench(mix);
    mix->name = "random mix";
    mix->count = 0;
    fill_at_random(mix);
    bench(mix);
    free(mix);
}
