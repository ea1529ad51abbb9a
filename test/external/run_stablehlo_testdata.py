"""Compiles the test data of a StableHLO checkout and compares the simulated results with its expected values.

    GLIA_STABLEHLO=/path/to/stablehlo python test/external/run_stablehlo_testdata.py [--target trn2] [word of a file name ...]

What `@inputs()` returns becomes the arguments of `@main`, so nothing is folded. Each module passes, is wrong, or is refused by name;
anything else is an internal error. Tolerances are those of docs/numerics.md, by operation, and the data's own three steps.
"""

import argparse
import collections
import os
import re
import sys
import time
from pathlib import Path

import glia
import ml_dtypes
import numpy as np
from glia import _glia

sys.path.insert(0, str(Path(__file__).parent.parent / "Interpret"))
from stablehlo_data import SUMS, modules

# Steps (ulp) of the result that an operation may be off, where it is more than three; as in docs/numerics.md.
STEPS = {
    "log1p|expm1|cumlogsumexp|logistic": 6,
    r"sinh|cosh|asinh|acosh|atanh|asin|acos|atan|atan2|tan|erf_inv|erfc|lgamma|digamma|igammac?|bessel\w*|regularized|random_gamma|cbrt|pow|integer_pow|cumprod|reduce_prod": 64,
}
# Absolute error where the result may be near 0 and the argument is not.
ABSOLUTE = {
    "sin|cos|tan": 2.0**-20,
    r"lgamma|digamma|erfc|igammac?|bessel\w*|regularized|atanh|acosh|asinh|acos|asin": 2.0**-18,
}


def arguments(text):
    """The module with the results of @inputs as arguments of @main, and no checks."""
    found = re.search(r"\n\s*(%\w+)(?::(\d+))? = call @inputs\(\) : \(\) -> (.*)\n", text)
    if not found:
        return None
    name, many, types = found[1], found[2], found[3].strip()
    types = types[1:-1] if types.startswith("(") else types
    parts = re.findall(r"tensor<(?:[^<>]|<[^<>]*>)*>", types)
    if len(parts) != int(many or 1):
        return None
    names = [f"%input_{i}" for i in range(len(parts))]
    text = text.replace(found[0], "\n", 1)
    for i, n in enumerate(names):
        text = re.sub(rf"{re.escape(name)}#{i}\b" if many else rf"{re.escape(name)}\b(?!#)", n, text)
    text = re.sub(r"\n\s*%\w+(?::\d+)? = call @expected\(\).*", "", text, count=1)
    text = re.sub(r"\n\s*stablehlo\.custom_call @check\.[^\n]*", "", text)
    listed = ", ".join(f"{n}: {t}" for n, t in zip(names, parts))
    return re.sub(r"@main\(\)", f"@main({listed})", text, count=1)


def numbers(a):
    return a.astype(np.float64) if a.dtype.kind in "fV" or a.dtype in (ml_dtypes.bfloat16,) else a


def close(got, want, name):
    """None, or what differs."""
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind in "iub":
        wrong = np.flatnonzero((got != want).reshape(-1))
        return (
            None
            if not len(wrong)
            else f"{len(wrong)} of {want.size} differ, the first {got.reshape(-1)[wrong[0]]} for {want.reshape(-1)[wrong[0]]}"
        )
    info = ml_dtypes.finfo(want.dtype)
    g, w = got.astype(np.float64).reshape(-1), want.astype(np.float64).reshape(-1)
    steps = max([3] + [n for words, n in STEPS.items() if re.match(f"({words})_", name)])
    absolute = max([0.0] + [x for words, x in ABSOLUTE.items() if re.match(f"({words})_", name)])
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(w), float(info.smallest_normal))
        allowed = steps * 2.0 ** (np.floor(np.log2(size)) - info.nmant) + absolute
        if SUMS.search(name):
            allowed = allowed + 16 * float(info.eps) * np.max(np.abs(w[np.isfinite(w)]), initial=0)
        bad = ~((g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= allowed))
    wrong = np.flatnonzero(bad)
    return (
        None if not len(wrong) else f"{len(wrong)} of {want.size} differ, the first {g[wrong[0]]!r} for {w[wrong[0]]!r}"
    )


def run(text, name, target):
    """'pass', 'wrong: ...', 'refused: ...', 'internal: ...'."""
    changed = arguments(text)
    if changed is None:
        return "refused: no arguments in the module"
    try:
        inputs = glia.interpret(text, function="inputs", file=name)
        expected = glia.interpret(text, function="expected", file=name)
    except glia.Error as e:
        return f"refused: {e.diagnostics[0].code} {e.diagnostics[0].message}"
    try:
        handle, _ = _glia.compile_graph(changed, name, target)
        handle.require_verified()
    except glia.Error as e:
        d = e.diagnostics[0]
        named = d.code.startswith("GRAPH-") and d.code != "GRAPH-INTERNAL"
        return f"{'refused' if named else 'internal'}: {d.code} {d.message}"
    except Exception as e:
        return f"internal: {type(e).__name__} {e}"
    program = glia.Program(handle)
    try:
        stored = [x.view(np.uint8) if x.dtype == np.bool_ else x for x in inputs]
        out = program.run({f"arg{i}": x.reshape(x.shape or (1,)) for i, x in enumerate(stored) if x.size})
    except glia.Error as e:
        return f"internal: run {e.diagnostics[0].code} {e.diagnostics[0].message}"
    for i, want in enumerate(expected):
        if not want.size:
            continue
        got = (
            np.asarray(out[f"result{i}"])
            .reshape(-1)
            .view(want.dtype if want.dtype != np.bool_ else np.uint8)
            .reshape(want.shape)
        )
        if want.dtype == np.bool_:
            got = got != 0
        if difference := close(got, want, name):
            return f"wrong: result {i}: {difference}"
    return "pass"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", default="trn2")
    parser.add_argument("--list", action="store_true", help="every module that did not pass")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    checkout = os.environ.get("GLIA_STABLEHLO")
    if not checkout:
        sys.exit("GLIA_STABLEHLO names no checkout of StableHLO")
    table = collections.defaultdict(collections.Counter)
    reasons = collections.Counter()
    for family, name, text, _ in modules(Path(checkout)):
        if not family.startswith("testdata") or (options.words and not any(w in name for w in options.words)):
            continue
        start = time.time()
        outcome = run(text, name, options.target)
        kind = outcome.split(":")[0]
        table[family.removeprefix("testdata ")][kind] += 1
        if kind == "refused":
            reasons[re.sub(r"[\d.]+", "N", outcome)[:100]] += 1
        if kind in ("wrong", "internal") or (options.list and kind != "pass"):
            print(f"{name}: {outcome[:300]}", flush=True)
        if time.time() - start > 5:
            print(f"{name}: {time.time() - start:.0f} s", flush=True)
    kinds = ["pass", "wrong", "internal", "refused"]
    print(f"\n{'operation':32}" + "".join(f"{k:>10}" for k in kinds))
    for family in sorted(table):
        print(f"{family:32}" + "".join(f"{table[family][k] or '':>10}" for k in kinds))
    total = sum(table.values(), collections.Counter())
    print(f"{'all':32}" + "".join(f"{total[k]:>10}" for k in kinds))
    for reason, n in reasons.most_common(40):
        print(f"{n:5} {reason}")
    return bool(total["wrong"] or total["internal"])


if __name__ == "__main__":
    sys.exit(main())
