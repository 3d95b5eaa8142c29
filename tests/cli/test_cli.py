"""The command line as a user meets it: exit statuses, texts, files. Run with the path of the built command."""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

KILN = os.path.abspath(sys.argv.pop(1))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "corpus")
GEMM = os.path.join(CORPUS, "corpus", "c", "gemm_cpu_256")
MODULE = os.path.join(GEMM, "device.json.gz")


POKE = """
@T.prim_func
def poke(A: T.handle("float32", "global"), n: T.int64) -> T.int32:
    T.func_attr({"target": T.target({"kind": "c", "keys": ["cpu"]})})
    X = T.Buffer((1,), "float32", data=A)
    X[n] = T.float32(1)
    return 0
"""
SPIN = """
@T.prim_func
def spin(A: T.handle("float32", "global")) -> T.int32:
    T.func_attr({"target": T.target({"kind": "c", "keys": ["cpu"]})})
    X = T.Buffer((1,), "float32", data=A)
    while T.bool(True):
        X[0] = T.float32(1)
    return 0
"""


def kiln(*args, stdin=None, env=None, expect=0):
    """Runs the command; returns stdout and stderr after checking the exit status."""
    p = subprocess.run([KILN, *args], input=stdin, capture_output=True, env={**os.environ, **(env or {})}, timeout=300)
    out, err = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
    assert p.returncode == expect, f"kiln {' '.join(args)}: status {p.returncode}, expected {expect}\n{out}\n{err}"
    return out, err


