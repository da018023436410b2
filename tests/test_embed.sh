#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/examples/embed.c, built as its reader would: against the headers as they are installed and
# the library, and nothing else of this project. It prints what embed.out says.
examples=$(cd "${srcdir:-.}/docs/examples" && pwd) || exit 99
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

$MAKE -s install-data DESTDIR="$tmp/root" > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 99; }
include=$(dirname "$(find "$tmp/root" -type d -path '*/include/ptsim')")

$CC $SANITIZE_CFLAGS -std=c11 -Wall -Wextra -Werror -I"$include" -c "$examples/embed.c" \
    -o "$tmp/embed.o" || exit 1
./libtool --quiet --mode=link $CC $SANITIZE_CFLAGS -no-install -o "$tmp/embed" "$tmp/embed.o" \
    libptsim-models.la || exit 1
"$tmp/embed" > "$tmp/out" || exit 1
diff -u "$examples/embed.out" "$tmp/out"
