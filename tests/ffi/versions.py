"""Builds of the library against different versions of tvm-ffi, each run under each version.

    python versions.py BUILD=PYTHON BUILD=PYTHON

BUILD is a build folder with libkiln.so, kiln_ffi_tests and kiln_ffi_embed, PYTHON an interpreter with the apache-tvm-ffi that it was built
with. Checks first that the library uses nothing of tvm-ffi that only one version has.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, env=None):
    """The output; ends the program when the command fails."""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command)}\n{done.stdout}")
    return done.stdout


def version_and_folder(python):
    code = "import os, tvm_ffi; print(tvm_ffi.__version__); print(os.path.join(os.path.dirname(tvm_ffi.__file__), 'lib'))"
    return run(python, "-c", code).split("\n")[:2]


def symbols(library, which):
    """Names of the dynamic symbols; the version after @ left out."""
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", which, library).splitlines()}


def check_symbols(library, folders):
    """Everything undefined that tvm-ffi has in one version must be in both. Returns how many of its symbols are used."""
    provided = [symbols(os.path.join(folder, "libtvm_ffi.so"), "--defined-only") for folder in folders]
    wanted = symbols(library, "--undefined-only")
    of_tvm = {name for name in wanted if name.startswith("TVMFFI") or name.startswith("_Z") and "3tvm3ffi" in name}
    missing = {name for name in of_tvm for names in provided if name not in names}
    if missing:
        sys.exit(f"FAILED: {library} uses what not every version of tvm-ffi has: {', '.join(sorted(missing))}")
    return len(of_tvm)


def main():
    builds = [argument.rsplit("=", 1) for argument in sys.argv[1:]]
    versions = [version_and_folder(python) for _, python in builds]
    if len({version for version, _ in versions}) != len(builds):
        sys.exit("FAILED: the builds are to have different versions of tvm-ffi")
    for (build, _), (built_with, _) in zip(builds, versions):
        library = os.path.join(build, "libkiln.so")
        used = check_symbols(library, [folder for _, folder in versions])
        for (_, python), (version, folder) in zip(builds, versions):
            env = {**os.environ, "LD_LIBRARY_PATH": folder}
            tests = run(os.path.join(build, "tests/ffi/kiln_ffi_tests"), env=env).splitlines()[-1]
            under = run(os.path.join(build, "tests/ffi/kiln_ffi_embed"), library, env=env)
            if os.path.join(folder, "libtvm_ffi.so") not in under:
                sys.exit(f"FAILED: the program was to run with the library in {folder}: {under}")
            run(python, os.path.join(HERE, "test_ffi.py"), library)
            print(f"built with tvm-ffi {built_with} ({used} symbols), run with {version}: C++ {tests.strip()} C and Python passed")


if __name__ == "__main__":
    main()