class Usage(unittest.TestCase):
    def test_help_has_examples(self):
        out, _ = kiln("--help")
        for verb in ("build", "run", "bench", "print", "verify", "list", "resolve", "cache", "doctor"):
            self.assertIn(verb, out)
            text, _ = kiln(verb, "--help")
            self.assertIn("kiln " + verb, text)
            self.assertIn("--json", text)

    def test_bad_usage_is_status_2(self):
        kiln(expect=2)
        kiln("frobnicate", expect=2)
        kiln("build", expect=2)
        kiln("build", MODULE, "--emit", "gif", expect=2)
        kiln("run", GEMM, "--repeat", "many", expect=2)
        kiln("build", MODULE, env={"KILN_EMIT": "gif"}, expect=2)

    def test_bad_usage_is_one_error_with_a_hint(self):
        out, err = kiln("build", expect=2)
        self.assertEqual((out, err), ("", "kiln: error: MODULE is required (kiln --help and kiln VERB --help show the usage)\n"))
        out, err = kiln("verify", MODULE, "--frob", "--json", expect=2)
        self.assertEqual(json.loads(out)["error"]["code"], "invalid_argument")
        self.assertIn("--frob", json.loads(out)["error"]["message"])

    def test_unknown_verbs_are_named(self):
        out, err = kiln("verfy", MODULE, expect=2)
        hint = " (kiln --help and kiln VERB --help show the usage)\n"
        self.assertEqual((out, err), ("", "kiln: error: unknown verb 'verfy' (did you mean 'verify'?)" + hint))
        self.assertEqual(kiln("frobnicate", expect=2)[1], "kiln: error: unknown verb 'frobnicate'" + hint)

    def test_messages_start_lower_case(self):
        _, err = kiln(expect=2)
        self.assertTrue(err.startswith("kiln: error: a subcommand is required"), err)

    def test_too_little_memory_is_an_error(self):
        text = POKE.replace("    X[n]", "    # " + "x" * 30_000_000 + "\n    X[n]").encode()
        p = subprocess.run(["sh", "-c", f'ulimit -v 60000; exec "{KILN}" print --json -'], input=text, capture_output=True, timeout=300)
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertEqual(json.loads(p.stdout)["error"]["message"], "there is not enough memory")

    def test_closed_streams(self):
        p = subprocess.run(["sh", "-c", f'exec "{KILN}" list <&- >&- 2>&-'], timeout=300)
        self.assertEqual(p.returncode, 1)

    def test_control_characters_do_not_reach_the_terminal(self):
        _, err = kiln("print", "\x1b[31mno", expect=1)
        self.assertTrue(err.startswith("kiln: error: \\x1b[31mno: "), err)

    def test_environment_mirrors_flags(self):
        self.assertEqual(json.loads(kiln("resolve", "c", env={"KILN_JSON": "1"})[0])["codegen"], "c")
        self.assertIn("chosen: c", kiln("resolve", "c", env={"KILN_EXPLAIN": "1"})[0])
        _, err = kiln("build", MODULE, env={"KILN_TARGET": "metl"}, expect=1)
        self.assertIn("'metl'", err)
        self.assertIn("int32_t", kiln("build", MODULE, "--target", "c", env={"KILN_TARGET": "metl"})[0])

    def test_output_that_cannot_be_written(self):
        for verb in (["build", MODULE], ["print", MODULE], ["list"], ["verify", CORPUS + "/corpus/c", "--json"]):
            with open("/dev/full", "wb") as full:
                p = subprocess.run([KILN, *verb], stdout=full, stderr=subprocess.PIPE, timeout=300)
            self.assertEqual(p.returncode, 1, verb)
            self.assertEqual(p.stderr.decode().splitlines()[-1], "kiln: error: standard output: cannot write: No space left on device")

    def test_names_that_are_no_utf8(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsencode(folder) + b"/\xff\n.json"
            p = subprocess.run([KILN, "build", path, "--json"], capture_output=True, timeout=300)
            self.assertEqual(p.returncode, 1)
            self.assertTrue(json.loads(p.stdout)["error"]["place"].endswith("/\ufffd\n.json"))


class Build(unittest.TestCase):
    def test_source_is_the_same_every_time(self):
        first, _ = kiln("build", MODULE)
        self.assertIn("int32_t", first)
        self.assertEqual(first, kiln("build", MODULE)[0])

    def test_from_standard_input_and_from_text(self):
        source, _ = kiln("build", MODULE)
        with open(MODULE, "rb") as f:
            packed = f.read()
        self.assertEqual(source, kiln("build", "-", stdin=packed)[0])
        self.assertEqual(source, kiln("build", "-", stdin=gzip.decompress(packed))[0])
        # Text makes names unique that a saved module may repeat; the signature has none of those.
        def signature(text):
            return next(line for line in text.splitlines() if line.startswith("int32_t "))

        script, _ = kiln("print", MODULE)
        self.assertEqual(signature(source), signature(kiln("build", "-", stdin=script.encode())[0]))

    def test_output_file(self):
        with tempfile.TemporaryDirectory(prefix="kiln ünï ") as folder:
            path = os.path.join(folder, "out.c")
            kiln("build", MODULE, "-o", path)
            with open(path) as f:
                self.assertEqual(f.read(), kiln("build", MODULE)[0])
            self.assertEqual(os.listdir(folder), ["out.c"])
            library = os.path.join(folder, "out.so")
            kiln("build", MODULE, "--emit", "so", "-o", library)
            with open(library, "rb") as f:
                self.assertEqual(f.read(4), b"\x7fELF")

    def test_output_through_a_symbolic_link_and_with_the_longest_name(self):
        with tempfile.TemporaryDirectory() as folder:
            link, target = os.path.join(folder, "link.c"), os.path.join(folder, "target.c")
            open(target, "w").close()
            os.symlink("target.c", link)
            kiln("build", MODULE, "-o", link)
            self.assertTrue(os.path.islink(link))
            self.assertGreater(os.path.getsize(target), 0)
            kiln("build", MODULE, "-o", os.path.join(folder, "n" * 255))

    def test_output_to_dev_stdout(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.c")
            with open(path, "w") as f:
                subprocess.run([KILN, "build", MODULE, "-o", "/dev/stdout"], stdout=f, check=True, timeout=300)
            self.assertTrue(os.path.islink("/dev/stdout"))
            with open(path) as f:
                self.assertEqual(f.read(), kiln("build", MODULE)[0])

    def test_a_failed_build_leaves_the_file_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.c")
            with open(path, "w") as f:
                f.write("precious")
            kiln("build", os.path.join(folder, "none.json"), "-o", path, expect=1)
            kiln("build", MODULE, "--target", "metl", "-o", path, expect=1)
            with open(path) as f:
                self.assertEqual(f.read(), "precious")
            _, err = kiln("build", MODULE, "-o", os.path.join(folder, "no", "such", "out.c"), expect=1)
            self.assertIn("cannot write: No such file or directory", err)

    def test_errors(self):
        _, err = kiln("build", MODULE, "--target", "metl", expect=1)
        self.assertIn("target 'metl' is not known (did you mean 'metal'?", err)
        _, err = kiln("build", MODULE, "--emit", "ptx", expect=1)
        self.assertIn("this codegen does not make 'ptx' (it makes source, asm, ll, obj, so)", err)
        _, err = kiln("build", MODULE, "--codegen", "d", expect=1)
        self.assertIn("no device codegen 'd' for target kind 'c' (available: c)", err)
        _, err = kiln("build", MODULE, "--target", "vulkan", expect=1)
        self.assertIn("'vulkan'", err)
        out, _ = kiln("build", "/nonexistent.json", "--json", expect=1)
        self.assertEqual(json.loads(out)["error"]["code"], "io")

    def test_no_compiler(self):
        env = {"PATH": "/nonexistent", "CC": ""}
        self.assertIn("int32_t", kiln("build", MODULE, env=env)[0])
        _, err = kiln("build", MODULE, "--emit", "so", "-o", "/dev/null", env=env, expect=1)
        self.assertIn("no C compiler is found (looked for $CC, cc, gcc and clang in PATH)", err)
        self.assertIn("apt install gcc", err)

    def test_json(self):
        out, _ = kiln("build", MODULE, "--json")
        info = json.loads(out)
        self.assertEqual((info["codegen"], info["emit"]), ("c", "source"))
        self.assertEqual(info["text"], kiln("build", MODULE)[0])
        self.assertEqual(set(info["times"]), {"import", "verify", "resolve", "print"})


class Run(unittest.TestCase):
    def test_one_case(self):
        out, _ = kiln("run", GEMM)
        self.assertTrue(out.endswith("1 passed, 0 failed\n"), out)

    def test_json_is_one_object_a_line(self):
        out, err = kiln("run", GEMM, "--json", "--repeat", "2")
        (line,) = out.splitlines()
        case = json.loads(line)
        self.assertEqual((case["passed"], case["skipped"], case["codegen"]), (True, False, "c"))
        self.assertIn("median", case["times"])
        self.assertEqual(err, "1 passed, 0 failed\n")

    def test_bench_times_each_launch(self):
        out, err = kiln("bench", GEMM, "--json", "--repeat", "3", "--flops", "33554432")
        case = json.loads(out)
        self.assertEqual((case["passed"], case["codegen"], case["repeat"]), (True, "c", 3))
        (k,) = case["kernels"]
        self.assertEqual((k["kernel"], k["bytes"], k["flops"]), ("naive_kernel", 3 * 256 * 256 * 4, 33554432))
        self.assertTrue(0 < k["min_us"] <= k["median_us"])
        self.assertLessEqual(k["min_us"], k["mean_us"])
        self.assertAlmostEqual(k["gb_per_s"] * k["median_us"], 786.432, delta=0.1)
        self.assertAlmostEqual(k["tflop_per_s"] * k["median_us"], 33.554432, delta=0.01)
        self.assertEqual(err, "1 passed, 0 failed\n")

    def test_bench_table(self):
        out, _ = kiln("bench", GEMM, "--repeat", "1")
        head, row, total = out.splitlines()
        self.assertEqual(head.split(), ["median", "us", "min", "us", "mean", "us", "GB/s", "TFLOP/s", "kernel"])
        self.assertRegex(row, r"^( +[0-9.]+){4} +-  naive_kernel \(.*gemm_cpu_256, codegen c\)$")
        self.assertEqual(total, "1 passed, 0 failed")

    def test_bench_refuses(self):
        _, err = kiln("bench", GEMM, "--flops", "0", expect=2)
        self.assertIn("Value 0 not in range 1 to 1000000000000000000", err)
        kiln("bench", GEMM, "--repeat", "0", expect=2)
        _, err = kiln("bench", MODULE, expect=1)
        self.assertIn("expected a folder with case.json, or a folder of such folders (a module alone does not say on what to launch it)", err)
        with tempfile.TemporaryDirectory() as folder:
            self.edited(folder, lambda case: case.update(launches=case["launches"] * 2))
            out, _ = kiln("bench", folder, "--flops", "1", expect=1)
            self.assertIn("expected one launch to count operations of, got 2", out)
            out, _ = kiln("bench", folder, "--json", "--repeat", "1")
            self.assertEqual([k["flops"] for k in json.loads(out)["kernels"]], [None, None])
            self.edited(folder, lambda case: case["launches"][0].update(flops="2 * 256 * 256 * 256"))
            out, _ = kiln("bench", folder, "--json", "--repeat", "1")
            self.assertEqual(json.loads(out)["kernels"][0]["flops"], 2 * 256**3)

    def test_a_target_without_codegen_is_skipped(self):
        folder = os.path.join(CORPUS, "corpus", "webgpu", "vadd_f32")
        out, _ = kiln("run", folder)
        self.assertIn("no device codegen here serves target kind 'webgpu'", out)
        self.assertTrue(out.endswith("0 passed, 0 failed, 1 skipped\n"), out)

    def edited(self, folder, change):
        """A copy of the GEMM case with `change` made to its case.json."""
        with open(os.path.join(GEMM, "case.json")) as f:
            case = json.load(f)
        for p in case["params"]:
            for key in ("input", "expected"):
                if key in p:
                    p[key] = os.path.join(GEMM, p[key])
        case["device_module"] = MODULE
        change(case)
        with open(os.path.join(folder, "case.json"), "w") as f:
            json.dump(case, f)

    def failure(self, change):
        with tempfile.TemporaryDirectory() as folder:
            self.edited(folder, change)
            out, _ = kiln("run", folder, expect=1)
            self.assertTrue(out.endswith("0 passed, 1 failed\n"), out)
            return out

    def test_wrong_numbers_fail(self):
        def swap(case):
            out = next(p for p in case["params"] if p["role"] == "out")
            out["expected"] = next(p for p in case["params"] if p["role"] == "in")["input"]

        self.assertIn("elements differ, the first at [", self.failure(swap))

    def test_an_expected_error_must_come(self):
        out = self.failure(lambda case: case.update(expect={"error": "float6"}))
        self.assertIn("expected an error that matches 'float6', but it built and ran", out)

    def test_expected_text(self):
        self.assertIn("must match", self.failure(lambda case: case.update(expect_text={"must": ["no such text"]})))
        self.assertIn("must not match", self.failure(lambda case: case.update(expect_text={"must_not": ["int32_t"]})))

    def test_bad_cases(self):
        self.assertIn("expected a string under key 'device_module'", self.failure(lambda case: case.update(device_module=3)))
        self.assertIn("names no tensor of the case", self.failure(lambda case: case["launches"][0]["args"][0].update(tensor="nobody")))
        self.assertIn("has no function 'nobody'", self.failure(lambda case: case["launches"][0].update(kernel="nobody")))

    def test_outputs_follow_one_policy(self):
        def offer(first, second):
            def change(case):
                out = next(p for p in case["params"] if p["role"] == "out")
                wrong = next(p for p in case["params"] if p["role"] == "in")["input"]
                right = out.pop("expected")
                for p, policies in ((out, first), (dict(out), second)):
                    p["expected_any"] = [{"policy": name, "expected": right if good else wrong} for name, good in policies]
                    if p is not out:
                        case["params"].append(p)
            return change

        with tempfile.TemporaryDirectory() as folder:
            self.edited(folder, offer([("a", False), ("b", True)], [("a", True), ("b", True)]))
            self.assertEqual(json.loads(kiln("run", folder, "--json")[0])["reason"], "policy b")
        out = self.failure(offer([("a", False), ("b", True)], [("a", True), ("b", False)]))
        self.assertIn("follows another policy than the outputs before it", out)
        self.assertIn("no policy matches", self.failure(offer([("a", False), ("b", False)], [("a", True), ("b", True)])))

    def test_a_hang_costs_one_case(self):
        case = {"device_module": "m.ir", "target": {"kind": "c"},
                "params": [{"kind": "tensor", "name": "A", "dtype": "float32", "shape": [4], "role": "out"}],
                "launches": [{"kernel": "spin", "args": [{"kind": "tensor", "tensor": "A"}]}]}
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "m.ir"), "w") as f:
                f.write(SPIN)
            with open(os.path.join(folder, "case.json"), "w") as f:
                json.dump(case, f)
            start = time.monotonic()
            out, _ = kiln("run", folder, GEMM, env={"KILN_CASE_TIMEOUT": "2.5"}, expect=1)
            self.assertLess(time.monotonic() - start, 60)
            self.assertIn("did not end within 2.5 s", out)
            self.assertTrue(out.endswith("1 passed, 1 failed\n"), out)

    def test_a_crash_costs_one_case(self):
        script = POKE
        case = {"device_module": "m.ir", "target": {"kind": "c"},
                "params": [{"kind": "tensor", "name": "A", "dtype": "float32", "shape": [4], "role": "out"}],
                "launches": [{"kernel": "poke", "args": [{"kind": "tensor", "tensor": "A"}, {"kind": "scalar", "dtype": "int64", "value": 1 << 45}]}]}
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "m.ir"), "w") as f:
                f.write(script)
            with open(os.path.join(folder, "case.json"), "w") as f:
                json.dump(case, f)
            out, _ = kiln("run", folder, GEMM, expect=1)
            self.assertIn("crashed: Segmentation fault", out)
            self.assertTrue(out.endswith("1 passed, 1 failed\n"), out)
            case["launches"][0]["args"][1]["value"] = 4  # one element too far
            with open(os.path.join(folder, "case.json"), "w") as f:
                json.dump(case, f)
            out, _ = kiln("run", folder, expect=1)
            self.assertIn("the kernel wrote outside parameter 'A'", out)

    def test_devices(self):
        _, err = kiln("run", GEMM, "--device", "cuda:0", expect=1)
        self.assertIn("device 'cuda:0' is not available", err)
        case = os.path.join(CORPUS, "corpus", "cuda_sm80", "cumsum_rows")
        out, _ = kiln("run", case, env={"KILN_CUDA_DRIVER": "/nowhere/libcuda.so"})
        self.assertIn("device 'cuda' is not available: the CUDA driver is not found; looked for /nowhere/libcuda.so; it runs here with --device sim:0\n", out)


