"""The command ``kiln``."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Runs the command line in this process, so that backends of Python work in it. Returns the exit status."""
    # As a program of its own: Python's handlers would run only after the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _core.run_command(["kiln", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
