/* SPDX-License-Identifier: MIT */
#include "status.h"

const char *ptsim_status_text(enum ptsim_status status)
{
    switch (status) {
#define STATUS(name, text)                                                                         \
    case PTSIM_##name:                                                                             \
        return text;
#include "status.def"
#undef STATUS
    }
    return "no such status";
}
