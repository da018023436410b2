/* SPDX-License-Identifier: MIT */
#include "profile.h"

#include <stddef.h>
#include <string.h>

/* A SET after profile.def is meant to replace what stands there. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct cpu_profile profiles[] = {
/* clang-format off */
#define PROFILE(id, text) { .name = #id, .title = text,
#define FIELD(type, name, value, meaning) .name = value,
#define SET(name, value, source) .name = value,
#define END },
/* clang-format on */
#include "profiles.def"
#undef PROFILE
#undef FIELD
#undef SET
#undef END
};
#pragma GCC diagnostic pop

const struct cpu_profile *cpu_profile_at(unsigned index)
{
    return index < sizeof(profiles) / sizeof(profiles[0]) ? &profiles[index] : NULL;
}

const struct cpu_profile *cpu_profile_find(const char *name)
{
    const struct cpu_profile *profile;

    for (unsigned i = 0; (profile = cpu_profile_at(i)); i++)
        if (!strcmp(profile->name, name))
            return profile;
    return NULL;
}
