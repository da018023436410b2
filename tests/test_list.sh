#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ptsim list: the tables as text and as JSON, and its one-line errors.
status=0

# has TEXT COMMAND...: the output has that line, spaces squeezed.
has() {
    line=$1
    shift
    "$@" 2>&1 | tr -s ' ' | sed 's/^ //' | grep -qxF -e "$line" && return
    printf '%s: no line: %s\n' "$*" "$line"
    status=1
}

# fails TEXT COMMAND...: status 2 and that one line on standard error.
fails() {
    line=$1
    shift
    out=$("$@" 2>&1)
    [ $? -eq 2 ] && [ "$out" = "$line" ] && return
    printf '%s: %s\n' "$*" "$out"
    status=1
}

has 'IA32_RTIT_CTL 570H reset 0H SDM 33.2.8.2, table 33-6' "$PTSIM" list msrs
has '17:14 rw MTCFreq: ART bit whose change sends MTC' "$PTSIM" list msrs
has 'MSR_PLATFORM_INFO CEH reset 1500H read only SDM 33.4.2.12; 35.1' "$PTSIM" list msrs
has '"name": "IA32_RTIT_OUTPUT_MASK_PTRS",' "$PTSIM" list --json msrs
has '"index": "0x561",' "$PTSIM" list --json msrs
has 'TIP tip 0D size varies CYC SDM 33.4.2.2' "$PTSIM" list packets
has 'PIP pip 02 43 size 8 CYC SDM 33.4.2.7' "$PTSIM" list packets
has 'byte 2 bit 1 to byte 7 bit 7: CR3[51:5]' "$PTSIM" list packets
has 'byte 0 bits 7:5: IPBytes' "$PTSIM" list packets
has 'byte 1 bit 2: RFLAGS.IF, with event trace' "$PTSIM" list packets
has '"name": "PSB",' "$PTSIM" list --json packets
has 'broadwell: Broadwell server, the first generation: one ToPA region (SDM 33.2.7.2)' \
    "$PTSIM" list cpus
has 'pt_topa_multi no CPUID.14H.0:ECX[1]: tables of more than one output entry' "$PTSIM" list cpus
has '"name": "skylake",' "$PTSIM" list --json cpus
has '"pt_mtc_freqs": 585,' "$PTSIM" list --json cpus

# A CPU without PT has none of its MSRs, and only they are gone.
"$PTSIM" list --cpu=nopt msrs | grep -q '^IA32_RTIT' && { echo "nopt has PT MSRs"; status=1; }
has 'IA32_EFER C0000080H reset 0H SDM 35.1, table 35-2; 2.2.1' "$PTSIM" list -c nopt msrs
"$PTSIM" list --cpu=broadwell msrs | grep -q MTCFreq && { echo "broadwell has MTC"; status=1; }

near="${srcdir:-.}/scenarios/33.7/near-indirect.yaml"
has 'A near indirect JMP or CALL gives a TIP with its target' "$PTSIM" list scenarios "$near"
has 'SDM 33.7, table 33-55, case 4' "$PTSIM" list scenarios "${srcdir:-.}/scenarios/33.7"
has '"33-55.4"' "$PTSIM" list --json scenarios "$near"
(cd "${srcdir:-.}" && has 'scenarios/33.7/near-indirect.yaml' "$PTSIM" list) || status=1

fails "ptsim: list: no CPU 'z80'; see 'ptsim list cpus'" "$PTSIM" list --cpu=z80 msrs
fails "ptsim: list: no list 'pins'; there are scenarios, msrs, packets and cpus" "$PTSIM" list pins
fails 'ptsim: /nonexistent: cannot be read: No such file or directory' \
    "$PTSIM" list scenarios /nonexistent
exit $status
