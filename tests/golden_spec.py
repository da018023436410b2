#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes scenarios and goldens from a short form, with the bytes of the packets worked out here.

    tests/golden_spec.py FILE...

A golden says what the manual wants, byte by byte; counting offsets and packing payloads by hand is
where it goes wrong. This is a second encoder, written from 33.4.2 alone and sharing nothing with
models/pt: it never runs the simulator, so that a golden made with it is still no output. It writes
files that are not there; one that is there it leaves alone, unless FORCE=1 is in the environment.

FILE has, for each scenario,

    === 33.7/near-indirect
    title: ...            the scenario, as docs/scenarios.md has it
    ---
    START                 the golden, a packet a line, without offset and bytes
    # comments stay
    tip to
    END

Packets are named as in docs/golden.md. An IP packet is `tip LABEL`, with the least IPBytes that the
IP before allows, or `tip 3: LABEL`, or `tip.pgd 0:`. `!02 82|cut` is a line with its bytes as they
are. Lines that begin with msr, reg, mem, cpu, repeat and end stay as they are. START is the frame of
docs/golden.md up to TIP.PGE, with what is named behind it left out or added: nobr nopip notsx nopge
tsc mtc cyc ip=LABEL me=TEXT cbr=N. END is FUP and TIP.PGD at `stop`, or at a label behind it.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BITS = {"real16": 16, "prot16": 16, "v86": 16, "prot32": 32, "compat32": 32, "long64": 64}


def environment():
    """The symbols of sim/environment.def."""
    symbols = {"cr3_main": 0x40000}
    with open(os.path.join(ROOT, "sim", "environment.def"), encoding="ascii") as rows:
        for name, value in re.findall(r"^ENV_\w+\((\w+), (0x[0-9a-f]+)", rows.read(), re.M):
            symbols[name] = int(value, 16)
    return symbols


def block(yaml, key):
    """The value of a top-level key; a literal block without its indent."""
    found = re.search(rf"^{key}:[ ]*(.*(?:\n[ ]+.*|\n(?=\n[ ]))*)", yaml, re.M)
    if not found:
        return ""
    text = found.group(1)
    if text.startswith("|"):
        text = text.split("\n", 1)[1]
    return text


def names(yaml, key):
    """Names in a list of mappings, or in a list."""
    text = block(yaml, key)
    return re.findall(r"name:\s*(\w+)", text) or re.findall(r"\w+", text)


def symbols_of(yaml):
    """Every label of the code, and the symbols of the environment."""
    symbols = environment()
    selector = 0x90
    for key in ("tasks", "gates"):
        for name in names(yaml, key):
            symbols[name] = selector
            selector += 0x10
    for number, name in enumerate(names(yaml, "roots")):
        symbols[name] = symbols["cr3_main"] + 0x1000 * (number + 1)
    with tempfile.TemporaryDirectory() as directory:
        return symbols | assemble(yaml, symbols, directory)


def assemble(yaml, symbols, directory):
    path = {end: os.path.join(directory, "code." + end) for end in ("s", "o", "elf", "ld")}
    code = block(yaml, "code")
    bits = BITS[block(yaml, "mode").strip() or "long64"]
    with open(path["s"], "w", encoding="utf-8") as source:
        source.write('.intel_syntax noprefix\n.macro org at\n.section .org.\\at, "awx", @progbits\n'
                     ".endm\n")
        for name, value in symbols.items():
            source.write(f".set {name}, {value:#x}\n")
        source.write(f"org 0x8000\n.code{bits}\n{code}\n")
    subprocess.run(["as", "--64", "-o", path["o"], path["s"]], check=True)
    with open(path["ld"], "w", encoding="ascii") as script:
        script.write("SECTIONS {\n")
        for address in dict.fromkeys(["0x8000"] + re.findall(r"\borg (\w+)", code)):
            script.write(f"  .org.{address} {address} : {{ *(.org.{address}) }}\n")
        script.write("}\n")
    subprocess.run(["ld", "-T", path["ld"], "-e", "0", "-o", path["elf"], path["o"]], check=True,
                   stderr=subprocess.DEVNULL)
    listing = subprocess.run(["nm", path["elf"]], check=True, capture_output=True, text=True).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines()}


