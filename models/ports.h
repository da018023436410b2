/* SPDX-License-Identifier: MIT */
/* The ports through which the models reach the world around the processor. */
#ifndef PTSIM_PORTS_H
#define PTSIM_PORTS_H

#include <stddef.h>
#include <stdint.h>

/* Physical memory. Reads where nothing answers give all ones, writes there are
 * dropped, as on a real bus: neither fails. An access may cross pages. */
struct mem_port {
    void *ctx;
    void (*read)(void *ctx, uint64_t phys, void *buf, size_t size);
    void (*write)(void *ctx, uint64_t phys, const void *buf, size_t size);
};

/* Little-endian reads and writes of 1 to 8 bytes through a port. */
uint64_t mem_port_read(const struct mem_port *mem, uint64_t phys, size_t size);
void mem_port_write(const struct mem_port *mem, uint64_t phys, uint64_t value, size_t size);

/* Little-endian values in a byte buffer, SIZE 1 to 8. */
uint64_t le_load(const void *buf, size_t size);
void le_store(void *buf, uint64_t value, size_t size);

#endif
