#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the folders promise each other. Includes point one way: tests at sim, sim at models; in
# models/ core at the other models, and those at arch/ and what lies in models/ itself. Libraries
# with a wall round them are included by one file each. Each file says its licence, and no symbol
# of ours has a prefix that libipt owns.
#
# A rule is a function that prints what breaks it in the tree that it is called in. Each is first
# shown to catch a planted file that does.
cd "${srcdir:-.}" && [ -f models/event.h ] || exit 99
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
status=0

# rule FUNCTION FILE LINE WHY: FUNCTION must see LINE in FILE, and nothing in our own tree.
rule() {
    mkdir -p "$tmp/$1/$(dirname "$2")"
    printf '%s\n' "$3" > "$tmp/$1/$2"
    if ! (cd "$tmp/$1" && "$1") | grep -q .; then
        printf '%s does not see %s in %s\n' "$1" "$3" "$2"
        status=1
    fi
    found=$("$1")
    [ -z "$found" ] && return
    printf '%s:\n%s\n' "$4" "$found"
    status=1
}

includes() {
    grep -rE '^ *# *include ' --include='*.[ch]' --include='*.def' "$@" 2>/dev/null
}

unicorn() {
    includes sim tests models | grep '<unicorn/' | grep -vE '^(sim/engine|tests/peer_arch)\.c:'
}
zydis() { includes sim tests models | grep '<Zydis/' | grep -v '^sim/block\.c:'; }
yaml() { includes sim tests models | grep -E '<(cyaml/|yaml\.h)' | grep -v '^sim/scenario_yaml\.c:'; }
sim_up() { includes sim | grep '"\.\./tests/'; }
models_up() { includes models | grep -E '"(\.\./)*(sim|tests)/'; }
models_libc() { includes models | grep '<' | grep -vE '<(assert|limits|stdbool|stddef|stdint|string)\.h>'; }
models_across() {
    includes models | grep -v '^models/core/' | grep -E '"(\.\./)?[a-z]+/' | grep -vE '"\.\./arch/'
}
arch_across() { includes models/arch | grep -E '"\.\./[a-z]+/'; }

# Every file of a kind that can say its licence, but not those that others made.
sources() {
    find "$@" -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.inc' -o -name '*.sh' \
        -o -name '*.py' -o -name '*.yaml' -o -name '*.am' -o -name '*.ac' \) 2>/dev/null
}
unlicensed() {
    licence=$1
    while read -r file; do
        head -n 3 "$file" | grep -qE "SPDX-License-Identifier: $licence( |\$)" || echo "$file"
    done
}
licence_models() { sources models | unlicensed MIT; }
licence_others() { sources sim tests docs scenarios | unlicensed GPL-2.0-or-later; }
licence_top() { ls Makefile.am configure.ac bootstrap 2>/dev/null | unlicensed GPL-2.0-or-later; }

# What has external linkage stands at the start of a line and is not static.
libipt_symbols() {
    grep -rnE --include='*.[ch]' \
        -e '^[a-z].*[ *](pt|pte|ppt|ptev)_[a-z0-9_]+( *\(|\[| =|;)' \
        -e '^#define +(pt|pte|ppt|ptev)_' \
        -e '^ +(pte|ppt|ptev)_[a-z0-9_]+( =|,|$)' models sim 2>/dev/null | grep -v ':static '
}

rule unicorn sim/machine.c '#include <unicorn/unicorn.h>' 'only sim/engine.c includes unicorn'
rule zydis sim/machine.c '#include <Zydis/Zydis.h>' 'only sim/block.c includes Zydis'
rule yaml sim/golden.c '#include <cyaml/cyaml.h>' 'only sim/scenario_yaml.c includes libcyaml and libyaml'
rule sim_up sim/machine.c '#include "../tests/suite.h"' 'sim/ may not include tests/'
rule models_up models/core/lp.c '#include "../../sim/machine.h"' 'models/ may not include sim/ or tests/'
rule models_libc models/pt/ipt.c '#include <stdio.h>' \
    'models/ may use only these of the C library: assert limits stdbool stddef stdint string'
rule models_across models/pt/ipt.c '#include "../core/lp.h"' \
    'a model other than core may include only its own headers, arch/ and models/*.h'
rule arch_across models/arch/far.c '#include "../pt/ipt.h"' 'arch/ may include no other model'
rule licence_models models/pt/ipt.c '/* SPDX-License-Identifier: GPL-2.0-or-later */' \
    'files of models/ are MIT, and their first lines say so'
rule licence_others sim/machine.c '/* SPDX-License-Identifier: MIT */' \
    'files outside models/ are GPL-2.0-or-later, and their first lines say so'
rule licence_top bootstrap '#!/bin/sh' 'the first lines say GPL-2.0-or-later'
rule libipt_symbols models/pt/ipt.c 'void pt_init(struct ipt *ipt)' \
    'libipt owns the symbols that begin with pt_, pte_, ppt_ and ptev_'
exit $status
