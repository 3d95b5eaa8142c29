#!/usr/bin/env bash
# The repository stays small: test data under 25 MiB, no file over 1 MiB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
data=$(git ls-files -z tests/corpus | xargs -0 -r stat -c %s | awk '{ s += $1 } END { print s + 0 }')
[ "$data" -lt $((25 * 1024 * 1024)) ] || { echo "tests/corpus holds $data bytes, more than 25 MiB"; exit 1; }
large=$(git ls-files -z | xargs -0 -r stat -c '%s %n' | awk '$1 > 1048576')
[ -z "$large" ] || { echo "files over 1 MiB:"; echo "$large"; exit 1; }
