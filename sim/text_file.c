/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(FILE *file, size_t *size)
{
    char *text = NULL;
    size_t room = 0;

    *size = 0;
    do {
        char *grown = *size + 1 < room ? text : realloc(text, room += 65536);

        if (!grown) {
            free(text);
            return NULL;
        }
        text = grown;
        *size += fread(text + *size, 1, room - *size - 1, file);
    } while (!feof(file) && !ferror(file));
    text[*size] = '\0';
    return text;
}

char *text_file_read(const char *path, size_t *size, struct mistake *to)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    int error = errno;

    if (file) {
        text = read_all(file, size);
        error = errno;
        if (ferror(file)) {
            free(text);
            text = NULL;
        }
        fclose(file);
    }
    if (!text)
        mistake(to, path, (struct place){ .line = 0 }, "cannot be read: %s", strerror(error));
    return text;
}
