#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A mistake in a scenario, a golden file or a command line is one line on standard error, and
# status 2; a guest that does not come to its stop is one line and status 3.
tmp=$(mktemp -d) || exit 99
trap 'chmod -R u+rwx "$tmp"; rm -rf "$tmp"' EXIT
mkdir -p "$tmp/scenarios/a" "$tmp/golden/sdm/a" "$tmp/empty"
cd "$tmp" || exit 99
status=0

# fails STATUS LINE COMMAND...: that status, and standard error is that one line.
fails() {
    want=$1
    line=$2
    shift 2
    "$@" > out 2> err
    got=$?
    printf '%s\n' "$line" > expected
    [ $got -eq "$want" ] && cmp -s expected err && return
    printf '%s: status %s, expected %s\n' "$*" $got "$want"
    diff expected err
    status=1
}

# scenario NAME: makes scenarios/a/NAME.yaml of a head of three lines and standard input.
scenario() {
    { printf 'title: t\ncite: c\nids: i\n'; cat; } > "scenarios/a/$1.yaml"
}

# bad LINE: the scenario on standard input is a mistake, which run and check tell alike.
bad() {
    scenario bad
    fails 2 "ptsim: scenarios/a/bad.yaml$1" "$PTSIM" run scenarios/a/bad.yaml
    fails 2 "ptsim: scenarios/a/bad.yaml$1" "$PTSIM" check scenarios/a/bad.yaml
}

# ---- the command line ----
fails 2 "ptsim: run: name one scenario; see 'ptsim run --help'" "$PTSIM" run
fails 2 "ptsim: run: name one scenario; see 'ptsim run --help'" "$PTSIM" run a b
fails 2 'ptsim: run: --color=x; it is auto, always or never' "$PTSIM" run --color=x a
fails 2 'ptsim: check: --color=x; it is auto, always or never' "$PTSIM" check --color=x
fails 2 'ptsim: none.yaml: cannot be read: No such file or directory' "$PTSIM" run none.yaml
fails 2 'ptsim: empty: cannot be read: Is a directory' "$PTSIM" run empty
fails 2 'ptsim: none: cannot be read: No such file or directory' "$PTSIM" check none
fails 2 'ptsim: empty: no scenarios (files named *.yaml) below this directory' "$PTSIM" check empty

# ---- the file ----
bad ':4:1: unknown key '"'cods', expected one of title, cite, ids, cpu, mode, cpl, paging, memory, "\
'msrs, output, code, start, regs, idt, ivt, pages, roots, gates, tasks, events, stop, limit, '\
'trace_end' <<'YAML'
cods: nop
YAML
bad ":1:1: the key 'code' is missing" <<'YAML'
YAML
bad ':6:2: not YAML: did not find expected key while parsing a block mapping' <<'YAML'
msrs:
  'a': b
 c: d
code: nop
YAML
bad ":4:26: unknown bit 'Usr' of IA32_EFER, expected one of SCE, LME, LMA, NXE" <<'YAML'
msrs: {IA32_EFER: [ SCE, Usr]}
code: |
  stop: nop
YAML
bad ":4:8: unknown MSR 'IA32_RTIT', expected one of those that 'ptsim list msrs' shows" <<'YAML'
msrs: {IA32_RTIT: 1}
code: |
  stop: nop
YAML
bad ":4:8: writing 0x1 to IA32_RTIT_CTL is #GP(0) on cpu nopt" <<'YAML'
msrs: {IA32_RTIT_CTL: 1}
cpu: nopt
code: |
  stop: nop
YAML

# ---- the code ----
bad ":6:3: as: no such instruction: \`foo eax'" <<'YAML'
code: |
  nop
  foo eax
YAML
bad ":5:12: no label 'nowhere'" <<'YAML'
code: |
  nop; jmp nowhere
YAML
bad ":5:3: no label 'stop', where a run without the key 'stop' ends" <<'YAML'
code: |
  nop
YAML
bad ":4:12: 'here' is no label of the code and no symbol of the environment" <<'YAML'
stop: {at: here}
code: nop
YAML
bad ":4:15: 'here' is no label of the code and no symbol of the environment" <<'YAML'
events: [{at: here, do: nmi}]
code: |
  stop: nop
YAML
scenario fine <<'YAML'
code: |
  start: nop
  stop: nop
YAML
# ptsim may be a script of libtool's, which itself needs PATH: as and ld alone are hidden.
mkdir bin
for tool in sh ls sed grep cat dirname basename test expr pwd file; do
    path=$(command -v $tool) && [ -x "$path" ] && ln -s "$path" bin/
done
no_as() { PATH=$tmp/bin "$PTSIM" "$@"; }
fails 2 "ptsim: scenarios/a/fine.yaml: the program 'as' cannot be run, but scenarios need it \
(Debian: binutils): No such file or directory" no_as run scenarios/a/fine.yaml
no_tmp() { TMPDIR=/nonexistent "$PTSIM" "$@"; }
fails 2 "ptsim: scenarios/a/fine.yaml: no directory for the assembler in /nonexistent: No such \
file or directory" no_tmp run scenarios/a/fine.yaml

