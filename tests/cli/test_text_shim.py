"""Every CUDA case of the corpus up to sm_90a, as the text that is printed for it, run on the host.

usage: test_text_shim.py KILN SHARD SHARDS
"""

import glob
import json
import os
import subprocess
import sys

KILN, shard, shards = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus")

found = sorted(os.path.dirname(f) for f in glob.glob(os.path.join(CORPUS, "*", "cuda_sm*", "*", "case.json")))
cases = [f for f in found if "cuda_sm1" not in f][shard::shards]
assert len(cases) > 600 // shards, f"only {len(cases)} cases are found"
done = subprocess.run([KILN, "run", *cases, "--device", "sim", "--codegen", "cuda_text", "--json"], capture_output=True, text=True, timeout=600)
outcomes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
wrong = [f"{o['case']}: {o['reason']}" for o in outcomes if not o["passed"]]
assert len(outcomes) == len(cases), f"{len(outcomes)} outcomes of {len(cases)} cases: {done.stderr[-2000:]}"
assert not wrong, "\n".join(wrong)
print(f"{len(cases)} cases passed")
