"""The registry through Python's tvm_ffi, without the kiln package: what any language that tvm-ffi serves can do.

Run with the path of libkiln.so, by a Python that has apache-tvm-ffi.
"""
import array
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import tvm_ffi

LIBRARY = os.path.abspath(sys.argv.pop(1))
MODULE = """
@T.prim_func
def scale(A: T.handle("float32", "global"), n: T.int32, by: T.float32) -> T.int32:
    T.func_attr({"target": T.target({"kind": "c", "keys": ["cpu"]})})
    X = T.Buffer((1,), "float32", data=A)
    for i in range(n):
        X[i] = X[i] * by
    return 0
"""


def kiln(name, *args):
    return tvm_ffi.get_global_func("kiln." + name)(*args)


def parse(text=MODULE):
    return kiln("parse_module", text, "test")


class Registry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tvm_ffi.load_module(LIBRARY).kiln_init()

    def register(self, kind, name, build=None, build_without_compile=None, supports_target=None, override=False):
        kiln("register_device_codegen", kind, name, build, build_without_compile, supports_target, override)
        self.addCleanup(kiln, "remove_device_codegen", kind, name)

    def fails(self, *call):
        """The text of the ValueError that the call raises."""
        with self.assertRaises(ValueError) as caught:
            kiln(*call)
        return str(caught.exception)

    def test_a_codegen_in_python_lowers_and_the_kernel_runs(self):
        seen = []

        def build(module, target):
            seen.append(kiln("target_to_json", target))
            return kiln("lower", module, "c", None, True)

        self.register("ffi_py", "mine", build, None, lambda target: '"fast"' in kiln("target_to_json", target))
        self.assertEqual(kiln("resolve_device_codegen", "ffi_py -keys=fast"), "mine")
        self.assertEqual(list(kiln("allowed_device_codegens_for_target", "ffi_py")), [])
        target = kiln("parse_target", '{"kind": "ffi_py", "keys": ["fast"]}')
        lowered = kiln("lower", parse(), target, None, True)
        self.assertEqual(seen, ['{"kind":"ffi_py","tag":"","keys":["fast"]}'])
        self.assertEqual(lowered.kind, "kiln")
        self.assertIn("scale", lowered.inspect_source())
        data = array.array("f", [1, 2, 3])
        lowered["scale"](ctypes.c_void_p(data.buffer_info()[0]), 3, 2.5)
        self.assertEqual(data.tolist(), [2.5, 5.0, 7.5])

    def test_build_takes_the_target_of_the_module(self):
        module = parse()
        self.assertEqual(json.loads(kiln("target_to_json", kiln("module_target", module)))["kind"], "c")
        built = kiln("build", module, None, None, False)
        self.assertEqual(list(kiln("module_functions", built)), ["scale"])
        self.assertEqual(bytes(kiln("module_artifact", built, "source")).decode(), built.inspect_source())
        self.assertEqual(bytes(kiln("module_artifact", built, "so"))[:4], b"\x7fELF")
        self.assertIn("it makes ", self.fails("module_artifact", built, "cubin"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scale.py")
            with open(path, "w") as f:
                f.write(kiln("module_script", module))
            self.assertEqual(kiln("build_file", path, "c", "c", False).inspect_source(), built.inspect_source())
            missing = os.path.join(folder, "missing.json")
            self.assertIn(missing, self.fails("build_file", missing, None, None, True))

    def test_explanations_and_backends_are_json(self):
        self.register("ffi_why", "first", supports_target=lambda target: False)
        self.register("ffi_why", "second")
        explained = json.loads(kiln("explain_device_codegen", "ffi_why"))
        self.assertEqual(explained["codegen"], "second")
        self.assertEqual([(c["name"], c["matches"]) for c in explained["candidates"]], [("first", False), ("second", True)])
        self.assertIn(("c", ["c"]), [(b["name"], b["kinds"]) for b in json.loads(kiln("list_backends"))])

    def test_names_overriding_and_removal(self):
        self.register("ffi_names", "a")
        self.register("ffi_names", "b")
        self.assertTrue(self.fails("register_device_codegen", "ffi_names", "a", None, None, None, False).startswith(
            "device codegen 'a' for target 'ffi_names' is already registered"))
        kiln("register_device_codegen", "ffi_names", "a", None, None, None, True)
        self.assertEqual(list(kiln("allowed_device_codegens_for_target", "ffi_names")), ["b", "a"])
        self.assertTrue(self.fails("resolve_unambiguous_device_codegen", "ffi_names").startswith(
            "several device codegens match target 'ffi_names': b, a"))
        self.assertTrue(kiln("remove_device_codegen", "ffi_names", "a"))
        self.assertFalse(kiln("remove_device_codegen", "ffi_names", "a"))
        self.assertEqual(kiln("resolve_unambiguous_device_codegen", "ffi_names"), "b")

    def test_errors(self):
        self.assertTrue(self.fails("resolve_device_codegen", "vulkan").startswith(
            "no device codegen matches target 'vulkan', available: <none>"))
        self.assertTrue(self.fails("parse_target", "metl").startswith("target 'metl' is not known (did you mean 'metal'?"))
        self.assertEqual(self.fails("target_to_json", 3), "a target must be text or a kiln.Target, got int")
        self.assertEqual(self.fails("module_script", 3), "a module must be a kiln.IRModule, got int")
        self.assertEqual(self.fails("module_functions", 3), "a lowered module must be a Module, got int")
        self.assertTrue(self.fails("lower", parse(), "c", "other", True).startswith("no device codegen 'other' for target kind 'c'"))
        self.register("ffi_errors", "none")
        self.assertEqual(self.fails("lower", parse(), "ffi_errors", None, True),
                         "device codegen 'none' for target 'ffi_errors' does not support lowering with compilation")
        self.register("ffi_errors", "wrong", build=lambda module, target: 3)
        self.assertEqual(self.fails("lower", parse(), "ffi_errors", "wrong", True),
                         "device codegen 'wrong' must return a Module, it returned int")
        kiln("register_lazy_device_codegen", "ffi_lazy", "/nonexistent/libx.so")
        self.assertIn("/nonexistent/libx.so", self.fails("resolve_device_codegen", "ffi_lazy"))

    def test_what_a_callback_raises_arrives_as_it_was(self):
        def raises(*args):
            raise KeyError("mine")

        self.register("ffi_raise", "bad", build=raises)
        with self.assertRaisesRegex(KeyError, "mine"):
            kiln("lower", parse(), "ffi_raise", None, True)
        self.register("ffi_raise_too", "bad", supports_target=raises)
        with self.assertRaisesRegex(KeyError, "mine"):
            kiln("resolve_device_codegen", "ffi_raise_too")
        self.assertEqual(kiln("resolve_device_codegen", "ffi_raise"), "bad")

    def test_callbacks_may_use_the_registry(self):
        def supports(target):
            self.register("ffi_reenter", "other", override=True)
            return kiln("resolve_device_codegen", "c") == "c"

        self.register("ffi_reenter", "outer", supports_target=supports)
        self.assertEqual(kiln("resolve_device_codegen", "ffi_reenter"), "outer")
        self.assertEqual(list(kiln("allowed_device_codegens_for_target", "ffi_reenter")), ["outer", "other"])


class Process(unittest.TestCase):
    """Each in a process of its own. LIBRARY_A and LIBRARY_B are two copies of the library."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.env = dict(os.environ)
        for copy in "AB":
            path = os.path.join(cls.folder.name, copy, "libkiln.so")
            os.mkdir(os.path.dirname(path))
            shutil.copy(LIBRARY, path)
            cls.env["LIBRARY_" + copy] = path
        cls.env["MODULE"] = MODULE

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_python(self, text):
        prelude = """
            import ctypes, os
            import tvm_ffi
            A, B = os.environ["LIBRARY_A"], os.environ["LIBRARY_B"]
            def kiln(name, *args):
                return tvm_ffi.get_global_func("kiln." + name)(*args)
            def init(path, **options):
                library = tvm_ffi.load_module(path, **options)
                library.kiln_init()
                return library
            def refused(path, other):
                try:
                    init(path)
                except ValueError as e:
                    assert "another copy of Kiln is loaded in this process" in str(e) and other in str(e) and path in str(e), str(e)
                    assert "load one libkiln only" in str(e), str(e)
                else:
                    raise AssertionError("a second copy registered its functions")
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(text)], env=self.env, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_a_second_copy_is_refused_and_the_first_goes_on(self):
        self.run_python("""
            init(A)
            refused(B, A)
            refused(B, A)
            init(A)
            assert kiln("resolve_device_codegen", "c") == "c"
            print("done")
        """)

    def test_the_order_of_loading_does_not_matter(self):
        self.run_python("""
            a = tvm_ffi.load_module(A)
            b = tvm_ffi.load_module(B)
            b.kiln_init()
            refused(A, B)
            assert kiln("library_path") == B
            assert kiln("resolve_device_codegen", "c") == "c"
            print("done")
        """)

    def test_a_copy_with_global_symbols_does_not_lend_them_to_the_other(self):
        self.run_python("""
            ctypes.CDLL(A, ctypes.RTLD_GLOBAL)
            init(B)
            assert kiln("library_path") == B
            refused(A, B)
            print("done")
        """)

    def test_a_name_that_is_taken_leaves_the_others_alone(self):
        self.run_python("""
            tvm_ffi.register_global_func("kiln.lower", lambda: 3)
            try:
                init(A)
            except ValueError as e:
                assert str(e).startswith("the global function 'kiln.lower' exists already"), str(e)
            assert tvm_ffi.get_global_func("kiln.parse_target", allow_missing=True) is None
            assert kiln("lower") == 3
            print("done")
        """)

    def test_the_process_ends_with_codegens_registered_and_modules_alive(self):
        self.run_python("""
            library = init(A, keep_module_alive=False)
            class Codegen:
                def __call__(self, module, target):
                    return kiln("lower", module, "c", None, True)
            kiln("register_device_codegen", "ffi_exit", "mine", Codegen(), None, lambda target: True, False)
            module = kiln("parse_module", os.environ["MODULE"], "test")
            lowered = kiln("lower", module, "ffi_exit", None, True)
            function, target = lowered["scale"], kiln("parse_target", "ffi_exit")
            del library
            print("done")
        """)


if __name__ == "__main__":
    unittest.main()