# ---- events and stop ----
bad ":4:27: 'nm', expected one of interrupt, nmi, smi, init, sipi, \
machine_check, stall, reset_cycle_counter, \
overflow, \
overflow_end, sleep, monitored_store, duty_cycle, frequency" <<'YAML'
events: [{at: start, do:  nm}]
code: |
  start: nop
  stop: nop
YAML
bad ":4:10: the key 'vector' is missing" <<'YAML'
events: [{at: start, do: interrupt}]
code: |
  start: nop
  stop: nop
YAML
bad ":4:39: 'nmi' has no vector" <<'YAML'
events: [{at: start, do: nmi, vector: 3}]
code: |
  start: nop
  stop: nop
YAML
bad ":4:10: expected one of the keys 'at' and 'after'" <<'YAML'
events: [{do: nmi}]
code: |
  start: nop
  stop: nop
YAML
bad ":4:7: 'on' stands alone" <<'YAML'
stop: {on: hlt, at: start}
code: |
  start: nop
YAML
bad ":4:12: 'halt', expected one of hlt, shutdown" <<'YAML'
stop: {on: halt}
code: nop
YAML

# ---- output ----
fails 2 'ptsim: /nonexistent/x: cannot be written: No such file or directory' \
    "$PTSIM" run -o /nonexistent/x scenarios/a/fine.yaml

# ---- the guest ----
scenario guest <<'YAML'
code: |
  start: hlt
  wake: nop
  stop: nop
YAML
fails 3 'ptsim: scenarios/a/guest.yaml:5:3: the guest halted before wake, and nothing was to '\
'wake it' "$PTSIM" run scenarios/a/guest.yaml
scenario guest <<'YAML'
code: |
  start: ud2
  stop: nop
YAML
fails 3 'ptsim: scenarios/a/guest.yaml:5:3: the guest shut down at start: no handler for an '\
'exception there, nor for the double fault that followed' "$PTSIM" check scenarios/a/guest.yaml
scenario guest <<'YAML'
limit: 100
code: |
  start: jmp start
  stop: nop
YAML
fails 3 'ptsim: scenarios/a/guest.yaml:6:3: the guest had not come to its stop after 100 '\
'instructions, and was at start' "$PTSIM" run scenarios/a/guest.yaml

# ---- golden files ----

# golden STATUS LINE: with the golden file on standard input check has that status, and that line.
golden() {
    cat > golden/sdm/a/fine.golden
    fails "$1" "ptsim: golden/sdm/a/fine.golden$2" "$PTSIM" check scenarios/a/fine.yaml
}
golden 2 ':3: '"'pakets', expected ids, cite, cpu, repeat, end, msr, reg, mem or an offset" <<'GOLDEN'
ids i
cite c
pakets
GOLDEN
golden 2 ':1: the ids are not those of scenarios/a/fine.yaml' <<'GOLDEN'
ids j
cite c
GOLDEN
golden 2 ":4: the text 'pad 3' does not say what the bytes are: 'pad '" <<'GOLDEN'
ids i
cite c
cpu 0
0000 00 pad 3
GOLDEN
golden 2 ":3: 'nowhere' is neither a number nor a label" <<'GOLDEN'
ids i
cite c
reg rip nowhere
GOLDEN
golden 2 ":3: unknown register 'eip', expected rax and the like, rip, rflags, cr0, cpl, cs and the \
like" <<'GOLDEN'
ids i
cite c
reg eip 0
GOLDEN
golden 2 ":3: unknown MSR 'IA32'" <<'GOLDEN'
ids i
cite c
msr IA32 0
GOLDEN
golden 2 ':3: expected u8, u16, u32, u64 or bytes, and values' <<'GOLDEN'
ids i
cite c
mem 0 u9 1
GOLDEN

# ---- a difference is no mistake: status 1, and nothing on standard error ----
cat > golden/sdm/a/fine.golden <<'GOLDEN'
ids i
cite c
cpu 0
0000 00 pad
reg rip start
mem start u16 0x9090 0x1234
GOLDEN
"$PTSIM" check scenarios/a/fine.yaml > out 2> err
[ $? -eq 1 ] && [ ! -s err ] || { echo 'a difference'; cat err; status=1; }
cat > expected <<'OUT'
scenarios/a/fine.yaml: differs from c
  golden/sdm/a/fine.golden
           offset  expected                                         got
   line 4  000000  pad                                              -
                   00
line    5  reg rip
      expected  0x8000 (start)
      got       0x8001 (stop)
line    6  mem 0x8002 u16
      expected  0x1234
      got       0x0
1 scenario: 1 differing
OUT
sed 's/ *$//' out | diff expected - || status=1
rm golden/sdm/a/fine.golden
"$PTSIM" check scenarios/a/fine.yaml > out 2> err
[ $? -eq 1 ] && [ ! -s err ] || { echo 'no golden'; cat err; status=1; }
grep -qxF 'scenarios/a/fine.yaml: no golden file golden/sdm/a/fine.golden' out || status=1

# From inside the tree, and outside of any.
(cd scenarios/a && "$PTSIM" check fine.yaml > ../../out 2>&1)
grep -qF "golden/sdm/a/fine.golden" out || { echo 'from inside'; cat out; status=1; }
cp scenarios/a/fine.yaml fine.yaml
fails 2 "ptsim: fine.yaml: not below a directory 'scenarios', so there is no place for its golden \
file" "$PTSIM" check fine.yaml
exit $status
