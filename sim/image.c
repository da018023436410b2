/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

/* Opens DIR/image/NAME for writing. */
static FILE *image_file(const char *dir, const char *name)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof(path), "%s/image/%s", dir, name) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "wb");
}

bool image_begin(struct image *image, const char *dir)
{
    char path[4096];

    image->dir = dir;
    image->args = NULL;
    if ((size_t)snprintf(path, sizeof(path), "%s/image", dir) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (mkdir(path, 0777) && errno != EEXIST)
        return false;
    image->args = image_file(dir, "ptxed.args");
    return image->args != NULL;
}

bool image_add(struct image *image, uint64_t address, const void *code, size_t size)
{
    char name[32];
    FILE *file;
    bool written;

    snprintf(name, sizeof(name), "%016" PRIx64 ".bin", address);
    file = image_file(image->dir, name);
    if (!file)
        return false;
    written = fwrite(code, 1, size, file) == size;
    if (fclose(file) || !written)
        return false;
    return fprintf(image->args, "--raw image/%s:0x%" PRIx64 "\n", name, address) > 0;
}

bool image_range(struct image *image, unsigned n, unsigned cfg, uint64_t a, uint64_t b)
{
    return fprintf(image->args,
                   "--filter:addr%u_cfg %u\n--filter:addr%u_a 0x%" PRIx64
                   "\n--filter:addr%u_b 0x%" PRIx64 "\n",
                   n, cfg, n, a, n, b) > 0;
}

bool image_end(struct image *image, const struct cpu_profile *profile, unsigned mtc_freq)
{
    bool written;

    if (!image->args)
        return false;
    fprintf(image->args, "--mtc-freq %u\n--nom-freq %u\n", mtc_freq, profile->max_non_turbo_ratio);
    fprintf(image->args, "--cpuid-0x15.eax %" PRIu32 "\n--cpuid-0x15.ebx %" PRIu32 "\n",
            profile->tsc_ratio_den, profile->tsc_ratio_num);
    fputs("--pt cpu0.pt\n", image->args);
    written = !ferror(image->args);
    return !fclose(image->args) && written;
}
