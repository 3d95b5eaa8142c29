#!/usr/bin/env python3
"""Copies cases into tests/corpus, in the layout that `kiln run` reads.

    python tools/corpus/collect.py SOURCE DESTINATION

SOURCE has folders corpus/, corpus_tvm/ and cases/, each with <target key>/<name>/{case.json, device.json[.gz]} and data/<name>/*.npy.
Modules are packed with gzip (no time stamp, so that the same input gives the same bytes), case.json is written without indentation, and
only the arrays that a copied case names are taken. A case with an array over 1 MiB keeps its module alone, for the round trip.
"""
import gzip
import json
import os
import shutil
import sys

MAX_ARRAY = 1 << 20


def referenced(value):
    """Every string in a case that names an array file."""
    if isinstance(value, dict):
        for v in value.values():
            yield from referenced(v)
    elif isinstance(value, list):
        for v in value:
            yield from referenced(v)
    elif isinstance(value, str) and value.endswith(".npy"):
        yield value


def pack(text, path):
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=9) as out:
        out.write(text)


def read(path):
    with (gzip.open(path) if path.endswith(".gz") else open(path, "rb")) as f:
        return f.read()


def copy_case(source, destination):
    with open(os.path.join(source, "case.json")) as f:
        case = json.load(f)
    module = json.dumps(json.loads(read(os.path.join(source, case["device_module"]))), separators=(",", ":")).encode()
    os.makedirs(destination, exist_ok=True)
    pack(module, os.path.join(destination, "device.json.gz"))
    arrays = sorted(set(referenced(case)))
    if any(os.path.getsize(os.path.join(source, name)) > MAX_ARRAY for name in arrays):
        return
    case["device_module"] = "device.json.gz"
    with open(os.path.join(destination, "case.json"), "w") as f:
        json.dump(case, f, separators=(",", ":"), sort_keys=True)
        f.write("\n")
    for name in arrays:
        target = os.path.normpath(os.path.join(destination, name))
        if not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(os.path.join(source, name), target)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, destination = sys.argv[1:]
    for root in ("corpus", "corpus_tvm", "cases"):
        for key in sorted(os.listdir(os.path.join(source, root))):
            folder = os.path.join(source, root, key)
            for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
                if os.path.exists(os.path.join(folder, name, "case.json")):
                    copy_case(os.path.join(folder, name), os.path.join(destination, root, key, name))


if __name__ == "__main__":
    main()