class Packets:
    """Lines of packets to lines with offset and bytes."""

    def __init__(self, symbols):
        self.symbols = symbols
        self.offset = 0
        self.last_ip = 0
        self.last_ip_known = False
        self.item_bytes = 8

    def value(self, text):
        total = 0
        for sign, term in re.findall(r"([+-]?)\s*([\w.]+)", text):
            if term in self.symbols:
                number = self.symbols[term]
            else:
                number = int(term, 16)
            total += -number if sign == "-" else number
        return total

    def line(self, raw, text):
        line = f"{self.offset:04x}  {raw.hex(' '):<49}{text}".rstrip()
        self.offset += len(raw)
        return line

    def ip(self, opcode, rest):
        found = re.match(r"(\d):\s*(.*)", rest)
        forced, target = (int(found.group(1)), found.group(2)) if found else (None, rest)
        if forced == 0:
            return bytes([opcode]), "0:"
        ip = self.value(target) & (1 << 64) - 1
        kind = self.compression(ip) if forced is None else forced
        size = {1: 2, 2: 4, 3: 6, 4: 6, 6: 8}[kind]
        self.last_ip = ip
        return bytes([opcode | kind << 5]) + (ip & (1 << 8 * size) - 1).to_bytes(size, "little"), \
            f"{kind}: {target}"

    def compression(self, ip):
        if ip >> 16 == self.last_ip >> 16:
            return 1
        if ip >> 32 == self.last_ip >> 32:
            return 2
        if ip >> 47 in (0, 0x1ffff):
            return 3
        return 4 if ip >> 48 == self.last_ip >> 48 else 6

    def packet(self, text):
        name, _, rest = text.partition(" ")
        rest = rest.strip()
        method = getattr(self, "do_" + name.replace(".", "_"), None)
        if method is None:
            raise ValueError(f"no packet '{name}'")
        raw, shown = method(rest)
        return self.line(raw, f"{name} {shown}".rstrip())

    def numbers(self, rest):
        return [self.value(part) for part in re.split(r"[:,]", rest)]

    # pylint: disable=missing-function-docstring
    def do_pad(self, rest):
        return b"\0", rest

    def do_psb(self, rest):
        self.last_ip = 0
        return b"\x02\x82" * 8, rest

    def do_psbend(self, rest):
        return b"\x02\x23", rest

    def do_ovf(self, rest):
        return b"\x02\xf3", rest

    def do_stop(self, rest):
        return b"\x02\x83", rest

    def do_tip(self, rest):
        raw, shown = self.ip(0x0d, rest)
        return raw, shown

    def do_tip_pge(self, rest):
        return self.ip(0x11, rest)

    def do_tip_pgd(self, rest):
        return self.ip(0x01, rest)

    def do_fup(self, rest):
        return self.ip(0x1d, rest)

    def do_tnt_8(self, rest):
        bits = 1
        for outcome in rest:
            bits = bits << 1 | (outcome == "!")
        return bytes([bits << 1]), rest

    def do_tnt_64(self, rest):
        bits = 1
        for outcome in rest:
            bits = bits << 1 | (outcome == "!")
        return b"\x02\xa3" + bits.to_bytes(6, "little"), rest

    def do_pip(self, rest):
        cr3, _, flag = rest.partition(",")
        # ptdump prints the bits as they are sent, but a symbol stands for the address
        address = self.value(cr3) if cr3 in self.symbols else self.value(cr3) << 5
        return b"\x02\x43" + (address >> 5 << 1 | ("nr" in flag)).to_bytes(6, "little"), rest

    def do_mode_exec(self, rest):
        flags = re.findall(r"[\w.]+", rest)
        return bytes([0x99, sum({"cs.l": 1, "cs.d": 2, "if": 4}[f] for f in flags)]), rest

    def do_mode_tsx(self, rest):
        flags = re.findall(r"\w+", rest)
        return bytes([0x99, 0x20 | sum({"intx": 1, "abrt": 2}[f] for f in flags)]), rest

    def do_cbr(self, rest):
        return bytes([2, 3, self.value(rest), 0]), rest

    def do_tsc(self, rest):
        return b"\x19" + self.value(rest).to_bytes(7, "little"), rest

    def do_mtc(self, rest):
        return bytes([0x59, self.value(rest)]), rest

    def do_tma(self, rest):
        ctc, counter = self.numbers(rest)
        return b"\x02\x73" + ctc.to_bytes(2, "little") + b"\0" + counter.to_bytes(2, "little"), rest

    def do_cyc(self, rest):
        value = self.value(rest)
        raw = [(value & 0x1f) << 3 | 3]
        value >>= 5
        if value:
            raw[0] |= 4
        while value:
            raw.append((value & 0x7f) << 1 | (value > 0x7f))
            value >>= 7
        return bytes(raw), rest

    def do_vmcs(self, rest):
        base = self.value(rest) if rest in self.symbols else self.value(rest) << 12
        return b"\x02\xc8" + (base >> 12).to_bytes(5, "little"), rest

    def do_mnt(self, rest):
        return b"\x02\xc3\x88" + self.value(rest).to_bytes(8, "little"), rest

    def do_ptw(self, rest):
        fields, _, flag = rest.partition(",")
        size, value = fields.split(":")
        wide = int(size)
        return bytes([2, 0x12 | wide << 5 | ("ip" in flag) << 7]) + \
            self.value(value).to_bytes(8 if wide else 4, "little"), rest

    def do_exstop(self, rest):
        return bytes([2, 0x62 | (rest == "ip") << 7]), rest

    def do_mwait(self, rest):
        hints, extensions = self.numbers(rest)
        return b"\x02\xc2" + hints.to_bytes(4, "little") + extensions.to_bytes(4, "little"), rest

    def do_pwre(self, rest):
        state, sub_state = re.match(r"c(\d+)\.(\d+)", rest).groups()
        return bytes([2, 0x22, ("hw" in rest) << 7,
                      (int(state) - 1 & 15) << 4 | (int(sub_state) - 1 & 15)]), rest

    def do_pwrx(self, rest):
        wake, last, deepest = re.match(r"(\w+):\s*c(\d+),\s*c(\d+)", rest).groups()
        bit = {"int": 1, "tmr": 2, "st": 4, "hw": 8, "bad": 0}[wake]
        return bytes([2, 0xa2, (int(last) - 1 & 15) << 4 | (int(deepest) - 1 & 15), bit, 0, 0, 0]), \
            rest

    def do_bbp(self, rest):
        kind, _, flag = rest.partition(",")
        self.item_bytes = 4 if "sz" in flag else 8
        return bytes([2, 0x63, self.value(kind) | (self.item_bytes == 4) << 7]), rest

    def do_bip(self, rest):
        number, value = self.numbers(rest)
        return bytes([number << 3 | 4]) + value.to_bytes(self.item_bytes, "little"), rest

    def do_bep(self, rest):
        return bytes([2, 0x33 | (rest == "ip") << 7]), rest

    def do_cfe(self, rest):
        fields, _, flag = rest.partition(",")
        parts = fields.split(":")
        vector = 0
        if len(parts) > 1:
            vector = self.value(parts[1]) if int(parts[0]) == 5 else int(parts[1])
        return bytes([2, 0x13, int(parts[0]) | ("ip" in flag) << 7, vector]), rest

    def do_evd(self, rest):
        kind, value = rest.split(":")
        return bytes([2, 0x53, int(kind)]) + self.value(value).to_bytes(8, "little"), rest


