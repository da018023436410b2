/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorting, hashing and compressing. */
#include "start.h"

enum {
    NUMBERS = 60000,
    BYTES = 1 << 17,
    WINDOW = 1 << 12,
};

static uint32_t number[NUMBERS];
static uint8_t text[BYTES];
static uint8_t packed[BYTES * 2];
static uint32_t last_seen[1 << 12];

static void sort(uint32_t *first, uint32_t *last)
{
    while (first < last) {
        uint32_t pivot = first[(last - first) / 2];
        uint32_t *i = first, *j = last;

        while (i <= j) {
            while (*i < pivot)
                i++;
            while (*j > pivot)
                j--;
            if (i <= j) {
                uint32_t t = *i;

                *i++ = *j;
                *j-- = t;
            }
        }
        sort(first, j);
        first = i;
    }
}

static uint32_t crc32(const uint8_t *data, size_t size)
{
    uint32_t crc = ~0u;

    while (size--) {
        crc ^= *data++;
        for (int i = 0; i < 8; i++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

static uint32_t fnv1a(const uint8_t *data, size_t size)
{
    uint32_t hash = 2166136261u;

    while (size--)
        hash = (hash ^ *data++) * 16777619u;
    return hash;
}

/* LZ77: literals, and matches of three bytes and more. */
static size_t compress(const uint8_t *data, size_t size, uint8_t *out)
{
    uint8_t *to = out;

    for (size_t at = 0; at + 3 < size;) {
        uint32_t key = (data[at] * 33u * 33u + data[at + 1] * 33u + data[at + 2]) & 0xfff;
        size_t back = at - last_seen[key], length = 0;

        last_seen[key] = (uint32_t)at;
        if (back && back < WINDOW)
            while (length < 18 && at + length < size &&
                   data[at + length - back] == data[at + length])
                length++;
        if (length >= 3) {
            *to++ = (uint8_t)(0x80 | length);
            *to++ = (uint8_t)back;
            *to++ = (uint8_t)(back >> 8);
            at += length;
        } else {
            *to++ = data[at++];
        }
    }
    return (size_t)(to - out);
}

uint64_t work(void)
{
    uint32_t seed = 1;
    uint64_t result = 0;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < NUMBERS; i++)
            number[i] = random32(&seed);
        sort(number, number + NUMBERS - 1);
        for (int i = 0; i < BYTES; i++)
            text[i] = "etaoin shrdlu"[random32(&seed) % 13];
        result += crc32(text, BYTES) + fnv1a((uint8_t *)number, sizeof(number));
        result += compress(text, BYTES, packed);
    }
    return result;
}
