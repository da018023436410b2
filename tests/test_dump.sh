#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ptsim dump: what it prints, what it says of bytes that are no packets, its one-line errors.
status=0
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
unset NO_COLOR

# bytes HEX...: those bytes.
bytes() {
    for hex in "$@"; do
        while [ -n "$hex" ]; do
            rest=${hex#??}
            # shellcheck disable=SC2059 # the format is the byte
            printf "\\$(printf %o "0x${hex%"$rest"}")"
            hex=$rest
        done
    done
}
psb=02820282028202820282028202820282

# prints STATUS TRACE OPTION...: standard output is what is on standard input.
prints() {
    cat > "$tmp/expected"
    expected_status=$1
    trace=$2
    shift 2
    "$PTSIM" dump "$@" "$tmp/$trace" > "$tmp/out" 2> "$tmp/err"
    got=$?
    if [ $got -ne "$expected_status" ]; then
        echo "dump $* $trace: status $got"
        status=1
    fi
    diff -u "$tmp/expected" "$tmp/out" || { echo "dump $* $trace: see above"; status=1; }
}

# says LINE: what the last prints or fails left on standard error.
says() {
    [ "$(cat "$tmp/err")" = "$1" ] && return
    printf 'expected: %s\ngot: %s\n' "$1" "$(cat "$tmp/err")"
    status=1
}

# fails LINE ARGUMENT...: status 2 and that one line on standard error, nothing on standard output.
fails() {
    line=$1
    shift
    "$PTSIM" dump "$@" > "$tmp/out" 2> "$tmp/err"
    if [ $? -ne 2 ] || [ -s "$tmp/out" ]; then
        echo "dump $*: wrong status or output"
        status=1
    fi
    says "$line"
}

bytes $psb 19efcdab89674523 02731200003400 02032400 9901 7d001040000000 0243000010000000 0223 \
      00 13 313412 fe 0704 01 0283 > "$tmp/all"

prints 0 all << 'END'
0000000000000000  psb
0000000000000010  tsc        23456789abcdef
0000000000000018  tma        12, 34
000000000000001f  cbr        24
0000000000000023  mode.exec  cs.l
0000000000000025  fup        3: 0000000000401000
000000000000002c  pip        1000000                   cr3  0000000001000000
0000000000000034  psbend
0000000000000036  pad
0000000000000037  cyc        2
0000000000000038  tip.pge    1: ????????????1234
000000000000003b  tnt.8      !!!!!!
000000000000003c  cyc        40
000000000000003e  tip.pgd    0: ????????????????
000000000000003f  stop
END
prints 0 all --no-pad --no-timing --no-offset --lastip --exec-mode << 'END'
psb
mode.exec  cs.l                      em   64-bit
fup        3: 0000000000401000       ip   0000000000401000
pip        1000000                   cr3  0000000001000000
psbend
tip.pge    1: ????????????1234       ip   0000000000401234
tnt.8      !!!!!!
tip.pgd    0: ????????????????       ip   <suppressed>
stop
END
prints 0 all --no-cyc --raw << 'END'
0000000000000000  02820282028202820282028202820282  psb
0000000000000010  19efcdab89674523                  tsc        23456789abcdef
0000000000000018  02731200003400                    tma        12, 34
000000000000001f  02032400                          cbr        24
0000000000000023  9901                              mode.exec  cs.l
0000000000000025  7d001040000000                    fup        3: 0000000000401000
000000000000002c  0243000010000000                  pip        1000000                   cr3  0000000001000000
0000000000000034  0223                              psbend
0000000000000036  00                                pad
0000000000000038  313412                            tip.pge    1: ????????????1234
000000000000003b  fe                                tnt.8      !!!!!!
000000000000003e  01                                tip.pgd    0: ????????????????
000000000000003f  0283                              stop
END
prints 0 all --quiet < /dev/null
prints 0 all --json --no-timing --no-pad --lastip << 'END'
{"offset":0,"size":16,"bytes":"02820282028202820282028202820282","packet":"PSB","payload":"","fields":{}}
{"offset":35,"size":2,"bytes":"9901","packet":"MODE.Exec","payload":"cs.l","fields":{"cs_d":false,"cs_l":true,"rflags_if":false}}
{"offset":37,"size":7,"bytes":"7d001040000000","packet":"FUP","payload":"3: 0000000000401000","fields":{"ip_bytes":3,"ip":"0x401000"},"last_ip":"0x401000"}
{"offset":44,"size":8,"bytes":"0243000010000000","packet":"PIP","payload":"1000000","fields":{"cr3":"0x1000000","nr":false}}
{"offset":52,"size":2,"bytes":"0223","packet":"PSBEND","payload":"","fields":{}}
{"offset":56,"size":3,"bytes":"313412","packet":"TIP.PGE","payload":"1: ????????????1234","fields":{"ip_bytes":1,"ip":"0x1234"},"last_ip":"0x401234"}
{"offset":59,"size":1,"bytes":"fe","packet":"TNT","payload":"!!!!!!","fields":{"count":6,"bits":"0x3f"}}
{"offset":62,"size":1,"bytes":"01","packet":"TIP.PGD","payload":"0: ????????????????","fields":{"ip_bytes":0,"ip":"0x0"}}
{"offset":63,"size":2,"bytes":"0283","packet":"TraceStop","payload":"","fields":{}}
END

# A buffer that wrapped begins and ends within a packet: no mistake.
bytes 401000 $psb 0223 4d1100 > "$tmp/wrapped"
prints 0 wrapped << 'END'
[0: before the first PSB: 401000]
[3: 3 bytes skipped, up to a PSB]
0000000000000003  psb
0000000000000013  psbend
[15: packet cut off by the end: 4d1100]
END
prints 0 wrapped --json --quiet << 'END'
{"offset":0,"size":3,"bytes":"401000","gap":"before the first PSB","psb_follows":true}
{"offset":21,"size":3,"bytes":"4d1100","gap":"packet cut off by the end","psb_follows":false}
END
bytes 0606 > "$tmp/tnt"
prints 0 tnt --no-sync << 'END'
0000000000000000  tnt.8      !
0000000000000001  tnt.8      !
END

bytes $psb 0223 c9 000102030405060708090a0b0c0d0e0f10 $psb 06 ed c9c9 > "$tmp/bad"
prints 2 bad << 'END'
0000000000000000  psb
0000000000000010  psbend
[12: no packet: c9000102030405060708090a0b0c0d0e...]
[24: 18 bytes skipped, up to a PSB]
0000000000000024  psb
0000000000000034  tnt.8      !
[35: no packet: edc9c9]
[38: 3 bytes skipped, up to the end]
END
says "ptsim: $tmp/bad: no packet begins at offset 0x12; 2 such places in the file"

: > "$tmp/empty"
prints 0 empty < /dev/null
bytes $psb 0223 | "$PTSIM" dump --no-offset - > "$tmp/out"
[ "$(cat "$tmp/out")" = "psb
psbend" ] || { echo "dump of standard input: $(cat "$tmp/out")"; status=1; }

escape=$(printf '\033')
"$PTSIM" dump --color=always "$tmp/all" | grep -qF "${escape}[2m" || { echo "no colour"; status=1; }
"$PTSIM" dump "$tmp/bad" 2> "$tmp/err" | grep -qF "$escape" && { echo "colour in a pipe"; status=1; }

bytes c9c9c9c9 > "$tmp/garbage"
fails "ptsim: $tmp/garbage: no PSB in its 4 bytes; a raw PT trace has one" "$tmp/garbage"
fails "ptsim: $tmp/none: No such file or directory" "$tmp/none"
fails "ptsim: $tmp: Is a directory" "$tmp"
fails "ptsim: dump: name one file; see 'ptsim dump --help'"
fails "ptsim: dump: name one file; see 'ptsim dump --help'" "$tmp/all" "$tmp/bad"
fails "ptsim: dump: --color=red; it is auto, always or never" --color=red "$tmp/all"
fails "ptsim: --raws: unknown option or missing value; see 'ptsim dump --help'" --raws "$tmp/all"
"$PTSIM" dump --raw --help | grep -q '^Usage: ptsim dump' || { echo "no help"; status=1; }
if [ -c /dev/full ]; then
    "$PTSIM" dump "$tmp/all" 2> "$tmp/err" > /dev/full
    [ $? -eq 2 ] || { echo "dump to a full device: wrong status"; status=1; }
    says "ptsim: standard output: No space left on device"
fi
exit $status