def start(words):
    """The frame of docs/golden.md."""
    options = dict(word.partition("=")[::2] for word in words)
    branches = "nobr" not in options
    tsc = [] if "tsc" not in options else [f"tsc {options['tsc'] or '0x0'}"]
    if tsc and "mtc" in options:
        tsc.append(f"tma {options['mtc'].replace('/', ', ') or '0x0, 0x0'}")
    lines = ["# 33.3.7: PSB+, since PacketByteCnt is 0", "psb"]
    lines += ["cyc 0x0"] if "cyc" in options else []
    lines += tsc
    lines += [] if "nopip" in options else ["pip cr3_main"]
    lines += [f"cbr {options.get('cbr', '0x15')}"]
    lines += ["mode.tsx"] if branches and "notsx" not in options else []
    lines += ["psbend"]
    if branches and "nopge" not in options:
        lines += ["# 33-56.2: TraceEn 0 -> 1", f"mode.exec {options.get('me', 'cs.l').replace('+', ', ')}",
                  f"tip.pge {options.get('ip', 'start')}"]
    return lines


def end(words):
    return ["# 33-56.3: TraceEn 1 -> 0", f"fup {words[0] if words else 'stop'}", "tip.pgd 0:"]


def golden(yaml, text):
    packets = Packets(symbols_of(yaml))
    ids = ", ".join(re.findall(r"[\w.-]+", block(yaml, "ids"))).replace(",", "")
    cite = block(yaml, "cite").strip().strip("'\"")
    out = ["# SPDX-License-Identifier: GPL-2.0-or-later", f"ids {ids}", f"cite {cite}", "", "cpu 0"]
    lines = []
    for line in text.strip("\n").splitlines():
        words = line.split()
        if words and words[0] == "START":
            lines += start(words[1:])
        elif words and words[0] == "END":
            lines += end(words[1:])
        else:
            lines.append(line.rstrip())
    for line in lines:
        if line.startswith("!"):
            raw, _, shown = line[1:].partition("|")
            out.append(packets.line(bytes.fromhex(raw), shown.strip()))
        elif not line or line[0] == "#" or line.split()[0] in ("msr", "reg", "mem", "cpu", "repeat",
                                                               "end"):
            out.append(line)
        else:
            out.append(packets.packet(line))
    return "\n".join(out) + "\n"


def write(path, text):
    if os.path.exists(path) and not os.environ.get("FORCE"):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    for spec in sys.argv[1:]:
        with open(spec, encoding="utf-8") as file:
            parts = re.split(r"^=== (.*)$", file.read(), flags=re.M)[1:]
        for path, body in zip(parts[::2], parts[1::2]):
            yaml, _, text = body.strip("\n").partition("\n---\n")
            path = path.strip()
            try:
                made = golden(yaml, text)
            except (ValueError, KeyError, AttributeError, OverflowError) as error:
                print(f"{spec}: {path}: {error}", file=sys.stderr)
                return 2
            except subprocess.CalledProcessError:
                print(f"{spec}: {path}: the code is not assembled", file=sys.stderr)
                return 2
            write(os.path.join(ROOT, "scenarios", path + ".yaml"),
                  "# SPDX-License-Identifier: GPL-2.0-or-later\n" + yaml.strip("\n") + "\n")
            write(os.path.join(ROOT, "golden", "sdm", path + ".golden"), made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