class Inspect(unittest.TestCase):
    def test_print_reads_back(self):
        script, _ = kiln("print", MODULE)
        self.assertTrue(script.startswith("# from tvm.script import ir as I\n"))
        self.assertEqual(script, kiln("print", "-", stdin=script.encode())[0])

    def test_what_is_no_module(self):
        text = "# Notes\n\nGEMM runs in `*tiles*`.\n"
        fault = "expected a module, got a file that is neither TVM's JSON nor TVMScript"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "README.md")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            _, err = kiln("print", path, expect=1)
            self.assertTrue(err.startswith(f"kiln: error: {path}: {fault} ("), err)
            out, _ = kiln("verify", path, expect=1)
            self.assertEqual(out.count(path), 1, out)
        self.assertIn(f"<stdin>: {fault}", kiln("build", "-", stdin=b"\x7fELF\0\1", expect=1)[1])

    def test_every_module_round_trips(self):
        out, _ = kiln("verify", "--round-trip", CORPUS, expect=1)
        lines = out.splitlines()
        # The only faults are those that their cases are there for.
        faults = [line for line in lines[:-1] if "/bad_free_variable/" not in line and "/bad_loop_var_escapes/" not in line]
        self.assertEqual(faults, [])
        self.assertEqual(lines[-1], "1993 verified, 12 failed")

    def test_resolve(self):
        self.assertEqual(kiln("resolve", "c")[0], "c\n")
        out, _ = kiln("resolve", "c", "--explain")
        self.assertIn("loaded now: c\n", out)
        self.assertIn("chosen: c, the first that matches\n", out)
        _, err = kiln("resolve", "cudaa", expect=1)
        self.assertIn("did you mean 'cuda'?", err)

    def test_list_and_doctor(self):
        out, _ = kiln("list")
        self.assertIn("c  target kinds: c  (built in)", out)
        names = [json.loads(line)["name"] for line in kiln("list", "--json")[0].splitlines()]
        self.assertIn("c", names)
        out, _ = kiln("doctor")
        self.assertIn("c: C compiler: ", out)
        self.assertIn("sim: C compiler: ", out)
        self.assertIn("sim: C++ compiler (of cuda_text): ", out)
        self.assertIn("\ndevice   cpu: ", out)
        self.assertIn("\ndevice   sim:0: ", out)
        seen = json.loads(kiln("doctor", "--json")[0])
        self.assertLessEqual({"cpu", "sim:0"}, {d["name"] for d in seen["devices"]})
        probes = [p["probe"] for p in seen["probes"]]
        self.assertLessEqual({p["what"] for p in probes if not p["found"]}, {"CUDA driver"})  # all else is here without a GPU


