"""Mutants of kernels of the corpus, each with one fault or one harmless change, and what checked runs find in them.

usage: matrix.py KILN test SHARD SHARDS   fails where a fault is missed, a harmless change reported, or docs/simulator.md says otherwise
       matrix.py KILN table [PART...]     prints the table of docs/simulator.md, of kernels whose names have one of the parts
       matrix.py KILN list [PART...]      prints each mutant with what must be found and what is found
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from kernels import KERNELS, MISSED
from operators import BOUNDS, BYTES, DEADLOCK, DIVERGENT, OPERATORS, RACE, UNINITIALISED, Kernel
from script import Script

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "corpus")
WAITS = re.compile(r"wait|sync|arrive|expect_tx|tma_load|init_barrier|pass|evaluate")
SEEDS = 20  # of the kernels as they are


def run(kiln, folders, *options):
    done = subprocess.run([kiln, "run", *folders, "--device", "sim", "--check", "--json", "--jobs", "1", *options], capture_output=True, text=True)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(folders), f"{len(outcomes)} outcomes of {len(folders)} cases: {done.stderr[-2000:]}"
    return outcomes


def load(kiln, name):
    folder = os.path.join(CORPUS, name)
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    text = subprocess.run([kiln, "print", os.path.join(folder, case["device_module"])], capture_output=True, text=True, check=True).stdout
    shared = case["launches"][0]["smem"]
    return case, Kernel(Script(text.splitlines()), shared if isinstance(shared, int) else None)


def write(folder, case, mutant):
    os.makedirs(folder)
    launches = [dict(launch) for launch in case["launches"]]
    lines = list(mutant.script.lines)
    if mutant.shared is not None:
        launches[0]["smem"] = mutant.shared
        lines = [re.sub(r'("dyn_shared_memory_buf": )\d+', rf"\g<1>{mutant.shared}", line) for line in lines]
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(dict(case, device_module="device.py", launches=launches, compare=False), f)
    with open(os.path.join(folder, "device.py"), "w") as f:
        f.write("\n".join(lines) + "\n")


def places(finding):
    """The line of a finding, and the lines that its message names."""
    return [int(n) for n in re.findall(r"device\.py:(\d+)", finding["place"] + " " + finding["message"])]


def is_at(mutant, finding):
    """Whether a finding of the right kind is where the change is."""
    lines, (first, last) = places(finding), mutant.span
    if not lines or not finding["place"] or any(word not in finding["message"] for word in mutant.words):
        return False
    kind = finding["kind"]
    if kind == RACE and len(lines) == 1:  # against no other access: the block's end, or a fence that is not there
        return True
    if kind in (DEADLOCK, BYTES, DIVERGENT):
        return all(WAITS.search(mutant.script.text(n)) for n in lines[:1])
    if kind == UNINITIALISED:
        return lines[0] >= first
    return min(lines) <= last and max(lines) >= first


def judge(mutant, outcome):
    """found, missed, wrong (findings, but none of the right kind at the right place), false (of a harmless change) or quiet."""
    findings = outcome["findings"]
    if not mutant.expected:
        return "false" if findings or not outcome["passed"] else "quiet"
    if any(f["kind"] in mutant.expected and is_at(mutant, f) for f in findings):
        return "found"
    return "wrong" if findings else "missed"


class Row:
    """One kernel: its mutants and what is found."""

    def __init__(self, kiln, name, folder):
        self.name, self.problems, self.lines = name, [], []
        case, kernel = load(kiln, name)
        declared = dict(KERNELS[name])
        self.mutants = list(kernel.mutants())
        folders = []
        for m in self.mutants:
            if m.id in declared:
                m.expected = frozenset(declared.pop(m.id)[0])
            folders.append(os.path.join(folder, name.replace(os.path.basename(name), f"{os.path.basename(name)}.{m.id}")))
            write(folders[-1], case, m)
        self.problems += [f"{name}: there is no mutant {i}" for i in declared]
        self.verdicts = []
        for m, outcome in zip(self.mutants, run(kiln, folders)):
            verdict = judge(m, outcome)
            self.verdicts.append(verdict)
            said = "; ".join(f"{f['kind']} x{f['count']} at {f['place'].rsplit('/')[-1]}: {f['message']}" for f in outcome["findings"]) or outcome["reason"]
            expected = "undeclared" if m.expected is None else " or ".join(sorted(m.expected)) or "nothing"
            report = f"{name} {m.id}: {verdict}; must find {expected}; {said or 'passed'}"
            self.lines.append(report)
            known = (name, m.id) in MISSED
            if m.expected is None or known == (verdict in ("found", "quiet")):
                self.problems.append(report + (" (no longer MISSED in kernels.py?)" if known else ""))
        for outcome in run(kiln, [os.path.join(CORPUS, name)], "--schedules", str(SEEDS)):
            if not outcome["passed"]:
                self.problems.append(f"{name} as it is: {outcome['reason']} {outcome['findings']}")

    def counts(self, operator):
        """Faults found and all faults, harmless changes without a finding and all of them."""
        of = [(bool(m.expected), v) for m, v in zip(self.mutants, self.verdicts) if m.operator == operator]
        return [of.count((True, "found")), sum(e for e, _ in of), of.count((False, "quiet")), sum(not e for e, _ in of)]

    def text(self):
        kernel = self.name.replace("corpus/cuda_", "").replace("corpus_tvm/cuda_", "tvm ")
        return row_text(kernel, [self.counts(o) for o in OPERATORS])


def cell_text(counts):
    found, faults, quiet, harmless = counts
    parts = [f"{found}/{faults}"] if faults else []
    parts += [f"{quiet}/{harmless} quiet"] if harmless else []
    return ", ".join(parts) or "–"


def row_text(name, cells):
    return f"| {name} | " + " | ".join(cell_text(c) for c in [[sum(n) for n in zip(*cells)], *cells]) + " |"


def read_row(text):
    """(name, cells) of a row of the table."""
    name, _, *cells = [c.strip() for c in text.strip("| ").split("|")]
    counts = []
    for c in cells:
        numbers = {bool(q): (int(a), int(b)) for a, b, q in re.findall(r"(\d+)/(\d+)( quiet)?", c)}
        counts.append([*numbers.get(False, (0, 0)), *numbers.get(True, (0, 0))])
    return name, counts


HEAD = "| kernel | " + " | ".join(["all", *OPERATORS]).replace("_", " ") + " |"
ALL = "all"  # the last row


def documented_table():
    """The rows of docs/simulator.md, whose last one must be their sum."""
    with open(os.path.join(ROOT, "docs", "simulator.md")) as f:
        lines = f.read().splitlines()
    assert HEAD in lines, f"docs/simulator.md has no table that begins with: {HEAD}"
    table = []
    for line in lines[lines.index(HEAD) + 2 :]:
        if not line.startswith("|"):
            break
        table.append(line)
    assert len(table) == len(KERNELS) + 1, f"the table of docs/simulator.md has {len(table)} rows for {len(KERNELS)} kernels and their sum"
    total = sum_text(table[:-1])
    assert table[-1] == total, f"the last row of the table in docs/simulator.md should be: {total}"
    return table


def sum_text(table):
    cells = [read_row(line)[1] for line in table]
    return row_text(ALL, [[sum(n) for n in zip(*column)] for column in zip(*cells)])


def rows(kiln, names):
    with tempfile.TemporaryDirectory() as folder:
        for part in ("corpus", "corpus_tvm"):
            os.makedirs(os.path.join(folder, part))
            os.symlink(os.path.join(CORPUS, part, "data"), os.path.join(folder, part, "data"))
        for name in names:
            yield Row(kiln, name, folder)


def test(kiln, names):
    problems, mutants, documented = [], 0, documented_table()
    for row in rows(kiln, names):
        problems += row.problems
        mutants += len(row.mutants)
        if row.text() not in documented:
            problems.append(f"docs/simulator.md should say: {row.text()}")
    assert not problems, "\n".join(problems)
    print(f"{mutants} mutants")


def main():
    kiln, verb, *arguments = sys.argv[1:]
    if verb == "test":
        shard, shards = map(int, arguments)
        return test(kiln, list(KERNELS)[shard::shards])
    names = [n for n in KERNELS if not arguments or any(a in n for a in arguments)]
    if verb == "list":
        for row in rows(kiln, names):
            print("\n".join(row.lines), flush=True)
        return
    table = [row.text() for row in rows(kiln, names)]
    print("\n".join([HEAD, "|---" * (len(OPERATORS) + 2) + "|", *table, sum_text(table)]))


if __name__ == "__main__":
    main()
