"""Forward and backward of the layers of the report, of ResNet-34's four layers, and a whole training step, each as one program.

python museum/conv7x7-backward/conv_backward.py          every row of the table
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu,glia")

import glia
import jax
import numpy as np
import resnet

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, float64, row_of, show

TARGETS = ("trn1", "trn2", "trn3")
QUICK = (1, 6, 7)  # rows of resnet.LAYERS that take a second or two


def case(i):
    """(name, function, arguments, what the vendor's compiler did) of one layer of the report."""
    kernel, stride, padding, channels, outputs, rows, columns, vendor = resnet.LAYERS[i]
    random = np.random.default_rng(1295 + i)
    x = random.standard_normal((1, channels, rows, columns)).astype(np.float32)
    name = f"{kernel}x{kernel} s{stride}, {channels} -> {outputs}, {rows} x {columns}"
    return (
        name,
        resnet.layer(kernel, stride, padding),
        (x, resnet.unit_parameters(random, kernel, channels, outputs)),
        vendor,
    )


def layers_case():
    random = np.random.default_rng(34)
    x = random.standard_normal((1, 64, 128, 512)).astype(np.float32)
    return "ResNet-34, layers 1 to 4", resnet.layers_step, (x, resnet.layers_parameters(random)), "60.1 s"


def step_case():
    random = np.random.default_rng(35)
    x = random.standard_normal((1, 3, 256, 1024)).astype(np.float32)
    label = np.array([17], np.int32)
    return "ResNet-34, a training step", resnet.step, (resnet.parameters(random), x, label), "NCC_ITEN404"


_known = {}  # name of a case: the last one's results on the CPU, which do not depend on the target


def on_host(name, function, args):
    """What JAX gives on the CPU, in f32 and in f64."""
    if name not in _known:
        jitted = jax.jit(function)
        _known.clear()
        _known[name] = jax.tree.map(np.asarray, jitted(*args)), float64(jitted, *args)
    return _known[name]


def measure(name, function, args, vendor, target):
    """The row of one program: compiled, proved, run, and held against JAX on the CPU in f64 and in f32."""
    exe, seconds = compiled(lambda: glia.jit(function, target=target).compile(*args))
    error, allowed = against_twin(exe.run(*args), *on_host(name, function, args))
    return row_of(exe, name, seconds=seconds, error=error, allowed=allowed, vendor=vendor)


def rows(everything=False):
    for i in range(len(resnet.LAYERS)) if everything else QUICK:
        yield measure(*case(i), "trn1")
    if everything:
        yield measure(*layers_case(), "trn1")
        yield measure(*step_case(), "trn1")


if __name__ == "__main__":
    sys.exit(show(rows(everything=True)))
