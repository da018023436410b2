/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An emulator in miniature that embeds libptsim-models: it tells the logical processor what its
 * guest did, and prints the Intel PT packets that the processor wrote to the guest's memory.
 *
 *   cc embed.c $(pkg-config --cflags --libs libptsim-models) -o embed */
#include <ptsim/core/lp.h>
#include <ptsim/pt/packet.h>
#include <ptsim/pt/rtit_msr.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guest physical memory, and the port through which the models reach it. */
static uint8_t memory[0x10000];

static void memory_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    (void)ctx;
    memset(buf, 0xff, size);
    if (phys < sizeof(memory) && size <= sizeof(memory) - phys)
        memcpy(buf, memory + phys, size);
}

static void memory_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    (void)ctx;
    if (phys < sizeof(memory) && size <= sizeof(memory) - phys)
        memcpy(memory + phys, buf, size);
}

/* The guest runs 64-bit code at CPL 3, all the time. */
static const struct ev_context user = {
    .cr3 = 0x5000, .cpl = 3, .cs_l = true, .lma = true, .rflags_if = true
};

/* A WRMSR of the guest at IP. */
static void wrmsr(struct lp *lp, uint64_t ip, uint32_t index, uint64_t value)
{
    const struct ptsim_event event = { .kind = EV_WRMSR,
                                       .insns = 1,
                                       .cycles = 100,
                                       .from_ip = ip,
                                       .next_ip = ip + 2,
                                       .to_ip = ip + 2,
                                       .before = user,
                                       .after = user };

    if (lp_wrmsr(lp, index, value, &event).raised) {
        fprintf(stderr, "WRMSR %#x: #GP(0)\n", (unsigned)index);
        exit(EXIT_FAILURE);
    }
}

/* What the guest did: a loop that ends, a call and its return, a jump through a pointer. */
static const struct ptsim_event run[] = {
    { .kind = EV_COND_BRANCH,
      .taken = true,
      .insns = 4,
      .cycles = 5,
      .from_ip = 0x401010,
      .next_ip = 0x401012,
      .to_ip = 0x401004 },
    { .kind = EV_COND_BRANCH,
      .taken = true,
      .insns = 4,
      .cycles = 5,
      .from_ip = 0x401010,
      .next_ip = 0x401012,
      .to_ip = 0x401004 },
    { .kind = EV_COND_BRANCH,
      .taken = false,
      .insns = 4,
      .cycles = 5,
      .from_ip = 0x401010,
      .next_ip = 0x401012,
      .to_ip = 0x401012 },
    { .kind = EV_CALL_DIRECT,
      .insns = 1,
      .cycles = 1,
      .from_ip = 0x401012,
      .next_ip = 0x401017,
      .to_ip = 0x402000 },
    { .kind = EV_RET,
      .insns = 3,
      .cycles = 3,
      .from_ip = 0x402008,
      .next_ip = 0x402009,
      .to_ip = 0x401017 },
    { .kind = EV_JMP_INDIRECT,
      .insns = 2,
      .cycles = 2,
      .from_ip = 0x40101a,
      .next_ip = 0x40101c,
      .to_ip = 0x403000 },
};

static void print_packets(const uint8_t *trace, size_t size)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;

    for (size_t at = 0; ipt_decode(&state, trace + at, size - at, &packet) == PTSIM_OK;) {
        printf("%04zx  %-9s ", at, ipt_packet_name(packet.type));
        for (unsigned i = 0; i < packet.size; i++)
            printf(" %02x", trace[at + i]);
        putchar('\n');
        at += packet.size;
    }
}

int main(void)
{
    static struct lp lp;
    const struct mem_port port = { .read = memory_read, .write = memory_write };
    const uint64_t region = 0x8000;
    uint64_t pointers = 0;

    lp_init(&lp, cpu_profile_find("skylake"), &port);
    wrmsr(&lp, 0x400ff0, IA32_RTIT_OUTPUT_BASE, region);
    wrmsr(&lp, 0x400ff4, IA32_RTIT_OUTPUT_MASK_PTRS, 0xfff);
    wrmsr(&lp, 0x401000, IA32_RTIT_CTL,
          MSR_MASK(IA32_RTIT_CTL, TraceEn) | MSR_MASK(IA32_RTIT_CTL, User) |
              MSR_MASK(IA32_RTIT_CTL, BranchEn));
    for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++)
        lp_event(&lp, &run[i]);
    wrmsr(&lp, 0x403004, IA32_RTIT_CTL, 0);

    if (lp_rdmsr(&lp, IA32_RTIT_OUTPUT_MASK_PTRS, &pointers).raised)
        return EXIT_FAILURE;
    print_packets(memory + region, MSR_GET(pointers, IA32_RTIT_OUTPUT_MASK_PTRS, OutputOffset));
    return EXIT_SUCCESS;
}
