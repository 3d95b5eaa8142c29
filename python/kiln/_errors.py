"""The error of every call."""

from __future__ import annotations


class KilnError(ValueError):
    """What went wrong.

    ``str(error)`` is one sentence. ``code`` is a name for programs ("no_codegen", "unknown_target", "invalid_argument", "parse",
    "invalid_ir", "unsupported", "toolchain", "launch", "io", "internal"), ``place`` says where ("gemm.py:12:3"), ``hint`` what to do; the
    last two may be empty.
    """

    def __init__(self, message: str, code: str = "internal", place: str = "", hint: str = ""):
        super().__init__(message)
        self.code = code
        self.place = place
        self.hint = hint
        notes = [f"at {place}"] * bool(place) + [f"hint: {hint}"] * bool(hint)
        for note in notes if hasattr(self, "add_note") else ():  # Python 3.11
            self.add_note(note)

    def __reduce__(self):
        return (type(self), (str(self), self.code, self.place, self.hint))
