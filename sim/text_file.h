/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PTSIM_SIM_TEXT_FILE_H
#define PTSIM_SIM_TEXT_FILE_H

#include <stddef.h>

#include "mistake.h"

/* What is in the file at PATH, with a NUL behind it, to be freed; NULL, with a mistake, where it
 * cannot be read. */
char *text_file_read(const char *path, size_t *size, struct mistake *mistake);

#endif
