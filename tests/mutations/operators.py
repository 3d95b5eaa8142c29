"""Mutation operators: each makes the mutants of one kind of a printed kernel, with what the programming model says of them.

What must be found follows from the change, by the CUDA C++ Programming Guide and the PTX ISA; where it depends on the kernel, kernels.py
says it for the site.
"""

import re
from dataclasses import dataclass, field

from script import LOOP, NOTHING, Script, split

RACE, BOUNDS, ALIGNMENT = "race", "out_of_bounds", "misaligned"
UNINITIALISED, DEADLOCK, BYTES, DIVERGENT = "uninitialised", "deadlock", "tx_count", "divergent_barrier"
HARMLESS = frozenset()


@dataclass
class Mutant:
    operator: str
    line: int  # the changed line, of the unchanged script
    script: Script
    span: tuple  # lines of the changed script: what the change lets meet comes, in program order, from before the last to after the first
    expected: frozenset | None  # kinds, one of which must be found; none: no finding; None: depends on the kernel
    part: int = 0  # which of several sites in the line
    shared: int | None = None  # bytes of dynamic shared memory instead of the launch's
    words: list = field(default_factory=list)  # of the message of the finding

    @property
    def id(self):
        return f"{self.operator}@{self.line}" + (f".{self.part}" if self.part else "")


def barrier(text):
    return "tvm_storage_sync" in text


def call(text):
    """(head, arguments, tail) of a call in a line of its own."""
    m = re.match(r"((?:T\.|with T\.)[\w.]+\()(.*)(\):?)$", text)
    return (m[1], split(m[2]), m[3]) if m else (text, [], "")


class Kernel:
    """Makes mutants of a script."""

    def __init__(self, script, shared):
        self.script, self.shared = script, shared  # bytes of dynamic shared memory at the launch; None: not a number

    def mutants(self):
        for operator in OPERATORS:
            for line in range(1, len(self.script.lines) + 1):
                for part, mutant in enumerate(OPERATORS[operator](self, operator, line) or []):
                    mutant.part = part
                    yield mutant

    def change(self, operator, line, texts, expected, **more):
        """Line `line` becomes `texts`, indented as it was; a text may have its own further indentation."""
        s = self.script
        lines = s.lines[: line - 1] + [" " * s.indent(line) + t for t in texts] + s.lines[line:]
        changed = Script(lines)
        return Mutant(operator, line, changed, changed.span(line), expected and frozenset(expected), **more)

    def drop(self, operator, line, expected):
        return self.change(operator, line, [NOTHING], expected)


def drop_where(pattern, expected):
    def operator(k, name, line):
        if re.search(pattern, k.script.text(line)):
            yield k.drop(name, line, expected)

    return operator


def half_barrier(k, name, line):
    """Only half of the threads come to the barrier; the others end, or wait for what these do after it."""
    if not barrier(k.script.text(line)):
        return
    threads = {v: n for v, n in k.script.threads.items() if k.script.axes[v] == "threadIdx"}
    axis = max(threads, key=lambda v: (v[-1] != "x" and threads[v] > 1, threads[v]))
    if threads[axis] > 1:
        yield k.change(name, line, [f"if {axis} < {threads[axis] // 2}:", "    " + k.script.text(line)], {DIVERGENT, DEADLOCK})


def double_barrier(k, name, line):
    if barrier(k.script.text(line)):
        yield k.change(name, line, [k.script.text(line)] * 2, HARMLESS)


def count_of_wait(text):
    """The groups that a wait leaves in flight."""
    m = re.match(r"(.*(?:ptx_wait_group\(|warpgroup_wait\(|tma_store_wait\(|\"async_wait_inflight_count\", ))(\d+)(.*)$", text)
    return (m[1], int(m[2]), m[3]) if m else None


def drop_wait(k, name, line):
    text = k.script.text(line)
    if "async_wait_inflight_count" in text:
        head, _, tail = count_of_wait(text)
        yield k.change(name, line, [f"{head}99{tail}"], {RACE})
    elif "cluster_wait" in text:
        yield k.drop(name, line, {DIVERGENT})  # the next arrival comes without a wait
    elif re.search(r"ptx_wait_group|mbarrier_wait_parity|warpgroup_wait|tma_store_wait", text):
        yield k.drop(name, line, {RACE})


def weaker_wait(k, name, line):
    if found := count_of_wait(k.script.text(line)):
        head, n, tail = found
        yield k.change(name, line, [f"{head}{n + 1}{tail}"], {RACE})


