#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What ptsim record cannot run: one line that says why, status 2, and nothing written.
dir=$(mktemp -d ./test_record_badinput.XXXXXX) || exit 99
trap 'chmod -R u+rwx "$dir"; rm -rf "$dir"' EXIT
status=0

# refuse TEXT ARGUMENT...: `ptsim record ARGUMENT...` must fail with a line that has TEXT in it.
refuse() {
    text=$1
    shift
    "$PTSIM" record -o "$dir/out" "$@" >"$dir/stdout" 2>"$dir/stderr" </dev/null
    got=$?
    if [ $got -ne 2 ] || [ -s "$dir/stdout" ] || [ -e "$dir/out" ] ||
        [ "$(wc -l <"$dir/stderr")" -ne 1 ] || ! grep -qF -e "ptsim: $text" "$dir/stderr"; then
        echo "ptsim record $*: status $got, expected 2 and one line 'ptsim: $text', got:"
        cat "$dir/stdout" "$dir/stderr"
        status=1
    fi
}

echo 'echo hello' >"$dir/script"
: >"$dir/empty"
printf '\177ELF\001\001\001' >"$dir/elf32"
printf '\177ELF\002\001\001' >"$dir/short"
head -c 2000 "$(command -v busybox || echo /bin/sh)" >"$dir/truncated"
mkdir "$dir/directory"
chmod +x "$dir"/*

refuse "$dir/script: not an ELF program" "$dir/script"
refuse "$dir/empty: not an ELF program" "$dir/empty"
refuse "$dir/elf32: a 32-bit program; expected a 64-bit one" "$dir/elf32"
refuse "$dir/short: truncated in the ELF header" "$dir/short"
refuse "$dir/truncated: truncated" "$dir/truncated"
refuse "$dir/directory: not a regular file" "$dir/directory"
refuse "$dir/none: No such file or directory" "$dir/none"
refuse "$dir/script/x: Not a directory" "$dir/script/x"
refuse "/bin/sh: dynamically linked; expected a statically linked program" /bin/sh
refuse "no-such-program-anywhere: not found in PATH" no-such-program-anywhere
refuse "no program to record" --
if [ "$(id -u)" -ne 0 ]; then
    chmod 0 "$dir/script"
    refuse "$dir/script: Permission denied" "$dir/script"
fi

refuse "-e cycles: expected intel_pt/TERMS/u" -e cycles "$dir/script"
refuse "-e intel_pt/speed/u: unknown term 'speed'" -e intel_pt/speed/u "$dir/script"
refuse "-e intel_pt/psb_period=16/u: 'psb_period=16' is out of range: at most 15" \
    -e intel_pt/psb_period=16/u "$dir/script"
refuse "-e intel_pt//k: only user mode can be recorded" -e intel_pt//k "$dir/script"
exit $status
