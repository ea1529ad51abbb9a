#!/usr/bin/env bash
# JAX's own tests on the platform glia: test/external/jax_tests.sh JAX_CHECKOUT [tests/NAME.py ...]
# The checkout is of the installed version (tag jax-vX.Y.Z); the tests need absl-py and hypothesis beside JAX, and use pytest-xdist and pytest-timeout, if
# both are there, so that a test that dies or hangs costs itself only. What glia refuses by name is counted apart, by reason;
# anything else that fails is a mistake of ours, and the script fails (some tests ask for a CPU beside). TESTS="-k scan" and the like goes to pytest.
set -uo pipefail
[ $# -ge 1 ] || { sed -n 's/^# //p' "$0" | head -n 4; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
cd "$1" || exit 2
shift
if [ $# -eq 0 ]; then
  for name in nn lax lax_numpy_einsum lax_numpy_operators lax_numpy_reducers lax_numpy_indexing lax_numpy image lax_scipy_special_functions \
    lax_scipy lax_autodiff lax_control_flow random random_lax; do
    set -- "$@" "tests/${name}_test.py"
  done
fi
export JAX_PLATFORMS=glia,cpu JAX_NUM_GENERATED_CASES=${JAX_NUM_GENERATED_CASES:-1} JAX_SKIP_SLOW_TESTS=1
alone=()
"$python" -c 'import xdist, pytest_timeout' 2>/dev/null && alone=(-n 1 --max-worker-restart=1000 --timeout=600 --timeout-method=thread)
read -r -a chosen <<<"${TESTS:-}"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
bad=0
for file in "$@"; do
  : >"$report"
  "$python" -m pytest -q -p no:cacheprovider --tb=line --junitxml="$report" "${alone[@]}" "${chosen[@]}" "$file" >/dev/null 2>&1
  "$python" - "$file" "$report" <<'END' || bad=1
import collections
import re
import sys
import xml.etree.ElementTree as xml

name, report = sys.argv[1:]
try:
    cases = list(xml.parse(report).iter("testcase"))
except xml.ParseError:
    sys.exit(f"{name}: no report, the process died")
passed = skipped = 0
refused = collections.Counter()
wrong = []
for case in cases:
    failed = [x for kind in ("failure", "error") for x in case.findall(kind)]
    if failed:
        text = failed[0].get("message", "") + (failed[0].text or "")
        why = re.search(r"UNIMPLEMENTED: error\[([A-Z0-9-]+)\]: ([^\n]*)|(`\w+` cannot be compiled for the platform glia)", text)
        if why:
            refused[re.sub(r"\d+", "N", why[3] or f"{why[1]}: {why[2]}")[:120]] += 1
        else:
            wrong.append((case.get("name"), text.splitlines()[0] if text else ""))
    elif case.findall("skipped"):
        skipped += 1
    else:
        passed += 1
print(f"{name}: {passed} passed, {refused.total()} refused by name, {len(wrong)} wrong, {skipped} skipped")
for why, count in refused.most_common():
    print(f"  {count} refused: {why}")
for case, text in wrong:
    print(f"  {case}: {text[:300]}")
sys.exit(bool(wrong))
END
done
exit $bad
