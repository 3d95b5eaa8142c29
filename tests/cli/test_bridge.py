"""The same module gives the same source whether its backend is built in or a plug-in on the SDK, but for the numbers that make names unique,
and where they break lines: the module crosses as text, in which two variables of a function never share a name.

usage: test_bridge.py KILN KILN_WITHOUT_BACKENDS FOLDER_OF_PLUGINS
"""

import glob
import os
import re
import subprocess
import sys

KILN, BRIDGED, PLUGINS = sys.argv[1:]
CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus")
PER_TARGET = 6  # of each folder of the corpus, evenly spread


def outcome(kiln, module):
    done = subprocess.run(
        [kiln, "build", module], capture_output=True, text=True, timeout=60, env={**os.environ, "KILN_BACKEND_PATH": PLUGINS if kiln == BRIDGED else ""}
    )
    return done.returncode, re.sub(r"\s+", " ", re.sub(r"(?<=\w)(_\d+)+\b", "", done.stdout))


compared = sources = 0
for folder in sorted(glob.glob(os.path.join(CORPUS, "*", "*"))):
    modules = sorted(glob.glob(os.path.join(folder, "*", "device.json.gz")))
    for module in modules[:: max(1, len(modules) // PER_TARGET)]:
        direct, bridged = outcome(KILN, module), outcome(BRIDGED, module)
        assert direct == bridged, f"{module}: built in: {direct[0]}, {len(direct[1])} bytes; over the bridge: {bridged[0]}, {len(bridged[1])} bytes"
        compared += 1
        sources += direct[0] == 0
assert sources > 30, f"only {sources} of {compared} modules gave a source"
print(f"{compared} modules, {sources} sources, the same both ways")
