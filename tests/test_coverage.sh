#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The rows of the manual (coverage.txt) and the golden files. What has no golden yet is listed in
# coverage-missing.txt; this list may only shrink.
#   --missing    prints the rows without a golden, and that is all
export LC_ALL=C
cd "${srcdir:-.}" || exit 99
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
status=0

ids() { sed 's/#.*//; s/[ 	].*//; /^$/d' "$@"; }

# tell WHY: no line may arrive on standard input.
tell() {
    lines=$(cat)
    [ -z "$lines" ] && return
    echo "$lines" | sed "s/\$/: $1/"
    status=1
}

ids tests/coverage.txt | sort > "$tmp/all"
find golden/sdm -name '*.golden' -exec sed -n 's/#.*//; s/^ids //p' {} + |
    tr -s ' \t' '\n' | sed '/^$/d' | sort -u > "$tmp/covered"
comm -23 "$tmp/all" "$tmp/covered" > "$tmp/open"
[ -s "$tmp/all" ] && [ -s "$tmp/covered" ] || exit 99
if [ "${1-}" = --missing ]; then
    awk 'NR == FNR { open[$1]; next } $1 in open' "$tmp/open" tests/coverage.txt
    exit 0
fi
ids tests/coverage-missing.txt | sort > "$tmp/missing"

uniq -d "$tmp/all" | tell 'stands twice in tests/coverage.txt'
comm -13 "$tmp/all" "$tmp/covered" | tell 'a golden file has this id, tests/coverage.txt has not'
comm -13 "$tmp/all" "$tmp/missing" | tell 'in tests/coverage-missing.txt, but not in tests/coverage.txt'
comm -12 "$tmp/covered" "$tmp/missing" |
    tell 'has a golden file, so it must leave tests/coverage-missing.txt'
comm -23 "$tmp/open" "$tmp/missing" |
    tell 'has neither a golden file nor a line in tests/coverage-missing.txt'

# In a clone, nothing is in the list that was not in it before its last change.
before=$(git log -2 --format=%H -- tests/coverage-missing.txt 2>/dev/null | tail -n 1)
if [ -n "$before" ] && git show "$before:tests/coverage-missing.txt" > "$tmp/text" 2>/dev/null; then
    ids "$tmp/text" | sort > "$tmp/before"
    comm -13 "$tmp/before" "$tmp/missing" | comm -12 - "$tmp/all" > "$tmp/new"
    git show "$before:tests/coverage.txt" 2>/dev/null | ids | sort > "$tmp/all-before"
    comm -12 "$tmp/new" "$tmp/all-before" | tell 'is new in tests/coverage-missing.txt'
fi
echo "$(wc -l < "$tmp/all") rows, $(wc -l < "$tmp/open") without a golden file:"
tr '\n' ' ' < "$tmp/open"
echo
exit $status
