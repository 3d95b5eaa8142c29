"""What a printed kernel says of itself, line by line: its loops, thread extents and buffers. Lines count from 1, as places in findings do."""

import itertools
import re
from dataclasses import dataclass

NOTHING = "T.evaluate(0)"
LOOP = re.compile(r"for (\w+) in (?:range|T\.serial|T\.unroll|T\.vectorized)\(([^,]*?)(?:, annotations=.*)?\):$")
THREAD = re.compile(r'(\w+) = T\.launch_thread\("(\w+)\.(\w)", (\d+)\)')
ALLOCATION = re.compile(r'(\w+) = T\.alloc_buffer\(\((\d+),\), "(\w+)", scope="([\w.]+)"\)')
VIEW = re.compile(r'(\w+) = T\.(decl_buffer|Buffer)\(\((.*),\), "(\w+)", data=([\w.]+)\)')
POINTER = re.compile(r'(\w+): T\.handle\("(\w+)", "([\w.]+)"\)')
BIND = re.compile(r"(\w+): T\.u?int\d+ = (.*)")


@dataclass(frozen=True)
class Buffer:
    scope: str
    extent: int | None  # elements of one that is declared with a number; None: its shape says nothing


@dataclass(frozen=True)
class Access:
    """A subscript of a buffer: columns of what is between its brackets, in its line without indentation."""

    buffer: str
    start: int
    end: int


class Script:
    def __init__(self, lines):
        self.lines = list(lines)
        self.threads, self.axes, self.binds, self.pointers, self.buffers, self.data = {}, {}, {}, {}, {}, {}
        for n, line in enumerate(self.lines, 1):
            self._declare(n, line.strip())

    def _declare(self, n, text):
        if m := THREAD.match(text):
            self.threads[m[1]] = int(m[4])
            self.axes[m[1]] = m[2]
        elif m := ALLOCATION.match(text):
            self.buffers[m[1]] = Buffer(m[4], int(m[2]))
            self.pointers[m[1] + ".data"] = m[4]
            self.data[m[1]] = m[1] + ".data"
        elif m := VIEW.match(text):
            extent = int(m[3]) if m[2] == "decl_buffer" and m[3].isdigit() else None
            self.buffers[m[1]] = Buffer(self.pointers.get(m[5], ""), extent)
            self.data[m[1]] = m[5]
        elif m := BIND.match(text):
            self.binds[m[1]] = m[2]
        for m in POINTER.finditer(text):
            self.pointers[m[1]] = m[3]

    def text(self, n):
        return self.lines[n - 1].strip()

    def indent(self, n):
        line = self.lines[n - 1]
        return len(line) - len(line.lstrip())

    def block_end(self, n):
        """The last line of the statement at line n."""
        end = n
        while end < len(self.lines) and (not self.lines[end].strip() or self.indent(end + 1) > self.indent(n)):
            end += 1
        return end

    def around(self, n):
        """The lines of the statements that line n is within, innermost first."""
        indent, found = self.indent(n), []
        for i in range(n - 1, 0, -1):
            if self.lines[i - 1].strip() and self.indent(i) < indent:
                indent = self.indent(i)
                found.append(i)
        return found

    def loops(self, n):
        return [i for i in self.around(n) if LOOP.match(self.text(i))]

    def span(self, n):
        """The lines that may run before and after line n again: its outermost loop that is no unrolled copy, or itself."""
        loops = self.loops(n)
        return (loops[-1], self.block_end(loops[-1])) if loops else (n, n)

    def accesses(self, n):
        """Subscripts of buffers in line n, in order; those of buffers that are declared in the line are none."""
        text, found = self.text(n), []
        if VIEW.match(text) or ALLOCATION.match(text):
            return found
        for m in re.finditer(r"(\w+)\[", text):
            if m[1] in self.buffers:
                found.append(Access(m[1], m.end(), closing(text, m.end())))
        return found

    def reaches(self, n, index):
        """The largest value of an integer expression at line n, over all threads and iterations that come there; None: data decide."""
        ranges, guards = dict(self.threads), []
        for i in self.around(n):
            text = self.text(i)
            if m := LOOP.match(text):
                ranges[m[1]] = m[2]
            elif m := re.match(r"if (.*):$", text):
                guards.append(m[1])
            elif text == "else:":
                opening = max(k for k in range(1, i) if self.indent(k) == self.indent(i) and self.text(k).startswith("if "))
                guards.append(f"not ({self.text(opening)[3:-1]})")
        guards = [g for g in guards if "T." not in g]  # who is elected does not move an index
        index = re.sub(r'"int64"', "0", index)
        expression = self._expand(" if " + " and ".join(f"({g})" for g in guards) + " else -1" if guards else "", index)
        names = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", expression)) - {"if", "else", "and", "or", "not", "T", "truncmod", "Div", "Cast", "int64"})
        if "[" in expression or any(not str(ranges.get(name, "")).isdigit() for name in names):
            return None
        evaluate = eval(f"lambda {', '.join(names)}: {expression}", {"T": Operators})  # an expression of the corpus
        return max(evaluate(*v) for v in itertools.product(*(range(int(ranges[name])) for name in names)))

    def _expand(self, guard, index):
        expression = f"({index}){guard}"
        while used := [name for name in self.binds if re.search(rf"\b{name}\b", expression)]:
            for name in used:
                expression = re.sub(rf"\b{name}\b", f"({self.binds[name]})", expression)
        return expression


class Operators:
    """Of indices, which are never negative where these occur."""

    truncmod = staticmethod(lambda a, b: a % b)
    Div = staticmethod(lambda a, b: a // b)
    Cast = staticmethod(lambda dtype, a: a)
    int64 = staticmethod(int)


def closing(text, start):
    """The column of the bracket that closes the one before column `start`."""
    depth = 1
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"no closing bracket in {text}")


def split(text, separator=","):
    """Parts of a text at the separators that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]]]
