"""The error of every call."""

from __future__ import annotations


class KilnError(ValueError):
    """What went wrong.

    ``str(error)`` says where, if that is known, and what: "gemm.json: cannot open the file: ...". ``message`` is the sentence alone, ``code``
    a name for programs ("no_codegen", "unknown_target", "invalid_argument", "parse", "invalid_ir", "unsupported", "toolchain", "launch", "io",
    "internal"), ``place`` says where ("gemm.py:12:3"), ``hint`` what to do; the last two may be empty. A traceback shows the hint, too
    (Python 3.11 and newer).
    """

    def __init__(self, message: str, code: str = "internal", place: str = "", hint: str = ""):
        super().__init__(message)
        self.message = message
        self.code = code
        self.place = place
        self.hint = hint
        if hint and hasattr(self, "add_note"):
            self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else str(self.message)

    def __reduce__(self):
        return (type(self), (self.message, self.code, self.place, self.hint))
