"""The package and another copy of libkiln in one process: one registry, or a refusal; never two."""
import os
import shutil
import subprocess
import sys

import tvm_ffi

import kiln  # noqa: F401  registers kiln.library_path


def run(text, folder):
    package_library = tvm_ffi.get_global_func("kiln.library_path")()
    copy = os.path.join(str(folder), "libkiln.so")
    shutil.copy(os.path.realpath(package_library), copy)
    prelude = "import sys, tvm_ffi\npackage, copy = sys.argv[1:]\n"
    done = subprocess.run([sys.executable, "-c", prelude + text, package_library, copy], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_package_first(tmp_path):
    run("""
import kiln
try:
    tvm_ffi.load_module(copy).kiln_init()
except ValueError as e:
    assert "another copy of Kiln is loaded in this process" in str(e) and package in str(e), str(e)
    assert kiln.device_codegen.resolve_device_codegen("c").name == "c"
    print("done")
""", tmp_path)


def test_the_other_copy_first(tmp_path):
    """The loader takes the copy that is there for the package's own, by its SONAME: one registry again."""
    run("""
tvm_ffi.load_module(copy).kiln_init()
import kiln
get = tvm_ffi.get_global_func
assert get("kiln.library_path")() == copy
get("kiln.register_device_codegen")("copies", "ours", None, None, None, False)
assert kiln.device_codegen.resolve_device_codegen("copies").name == "ours"
print("done")
""", tmp_path)


def test_one_store(tmp_path):
    """The functions of tvm-ffi and the package see the same entries."""
    run("""
import kiln
from kiln import device_codegen
get = tvm_ffi.get_global_func
get("kiln.register_device_codegen")("copies", "ours", None, None, None, False)
assert device_codegen.resolve_device_codegen("copies").name == "ours"
device_codegen.register_device_codegen("copies", device_codegen.DeviceCodegen("theirs"))
assert list(get("kiln.allowed_device_codegens_for_target")("copies")) == ["ours", "theirs"]
print("done")
""", tmp_path)
