#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The headers as they are installed: all of models/ is there, and each compiles alone, as C11 and
# as C++17 inside extern "C".
top=$(cd "${srcdir:-.}" && pwd) || exit 99
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
status=0

$MAKE -s install-data DESTDIR="$tmp/root" > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 99; }
ptsim=$(find "$tmp/root" -type d -path '*/include/ptsim')
[ -d "$ptsim" ] || { echo "no include/ptsim"; exit 1; }

# compiles FILE COMPILER...: what is on standard input, put in FILE, does.
compiles() {
    file=$tmp/$1
    shift
    cat > "$file"
    "$@" -I"${ptsim%/ptsim}" -fsyntax-only "$file" > "$tmp/log" 2>&1
}
complain() { cat "$tmp/log"; status=1; }

echo '#include <ptsim/nothing.h>' | compiles one.c $CC && { echo "$CC compiles anything"; exit 99; }

for header in $(cd "$top/models" && find . -name '*.h' | sed 's|^\./||' | sort); do
    [ -f "$ptsim/$header" ] || { echo "$header is not installed"; status=1; }
    echo "#include <ptsim/$header>" |
        compiles one.c $CC -std=c11 -Wall -Wextra -Werror || complain
    if command -v "${CXX:-g++}" > /dev/null; then
        printf 'extern "C" {\n#include <ptsim/%s>\n}\n' "$header" |
            compiles one.cc "${CXX:-g++}" -std=c++17 || complain
    fi
done
exit $status