def stronger_wait(k, name, line):
    if (found := count_of_wait(k.script.text(line))) and found[1] > 0:
        head, _, tail = found
        yield k.change(name, line, [f"{head}0{tail}"], HARMLESS)


HINT = re.compile(r"prefetch_tma_descriptor|warpgroup_fence_operand|set_max_nreg")


def late_wait(k, name, line):
    """A wait comes after the statement that follows it."""
    s, text = k.script, k.script.text(line)
    after = line + 1
    while after < len(s.lines) and HINT.search(s.text(after)):
        after += 1
    if not re.search(r"ptx_wait_group|mbarrier_wait_parity|warpgroup_wait", text) or after > len(s.lines) or s.indent(after) != s.indent(line):
        return
    end = s.block_end(after)
    changed = Script(s.lines[: line - 1] + s.lines[line:end] + [s.lines[line - 1]] + s.lines[end:])
    first, last = changed.span(line)
    yield Mutant(name, line, changed, (first, max(last, end)), frozenset({RACE}))


def drop_arrive(k, name, line):
    text = k.script.text(line)
    if "ptx_arrive_barrier_expect_tx" in text:
        yield k.drop(name, line, {DEADLOCK, BYTES})
    elif re.search(r"ptx_arrive_barrier|cluster_arrive", text):
        yield k.drop(name, line, {DEADLOCK})


def wrong_phase(k, name, line):
    head, arguments, tail = call(k.script.text(line))
    if "mbarrier_wait_parity" in head:
        yield k.change(name, line, [f"{head}{arguments[0]}, {arguments[1]} ^ 1{tail}"], {RACE, DEADLOCK})


