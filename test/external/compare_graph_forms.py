"""Reads the modules of a StableHLO checkout in every form, and compares.

    python test/external/compare_graph_forms.py /path/to/stablehlo [--every 1]

- Portable artifacts: jaxlib writes each module of stablehlo/testdata and stablehlo/tests/interpret for its newest version and one of the older ones, and
  each function of the stored artifacts in stablehlo/tests/vhlo for the version of the file. What glia reads of the bytes must equal, with
  places, what it reads of jaxlib's text of them.
- HLO modules: jaxlib makes an HloModuleProto of each module of stablehlo/testdata. What its @main gives in glia's interpreter, the data's own
  checks among it, must equal what the text gives, up to a few steps where XLA writes another formula for an operation of CHLO.
"""

import argparse
import collections
import re
import sys
from pathlib import Path

import glia
import numpy as np
from glia import _glia
from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

VERSIONS = [f"0.{n}.0" for n in range(9, 21)] + [f"1.{n}.0" for n in range(18)]


def text_of(data):
    with mlir.make_ir_context() as context:
        return stablehlo.deserialize_portable_artifact(context, data).operation.get_asm(enable_debug_info=True)


def read(form, name):
    try:
        return _glia.graph_text(form, name, True), None
    except glia.Error as e:
        return None, e.diagnostics[0].code


def compare_artifact(text, version, name, counts, wrong):
    try:
        data = stablehlo.serialize_portable_artifact_str(text, version)
    except ValueError:
        counts["not written by jaxlib"] += 1
        return
    (a, refused), (b, also) = read(data, name), read(text_of(data), name)
    if a is not None and a == b:
        counts["equal"] += 1
    elif refused and refused == also:
        counts[f"both refused, {refused}"] += 1
    else:
        counts["DIFFERENT"] += 1
        wrong.append(f"{name} {version}: {refused} {also}")


def modules(root):
    for path in sorted((root / "testdata").glob("*.mlir")) + sorted((root / "tests" / "interpret").glob("*.mlir")):
        for part in re.split(r"^// -----.*$", path.read_text(), flags=re.M):
            yield path.name, part


def stored_functions(root):
    """The functions of stored artifacts, each as a module of its own, and the version."""
    for path in sorted((root / "tests" / "vhlo").glob("*.mlir.bc")):
        version = re.search(r"\.(\d+)_(\d+)_(\d+)\.mlir", path.name)
        with mlir.make_ir_context() as context:
            try:
                module = stablehlo.deserialize_portable_artifact(context, path.read_bytes())
            except (ir.MLIRError, ValueError):  # newer than this jaxlib
                continue
            for op in module.body.operations:
                yield path.name, f"module {{\n{op}\n}}\n", ".".join(version.groups()) if version else VERSIONS[-1]


def interpreted(graph, name):
    try:
        return glia.interpret(graph, file=name), None
    except glia.Error as e:
        return None, e.diagnostics[0].code


def close(a, b):
    if a.tobytes() == b.tobytes():
        return True
    x, y = a.astype(np.float64), b.astype(np.float64)
    return a.dtype.kind not in "biu" and np.allclose(
        x, y, rtol=0.02 if a.itemsize < 4 else 1e-4, atol=1e-5, equal_nan=True
    )


def compare_hlo(text, name, counts, wrong):
    try:
        data = _jax.mlir.mlir_module_to_xla_computation(text).as_serialized_hlo_module_proto()
    except Exception:  # the bindings raise what XLA says as several types
        counts["not written by jaxlib"] += 1
        return
    (a, refused), (b, also) = interpreted(data, name), interpreted(text, name)
    if a is None or b is None:
        same = refused == also
        counts[f"both refused, {refused}" if same else "DIFFERENT"] += 1
    elif len(a) == len(b) and all(x.shape == y.shape and x.dtype == y.dtype for x, y in zip(a, b)):
        same = all(map(close, a, b))
        exact = all(x.tobytes() == y.tobytes() for x, y in zip(a, b))
        counts["equal" if exact else "close" if same else "DIFFERENT"] += 1
    else:
        same = False
        counts["DIFFERENT"] += 1
    if not same:
        wrong.append(f"{name} as HLO: {refused} {also}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only each n-th module")
    options = parser.parse_args()
    root = options.checkout / "stablehlo"
    artifacts, protos, wrong = collections.Counter(), collections.Counter(), []
    for i, (name, text) in enumerate(modules(root)):
        if i % options.every == 0:
            compare_artifact(text, VERSIONS[-1], name, artifacts, wrong)
            compare_artifact(text, VERSIONS[i % len(VERSIONS)], name, artifacts, wrong)
    for i, (name, text, version) in enumerate(stored_functions(root)):
        if i % options.every == 0:
            compare_artifact(text, version, name, artifacts, wrong)
    for i, path in enumerate(sorted((root / "testdata").glob("*.mlir"))):
        if i % options.every == 0:
            compare_hlo(path.read_text(), path.name, protos, wrong)
    for title, counts in (("portable artifacts", artifacts), ("HLO modules", protos)):
        print(title)
        for what, n in counts.most_common():
            print(f"  {n:6} {what}")
    print("\n".join(wrong[:50]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
