#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording the same program again, and without randomisation of the host's addresses, gives the
# same files.
dir=$(mktemp -d ./test_record_same.XXXXXX) || exit 99
trap 'rm -rf "$dir"' EXIT
event=intel_pt/cyc/u
program=tests/guest/memory

for run in first second plain; do
    randomised=
    [ $run = plain ] && randomised="setarch $(uname -m) -R"
    if [ $run = plain ] && ! $randomised true 2>/dev/null; then
        echo "this host does not let its randomisation be switched off"
        continue
    fi
    $randomised "$PTSIM" record -e "$event" -o "$dir/$run" $program >"$dir/$run.out" || exit 1
    diff -r "$dir/first" "$dir/$run" || exit 1
    diff "$dir/first.out" "$dir/$run.out" || exit 1
done