class Environment(unittest.TestCase):
    def test_every_variable_has_its_row(self):
        read = set()
        for folder, _, names in (entry for top in ("src", "backends", "python") for entry in os.walk(os.path.join(ROOT, top))):
            for name in names if "tests" not in folder.split(os.sep) else []:
                if name.endswith((".cc", ".h", ".py")):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        read.update(re.findall(r'"(KILN_[A-Z_]+)"', f.read()))
        with open(os.path.join(ROOT, "docs/environment.md"), encoding="utf-8") as f:
            rows = "".join(line.split(" | ")[0] for line in f if line.startswith("| `"))
        self.assertEqual(set(re.findall(r"`(KILN_[A-Z_]+)`", rows)), read)


class Dev(unittest.TestCase):
    def test_the_projects_environment_is_active_unless_another_is(self):
        def active(**env):
            clean = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}
            p = subprocess.run(["bash", "-c", '. ./dev help >/dev/null && printf %s "$VIRTUAL_ENV"'], cwd=ROOT, env={**clean, **env},
                               capture_output=True, text=True, check=True, timeout=60)
            return p.stdout

        self.assertEqual(active(), os.path.join(ROOT, ".venv"))
        self.assertEqual(active(VIRTUAL_ENV="/elsewhere"), "/elsewhere")


