#!/usr/bin/env bash
# JAX's own tests on the platform glia: test/external/jax_tests.sh JAX_CHECKOUT [tests/NAME.py ...]
# The checkout is of the installed version (tag jax-vX.Y.Z); the tests need absl-py and hypothesis beside JAX. What glia refuses by name is
# counted apart; anything else that fails is a mistake of ours, and the script fails.
set -uo pipefail
[ $# -ge 1 ] || { sed -n 's/^# //p' "$0" | head -n 3; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
cd "$1" || exit 2
shift
[ $# -gt 0 ] || set -- tests/nn_test.py tests/lax_test.py
export JAX_PLATFORMS=glia JAX_NUM_GENERATED_CASES=${JAX_NUM_GENERATED_CASES:-1} JAX_SKIP_SLOW_TESTS=1
report=$(mktemp)
trap 'rm -f "$report"' EXIT
bad=0
for file in "$@"; do
  : >"$report"
  "$python" -m pytest -q -p no:cacheprovider --tb=line --junitxml="$report" "$file" >/dev/null 2>&1
  "$python" - "$file" "$report" <<'END' || bad=1
import sys
import xml.etree.ElementTree as xml

name, report = sys.argv[1:]
try:
    cases = list(xml.parse(report).iter("testcase"))
except xml.ParseError:
    sys.exit(f"{name}: no report, the process died")
passed = skipped = refused = 0
wrong = []
for case in cases:
    failed = [x for kind in ("failure", "error") for x in case.findall(kind)]
    if failed:
        text = failed[0].get("message", "") + (failed[0].text or "")
        if "UNIMPLEMENTED: error[" in text or "cannot be compiled for the platform glia" in text:
            refused += 1
        else:
            wrong.append((case.get("name"), text.splitlines()[0] if text else ""))
    elif case.findall("skipped"):
        skipped += 1
    else:
        passed += 1
print(f"{name}: {passed} passed, {refused} refused by name, {len(wrong)} wrong, {skipped} skipped")
for case, text in wrong:
    print(f"  {case}: {text[:300]}")
sys.exit(bool(wrong))
END
done
exit $bad
