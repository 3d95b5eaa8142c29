"""Where the installed package keeps what C++ builds need: ``python -m kiln.config --cmakedir``."""

from __future__ import annotations

import argparse
import os

_here = os.path.dirname(os.path.abspath(__file__))


def includedir() -> str:
    """The folder of the headers."""
    return os.path.join(_here, "include")


def libdir() -> str:
    """The folder of libkiln."""
    return os.path.join(_here, "lib")


def cmakedir() -> str:
    """The folder of kiln-config.cmake, for ``-Dkiln_DIR``."""
    return os.path.join(_here, "lib", "cmake", "kiln")


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kiln.config", description=__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    for function in (cmakedir, includedir, libdir):
        choice.add_argument(f"--{function.__name__}", dest="function", action="store_const", const=function, help=function.__doc__)
    print(parser.parse_args().function())


if __name__ == "__main__":
    _main()
