#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Includes point one way: tests at sim, sim at models; in models/ core at the other models, and
# those at arch/ and what lies in models/ itself. Libraries with a wall round them are included
# by one file each.
cd "${srcdir:-.}" || exit 99
status=0
includes=$(grep -rE '^ *# *include ' --include='*.[ch]' models sim tests)
models=$(echo "$includes" | grep '^models/')
[ -n "$models" ] || exit 99

# none WHY: no line may arrive on standard input.
none() {
    lines=$(cat)
    [ -z "$lines" ] && return
    printf '%s:\n%s\n' "$1" "$lines"
    status=1
}

none "only sim/engine.c includes unicorn" <<LINES
$(echo "$includes" | grep '<unicorn/' | grep -v '^sim/engine\.c:')
LINES
none "only sim/block.c includes Zydis" <<LINES
$(echo "$includes" | grep '<Zydis/' | grep -v '^sim/block\.c:')
LINES
none "only one file includes cyaml" <<LINES
$(echo "$includes" | grep '<cyaml/' | sed 1d)
LINES
none "only sim/scenario_yaml.c includes libcyaml and libyaml" <<LINES
$(echo "$includes" | grep -E "<(cyaml/|yaml\.h)" | grep -v "^sim/scenario_yaml\.c:")
LINES
none "sim/ may not include tests/" <<LINES
$(echo "$includes" | grep '^sim/.*"\.\./tests/')
LINES
none "models/ may not include sim/ or tests/" <<LINES
$(echo "$models" | grep -E '"(\.\./)*(sim|tests)/')
LINES
none "models/ may use only these of the C library: assert limits stdbool stddef stdint string" <<LINES
$(echo "$models" | grep '<' | grep -vE '<(assert|limits|stdbool|stddef|stdint|string)\.h>')
LINES
none "a model other than core may include only its own headers, arch/ and models/*.h" <<LINES
$(echo "$models" | grep -v '^models/core/' | grep -E '"(\.\./)?[a-z]+/' | grep -vE '"\.\./arch/')
LINES
exit $status