def wrong_bytes(k, name, line):
    """Half and twice of the bytes that come; a message must tell of the barrier and of bytes, whatever the kind."""
    head, arguments, tail = call(k.script.text(line))
    if "expect_tx" in head:
        for n in (int(arguments[1]) // 2, int(arguments[1]) * 2):
            yield k.change(name, line, [f"{head}{arguments[0]}, {n}{tail}"], {BYTES, DEADLOCK, RACE}, words=["mbarrier", "bytes"])


def wrong_count(k, name, line):
    """An mbarrier waits for one arrival too many, or for half of them."""
    head, arguments, tail = call(k.script.text(line))
    if "ptx_init_barrier_thread_count" in head:
        n = int(arguments[1])
        yield k.change(name, line, [f"{head}{arguments[0]}, {n + 1}{tail}"], {DEADLOCK, BYTES})
        if n > 1:
            mutant = k.change(name, line, [f"{head}{arguments[0]}, {n // 2}{tail}"], {RACE, DEADLOCK})
            mutant.span = (1, len(mutant.script.lines))
            yield mutant


def small_shared(k, name, line):
    """Half of the shared memory: of the launch's, or of a static allocation."""
    s, text = k.script, k.script.text(line)
    if 'scope="shared.dyn"' in text and k.shared:
        mutant = k.change(name, line, [text], {BOUNDS}, shared=k.shared // 2)
    elif m := re.match(r'(\w+ = T\.alloc_buffer\(\()(\d+)(,\), "\w+", scope="shared"\))', text):
        mutant = k.change(name, line, [f"{m[1]}{int(m[2]) // 2}{m[3]}"], {BOUNDS})
    else:
        return
    mutant.span = (1, len(s.lines))
    yield mutant


def watched(k, access):
    return k.script.buffers[access.buffer].scope in ("global", "shared", "shared.dyn")


# Instructions whose addresses are multiples of 16 bytes (PTX ISA, cp.async, ldmatrix, cp.async.bulk.tensor, wmma.load).
ALIGNED = re.compile(r"ptx_cp_async|ptx_ldmatrix|tma_load|tma_store|_matrix_sync")


def off_by_one(k, name, line):
    """An index is one element too large. Vectors need no alignment: a codegen moves them by elements where it does not know of any."""
    s, text = k.script, k.script.text(line)
    if "cp_async_raw" in text:
        yield from off_by_one_argument(k, name, line)
        return
    for a in s.accesses(line):
        if not watched(k, a):
            continue
        start, *rest = split(text[a.start : a.end], ":")
        lanes = int(rest[0].removeprefix(f"{start} + ")) if rest and start != "0" else int(rest[0]) if rest else 1  # "i:i + 4", "0:4"
        shifted = f"{start} + 1" + (f":{start} + 1 + {lanes}" if rest else "")
        if ALIGNED.search(text):
            expected = {ALIGNMENT}
        else:
            extent, reached = s.buffers[a.buffer].extent, s.reaches(line, start)
            expected = {BOUNDS} if extent is not None and reached is not None and reached + lanes >= extent else None
        mutant = k.change(name, line, [text[: a.start] + shifted + text[a.end :]], expected)
        if expected:
            mutant.span = (line, line)
        yield mutant


def off_by_one_argument(k, name, line):
    """cp_async_raw(dtype, destination, index, source, index, bytes)"""
    s = k.script
    head, arguments, tail = call(s.text(line))
    for at in (2, 4):
        pointer = arguments[at - 1]
        extents = [int(m[1]) for t in s.lines if (m := re.search(rf"decl_buffer\(\((\d+),\), \"\w+\", data={pointer}\)", t))]
        extent = extents[0] if extents else s.buffers[pointer.removesuffix(".data")].extent
        expected = {BOUNDS} if s.reaches(line, arguments[at]) + 1 >= extent else None
        shifted = arguments[:at] + [f"{arguments[at]} + 1"] + arguments[at + 1 :]
        yield k.change(name, line, [head + ", ".join(shifted) + tail], expected)


def swapped_stage(k, name, line):
    """A buffer of several stages is used at another stage than its own."""
    s, text = k.script, k.script.text(line)
    loops = "|".join(LOOP.match(s.text(i))[1] for i in s.loops(line))
    if not loops:
        return
    pieces = [(a.start, a.end) for a in s.accesses(line) if s.buffers[a.buffer].scope.startswith("shared") and "barrier" not in s.buffers[a.buffer].scope]
    if "increase_descriptor_offset" in text:
        pieces = [(0, len(text))]
    elif "cp_async_raw" in text:
        pieces = [(0, text.index(", ", text.index(".data, ") + 7))]
    for start, end in pieces:
        m = re.compile(rf"(?<=\()(?:{loops})(?: \+ \d+)?(?= & 1\))|(?<=truncmod\()(?:{loops})\b(?: \+ \d+)?").search(text, start, end)
        if m:
            yield k.change(name, line, [f"{text[: m.end()]} + 1{text[m.end() :]}"], {RACE, UNINITIALISED})


def swapped_buffer(k, name, line):
    """A store to one shared buffer goes to another of the same shape."""
    s, text = k.script, k.script.text(line)
    m = re.match(r"(\w+)\[", text)
    if not m or m[1] not in s.buffers or not s.buffers[m[1]].scope.startswith("shared") or " = " not in text:
        return
    others = [b for b in s.buffers if b != m[1] and s.buffers[b] == s.buffers[m[1]] and s.buffers[b].extent]
    others = [b for b in others if s.data[b] != s.data[m[1]]]
    if others:
        yield k.change(name, line, [others[0] + text[len(m[1]) :]], {UNINITIALISED, RACE})


def drop_commit(k, name, line):
    text = k.script.text(line)
    if re.search(r"ptx_commit_group|warpgroup_commit_batch|tma_store_arrive", text):
        yield k.drop(name, line, {RACE})
    elif "async_commit_queue_scope" in text:
        mutant = k.change(name, line, [text.replace("async_commit_queue_scope", "lexical_alloc_scope")], {RACE})
        mutant.span = (mutant.span[0], max(mutant.span[1], k.script.block_end(line)))  # the copies are inside
        yield mutant


# In the order of the table.
OPERATORS = {
    "drop_barrier": drop_where(r"tvm_storage_sync|cluster_sync", {RACE}),
    "half_barrier": half_barrier,
    "drop_wait": drop_wait,
    "weaker_wait": weaker_wait,
    "late_wait": late_wait,
    "drop_commit": drop_commit,
    "drop_arrive": drop_arrive,
    "drop_fence": drop_where(r"fence_proxy_async|warpgroup_arrive", {RACE}),
    "drop_init": drop_where(r"ptx_init_barrier_thread_count", {UNINITIALISED}),
    "wrong_count": wrong_count,
    "wrong_phase": wrong_phase,
    "wrong_bytes": wrong_bytes,
    "off_by_one": off_by_one,
    "swapped_stage": swapped_stage,
    "swapped_buffer": swapped_buffer,
    "small_shared": small_shared,
    "double_barrier": double_barrier,
    "stronger_wait": stronger_wait,
    "drop_hint": drop_where(HINT.pattern, HARMLESS),
}
