#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2046 # lists of words, meant to be split
# docs/scenarios.md and docs/golden.md know every key, word and symbol, and their complete examples
# are files of the tree.
cd "${srcdir:-.}" || exit 99
status=0

# block FILE: its first block of code: the lines between fences, or those indented by four.
block() {
    awk '/^```yaml/ { fence = 1; next } /^```/ { exit } fence' "$1"
}
indented() {
    awk '/^    # SPDX/ { on = 1 } on && /^[^ ]/ { exit } on { print substr($0, 5) }' "$1" |
        sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# known DOC WORD...: DOC has each of them as code, alone or in a mapping.
known() {
    doc=$1
    shift
    for word; do
        grep -qE -e "(\`|\{|, |^ +(- )?\{?)$word(\`|:)" "docs/$doc" && continue
        echo "docs/$doc does not have $word"
        status=1
    done
}

block docs/scenarios.md | diff - scenarios/33.7/near-indirect.yaml || status=1
indented docs/golden.md | diff - golden/sdm/33.7/near-indirect.golden || status=1

known scenarios.md $(sed -n 's/^[A-Z]*([a-z_]*, [a-z0-9_]*, "\([^"]*\)".*/\1/p' sim/scenario_keys.def)
known scenarios.md $(sed -n 's/^ENV_[A-Z]*(\([A-Za-z0-9_]*\),.*/\1/p' sim/environment.def |
    grep -vE '^(ist[2-6]|stack[12])_top$')
known scenarios.md $(sed -n 's/^SCN_[MPGA][A-Z]*([A-Z0-9_]*, "\([^"]*\)".*/\1/p' sim/scenario_tables.def)
known golden.md ids cite cut pad
exit $status
