"""The backends of examples/, built against an install tree, and docs/add-a-backend.md followed to the letter.

usage: test_examples.py KILN_BUILD   (the build folder that `cmake --install` reads; run by `./dev test`)
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1))
GEMM = os.path.join(ROOT, "tests/corpus/corpus/c/gemm_cpu_256")
LINES = 200  # an example is read in one sitting


def run(*argv, cwd=None, status=0, **env):
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=300, env={**os.environ, **env})
    if done.returncode != status:
        raise AssertionError(f"{argv} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = os.path.join(cls.folder.name, "kiln")
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "python")
        cls.path = os.path.join(cls.prefix, "bin") + os.pathsep + os.environ["PATH"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def built(self, source, name):
        folder = os.path.join(self.folder.name, name)
        run("cmake", "-S", source, "-B", folder, PATH=self.path)
        run("cmake", "--build", folder, PATH=self.path)
        return folder

    def kiln(self, *argv, backends, status=0):
        return run("kiln", *argv, PATH=self.path, KILN_BACKEND_PATH=backends, status=status)

    def test_each_is_short_and_explained(self):
        for example in os.listdir(os.path.join(ROOT, "examples")):
            folder = os.path.join(ROOT, "examples", example)
            self.assertTrue(os.path.exists(os.path.join(folder, "README.md")), example)
            for name in os.listdir(folder):
                if name.endswith((".c", ".cc", ".h", ".py")):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        self.assertLess(len(f.readlines()), LINES, f"{example}/{name}")

    def test_plain_c(self):
        backends = os.path.join(self.built(os.path.join(ROOT, "examples/c_backend"), "tinyc"), "tinyc")
        self.assertIn("1 passed, 0 failed", self.kiln("run", GEMM, "--target", "tinyc", backends=backends))
        self.assertRegex(self.kiln("conformance", "tinyc", "--filter", "add_float32", backends=backends), r"\n[1-9]\d* passed, 0 failed, \d+ skipped\n$")
        lost = self.kiln("run", GEMM, "--target", "tinyc -compiler=no_such_cc", backends=backends, status=1)
        self.assertIn("the compiler 'no_such_cc' failed", lost)
        odd = self.kiln("run", GEMM, "--target", '{"kind": "tinyc", "compiler": "cc; touch x"}', backends=backends, status=1)
        self.assertIn("the compiler 'cc; touch x' failed", odd)
        self.assertIn("naive_kernel(const float", self.kiln("build", os.path.join(GEMM, "device.json.gz"), "--target", "tinyc", backends=backends))

    def test_cpp_on_the_sdk(self):
        folder = self.built(os.path.join(ROOT, "examples/cpp_backend"), "mylang")
        backends = os.path.join(folder, "mylang")
        self.assertIn("1 passed, 0 failed", self.kiln("run", GEMM, "--target", "mylang", backends=backends))
        run("ctest", "--test-dir", folder, "--no-tests=error", PATH=self.path)
        exported = run("nm", "-D", "--defined-only", os.path.join(backends, "libmylang_backend.so"))
        self.assertEqual([line.split()[-1] for line in exported.splitlines() if "kiln" in line], ["kiln_plugin"])

    def test_python_only(self):
        backends = os.path.join(ROOT, "examples/python_backend")
        log = os.path.join(self.folder.name, "build.log")
        env = {"KILN_BACKEND_PATH": backends, "PYTHONPATH": os.path.join(self.prefix, "python")}
        kiln = (sys.executable, "-m", "kiln")
        self.assertIn("1 passed, 0 failed", run(*kiln, "run", GEMM, "--target", f"pyc -log={log}", **env))
        with open(log, encoding="utf-8") as f:
            self.assertRegex(f.read(), r"^\w+: \d+\.\d ms\n$")
        conforms = run(*kiln, "conformance", "pyc", "--target", f"pyc -log={log}", "--filter", "add_float32", **env)
        self.assertRegex(conforms, r"\n[1-9]\d* passed, 0 failed, \d+ skipped\n$")
        refused = subprocess.run([*kiln, "conformance", "pyc"], capture_output=True, text=True, env={**os.environ, **env})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("device codegen 'pyc' does not accept the target 'pyc'", refused.stderr)
        self.assertIn("rejects pyc", run(*kiln, "resolve", "pyc", "--explain", status=1, **env))
        alone = subprocess.run(["kiln", "resolve", "pyc"], capture_output=True, text=True, env={**os.environ, "PATH": self.path, **env})
        self.assertEqual(alone.returncode, 1)
        self.assertIn("needs a process with Python", alone.stderr)

    def test_new_backend_of_any_name(self):
        for name in ("int", "main2", "a"):  # a word of C++, and what the sources might be confused with
            run("kiln", "new-backend", name, "-o", os.path.join(self.folder.name, "new_" + name), PATH=self.path)
        folder = self.built(os.path.join(self.folder.name, "new_int"), "built_int")
        self.assertIn("1 passed, 0 failed", self.kiln("run", GEMM, "--target", "int", backends=os.path.join(folder, "int")))
        with open(os.path.join(self.folder.name, "new_a", "print.cc"), encoding="utf-8") as f:
            self.assertNotIn("mylang", f.read())

    def test_new_backend_refuses(self):
        for name, message in (
            ("Foo", "a backend's name must be up to 40 of a-z, 0-9 and _ that begin with a letter, got 'Foo'"),
            ("../x", "got '../x'"),
            ("cuda", "there is a backend or a target kind 'cuda' already"),
        ):
            done = subprocess.run(["kiln", "new-backend", name], cwd=self.folder.name, capture_output=True, text=True, env={**os.environ, "PATH": self.path})
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(message, done.stderr)
        there = os.path.join(self.folder.name, "there")
        os.mkdir(there)
        done = subprocess.run(["kiln", "new-backend", "npu", "-o", there], capture_output=True, text=True, env={**os.environ, "PATH": self.path})
        self.assertEqual((done.returncode, os.listdir(there)), (1, []))
        self.assertIn("the folder exists already", done.stderr)

    def test_the_page_to_the_letter(self):
        with open(os.path.join(ROOT, "docs/add-a-backend.md"), encoding="utf-8") as f:
            commands = "".join(re.findall(r"^```sh\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL))
        self.assertIn("kiln new-backend npu", commands)
        for made in ("build/npu", "build/install"):
            shutil.rmtree(os.path.join(ROOT, made), ignore_errors=True)
        out = run("bash", "-euo", "pipefail", "-c", commands, cwd=ROOT)
        self.assertIn("chosen: npu", out)
        self.assertIn("1 passed, 0 failed", out)
        self.assertRegex(out, r"\n[1-9]\d{2,} passed, 0 failed, \d+ skipped\n$")

    def test_the_page_of_cpp_to_the_letter(self):
        with open(os.path.join(ROOT, "docs/cpp.md"), encoding="utf-8") as f:
            page = f.read()
        for made in ("build/program", "build/install"):
            shutil.rmtree(os.path.join(ROOT, made), ignore_errors=True)
        files = re.findall(r"^`(build/program/\S+)`:\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(files), 2)
        for name, text in files:
            os.makedirs(os.path.dirname(os.path.join(ROOT, name)), exist_ok=True)
            with open(os.path.join(ROOT, name), "w", encoding="utf-8") as f:
                f.write(text)
        commands = "".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
        self.assertEqual(run("bash", "-euo", "pipefail", "-c", commands, cwd=ROOT).splitlines()[-1], "100 101 876")
        program = os.path.join(ROOT, "build/program/build/program")
        lost = subprocess.run([program, "no.json"], capture_output=True, text=True)
        self.assertEqual((lost.returncode, lost.stderr), (1, "no.json: cannot open the file: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