class Bench(unittest.TestCase):
    def test_without_its_peer_a_script_says_so_in_one_line(self):
        nowhere = "/nowhere/at_all"
        for script, args in (("process_bench", [nowhere]), ("kernel_bench", [nowhere]), ("kernel_cases", [nowhere, "--kiln", KILN]),
                             ("peer_bench", [nowhere]), ("compile_bench", []), ("compile_bench", [nowhere] * 4), ("registry_python_bench", [])):
            # -I -S: with nothing but Python's own library
            p = subprocess.run([sys.executable, "-I", "-S", os.path.join(ROOT, "bench", script + ".py"), *args], capture_output=True, text=True, timeout=60)
            self.assertEqual((p.returncode, p.stderr, p.stdout.count("\n")), (77, "", 1), script)
            self.assertTrue(p.stdout.startswith("left out: "), p.stdout)


class Cache(unittest.TestCase):
    def test_an_empty_one(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"KILN_CACHE_DIR": os.path.join(folder, "cache"), "KILN_CACHE_SIZE": "3M"}
            out, _ = kiln("cache", "stat", "--json", env=env)
            empty = {"folder": env["KILN_CACHE_DIR"], "entries": 0, "bytes": 0, "bound": 3 << 20, "temporaries": 0}
            self.assertEqual(json.loads(out), empty)
            for action in ("verify", "prune", "clear"):
                kiln("cache", action, env=env)
            self.assertEqual(os.listdir(folder), [])

    def test_damage_is_found_and_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"KILN_CACHE_DIR": folder}
            name = "0123456789abcdef0123456789abcdef"
            for n in (name, "notes.txt"):
                with open(os.path.join(folder, n), "w", encoding="utf-8") as f:
                    f.write("nonsense")
            out, _ = kiln("cache", "verify", "--json", env=env, expect=1)
            self.assertEqual(json.loads(out), {"good": 0, "foreign": 0, "damaged": [name]})
            self.assertEqual(os.listdir(folder), ["notes.txt"])
            kiln("cache", "verify", env=env)

    def test_folders_that_cannot_be_used(self):
        for folder, words in ((MODULE, "Not a directory"), ("off", "the cache is off"), ("", "the cache is off"), ("/tmp", "others")):
            _, err = kiln("cache", "stat", env={"KILN_CACHE_DIR": folder}, expect=1)
            self.assertIn(words, err)
        _, err = kiln("cache", "stat", env={"KILN_CACHE_SIZE": "much"}, expect=1)
        self.assertIn("got 'much'", err)
        two = [os.path.join(CORPUS, "corpus", "c", n) for n in sorted(os.listdir(os.path.join(CORPUS, "corpus", "c")))[:2]]
        _, err = kiln("run", *two, env={"KILN_CACHE_DIR": MODULE})  # a process each, and one warning
        self.assertEqual(err.count("warning"), 1, err)
        kiln("cache", expect=2)
        kiln("cache", "burn", expect=2)


if __name__ == "__main__":
    unittest.main()
