"""The simulator as docs/simulator.md shows it: a racy kernel, the command, the finding, the fix. Run with the path of the built command."""
import json
import os
import re
import subprocess
import sys
import unittest

KILN = os.path.abspath(sys.argv.pop(1))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RACY, FIXED = "examples/racy_transpose/racy", "examples/racy_transpose/fixed"
FINDING = (
    "FAILED examples/racy_transpose/racy: 1 finding\n"
    "  race in kernel 'transpose' at examples/racy_transpose/racy/transpose.ir:12:13, 992 times: the write of 'tile', byte 4 of the shared "
    "memory of block 0 by thread 1 of block 0 (warp 0, lane 1) [kernel line N] is not ordered after the read by thread 32 of block 0 (warp "
    "1, lane 0) at examples/racy_transpose/racy/transpose.ir:14:13 [kernel line N]\n"
    "0 passed, 1 failed\n"
)


def kiln(*args, expect=0):
    """Runs the command in the repository's root; returns stdout after checking the exit status."""
    p = subprocess.run([KILN, *args], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert p.returncode == expect, f"kiln {' '.join(args)}: status {p.returncode}, expected {expect}\n{p.stdout}\n{p.stderr}"
    return p.stdout


def without_lines(text):
    return re.sub(r"\[kernel line \d+\]", "[kernel line N]", text)


class RacyTranspose(unittest.TestCase):
    def test_the_finding(self):
        self.assertEqual(without_lines(kiln("run", RACY, "--device", "sim", "--check", expect=1)), FINDING)

    def test_the_page_shows_it(self):
        with open(os.path.join(ROOT, "docs/simulator.md"), encoding="utf-8") as f:
            page = f.read()
        self.assertIn(f"$ kiln run {RACY} --device sim --check\n" + FINDING, without_lines(page))
        self.assertIn(f"$ kiln run {FIXED} --device sim --check --schedules 20\n1 passed, 0 failed\n", page)

    def test_the_fix(self):
        self.assertEqual(kiln("run", FIXED, "--device", "sim", "--check", "--schedules", "20"), "1 passed, 0 failed\n")
        with open(os.path.join(ROOT, RACY, "transpose.ir")) as a, open(os.path.join(ROOT, FIXED, "transpose.ir")) as b:
            before, after = a.read().splitlines(), b.read().splitlines()
        self.assertEqual([line for line in after if line not in before], ['        T.tvm_storage_sync("shared")'])

    def test_the_kernels_line(self):
        found = json.loads(kiln("run", RACY, "--device", "sim", "--check", "--json", expect=1))["findings"]
        self.assertEqual([(f["kind"], f["count"], f["place"]) for f in found], [("race", 992, RACY + "/transpose.ir:12:13")])
        target = "cuda -keys=sim,check,cuda,gpu -arch=sm_80"
        text = kiln("build", RACY + "/transpose.ir", "--target", target, "--emit", "source").splitlines()
        line = text[found[0]["line"] - 1]
        self.assertIn("tile", line)
        self.assertIn("SIM_WRITE", line)

    def test_counters(self):
        # A warp reads 32 floats of one line, 4 sectors, and stores them to 32 banks; it reads a column of the tile, of which all elements lie in
        # one bank. 8 turns of 4 warps.
        args = ("run", FIXED, "--device", "sim", "--check", "--counters", "--json")
        keys = ("buffer", "memory", "access", "requests", "sectors", "wavefronts", "ideal")
        self.assertEqual(
            [tuple(c.get(k) for k in keys) for c in json.loads(kiln(*args))["counters"]],
            [
                ("A_1", "global", "read", 32, 32 * 4, None, 32 * 4),
                ("tile", "shared", "write", 32, None, 32, 32),
                ("tile", "shared", "read", 32, None, 32 * 32, 32),
                ("B_1", "global", "write", 32, 32 * 4, None, 32 * 4),
            ],
        )
        with open(os.path.join(ROOT, "docs/simulator.md"), encoding="utf-8") as f:
            page = f.read()
        self.assertIn("$ kiln " + " ".join(args[:-1]) + "\n" + without_lines(kiln(*args[:-1])), without_lines(page))

    def test_counters_of_an_mma_gemm(self):
        # Swizzled tiles: nothing of what ldmatrix and cp.async do in shared memory conflicts.
        counters = json.loads(kiln("run", "tests/corpus/corpus/cuda_sm80/gemm_f16_f32", "--device", "sim", "--check", "--counters", "--json"))["counters"]
        shared = [c for c in counters if c["memory"] == "shared"]
        self.assertEqual(len(shared), 8)
        self.assertEqual([c["wavefronts"] for c in shared], [c["ideal"] for c in shared])

    def test_a_seed_gives_the_same_bytes(self):
        first, second = (kiln("run", RACY, "--device", "sim", "--check", "--seed", "7", "--json", expect=1) for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    unittest.main()
