"""Runs the interpreter on the test data of a StableHLO checkout, which carries its own expected values.

    GLIA_STABLEHLO=/path/to/stablehlo python test/Interpret/stablehlo_data.py [name ...]

prints what passed, failed and was refused, by operation. test_interpret_stablehlo.py runs the same under pytest.
"""

import collections
import os
import re
import sys
from pathlib import Path

import glia
import numpy as np

SUMS = re.compile(r"cumsum|select_and_scatter_add|dot_general|conv_general|reduce_sum|reduce_window_add|cumlogsumexp")
TYPE = r"tensor<(?:[^<>]|<[^<>]*>)*>"
CONSTANT_CHECK = re.compile(
    rf"check\.expect_(eq|almost_eq)_const\s+(%[\w#]+),\s*(dense<[^>]*>)\s*:\s*({TYPE})(?:,\s*tolerance\s*=\s*([-+.e\d]+)[^\n]*)?"
)
PLAIN_CHECK = re.compile(
    rf"check\.expect_(eq|almost_eq|close)\s+(%[\w#]+),\s*(%[\w#]+)(?:,\s*(\w+)\s*=\s*([-+.e\d]+)[^:\n]*)*\s*:\s*({TYPE})[^\n]*"
)


def as_custom_calls(text):
    """The operations of the `check` dialect as the custom calls that the interpreter knows."""
    count = 0

    def call(kind, actual, expected, type_, tolerance=None):
        more = f", tolerance = {float(tolerance):e} : f64" if tolerance else ""
        attributes = f"{{has_side_effect = true{more}}}"
        return (
            f"stablehlo.custom_call @check.expect_{kind}({actual}, {expected}) {attributes} : ({type_}, {type_}) -> ()"
        )

    def constant(m):
        nonlocal count
        count += 1
        name = f"%glia_expected_{count}"
        kind, actual, value, type_, tolerance = m.groups()
        return f"{name} = stablehlo.constant {value} : {type_}\n  " + call(kind, actual, name, type_, tolerance)

    text = CONSTANT_CHECK.sub(constant, text)
    return PLAIN_CHECK.sub(lambda m: call(m[1], m[2], m[3], m[6]), text)


def modules(checkout):
    """(family, name, text, function) of each module; families are operations, as the files are named."""
    for path in sorted((checkout / "stablehlo/testdata").glob("*.mlir")):
        family = re.match(r"(.*?)_(?:b?float|u?int|bool|complex|shape|dtype|jaxpr|0|(?=\.))|.*", path.stem)
        yield "testdata " + (family[1] or path.stem), path.name, path.read_text(), ""
    for folder in ("", "chlo"):
        for path in sorted((checkout / "stablehlo/tests/interpret" / folder).glob("*.mlir")):
            for i, part in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.M)):
                text = as_custom_calls(part)
                functions = re.findall(r"func\.func\s+(?:public\s+)?@([\w.]+)\(\)", text)
                checked = [f for f in functions if "check." in text]
                for f in checked[-1:] if "func.call" in text or " call @" in text else checked:
                    yield "interpret " + path.stem, f"{path.name}#{i}@{f}", text, f


def sum_tolerance(text):
    """An absolute tolerance for sums: a few rounding steps of the largest expected value. Steps of the result itself, which the data
    asks for, say nothing where terms cancel: there the expected value carries the error of the order in which XLA added."""
    steps = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
    expected = glia.interpret(text, function="expected", in_double=True)[0]
    element = re.search(r"@expected\(\) -> \(?tensor<[^>]*?(bf16|f\d+)>", text)
    return 8 * steps[element[1]] * float(np.max(np.abs(expected), initial=0))


def run(text, name, function):
    """'pass', 'pass as a sum', 'fail: ...' or 'refused: ...'."""
    try:
        glia.interpret(text, function=function, file=name)
    except glia.Error as e:
        d = e.diagnostics[0]
        if d.code != "GRAPH-CHECK":
            return f"refused: {d.code} {d.message}"
        if SUMS.match(name) and "@check.expect_close" in text:
            wider = text.replace("@check.expect_close(", "@check.expect_almost_eq(").replace(
                "{has_side_effect = true}", f"{{has_side_effect = true, tolerance = {sum_tolerance(text):e} : f64}}"
            )
            try:
                glia.interpret(wider, function=function, file=name)
                return "pass as a sum"
            except glia.Error:
                pass
        return f"fail: {d.code} {d.message}"
    return "pass"


def main(names):
    checkout = Path(os.environ["GLIA_STABLEHLO"])
    table, reasons = collections.defaultdict(collections.Counter), collections.Counter()
    for family, name, text, function in modules(checkout):
        if names and not any(n in name for n in names):
            continue
        outcome = run(text, name, function)
        table[family][outcome.split(":")[0]] += 1
        if not outcome.startswith("pass"):
            reasons[
                re.sub(r"[-\d.]+(e[-+]?\d+)?", "N", outcome)[:110]
                if outcome.startswith("refused")
                else outcome.split(":")[0]
            ] += 1
            if names or outcome.startswith("fail"):
                print(f"{name}: {outcome}", flush=True)
    total = collections.Counter()
    for family in sorted(table):
        c = table[family]
        total.update(c)
        print(
            f"{family:44} pass {c['pass']:4}  as a sum {c['pass as a sum']:2}  fail {c['fail']:3}  refused {c['refused']:3}"
        )
    print(
        f"{'total':44} pass {total['pass']:4}  as a sum {total['pass as a sum']:2}  fail {total['fail']:3}  refused {total['refused']:3}"
    )
    for reason, n in reasons.most_common(40):
        print(f"{n:5} {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
