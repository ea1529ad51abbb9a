"""glia: assemble, verify, run and time programs for AWS Trainium NeuronCores, on any Linux machine.

    import glia, numpy as np
    p = glia.assemble(open("examples/vector_add.gasm").read(), target="trn2")
    assert p.verify().ok
    y = p.run({"a": a, "b": b})["y"]
    print(p.profile().summary())

What goes wrong is raised as `glia.Error`, whose `.diagnostics` say where, which limit, which value, and what to do.
"""

from ._glia import Diagnostic, Error, Register, Trap
from .builder import Builder, reg
from .data import isa, rules, target, targets
from .hook import install, uninstall
from .marks import mark
from .profile import Profile
from .program import Orders, Outcome, Program, TensorInfo, Verified, assemble, load


def compile(function, *args, target=None, ranks=None, **kwargs):
    """Compiles a function that calls NKI kernels into one program for `target` (default trn2) and `ranks`: see glia.nki.graph."""
    from .nki.graph import compile as compile_function

    return compile_function(function, *args, target=target, ranks=ranks, **kwargs)


def tune(kernel, space, args=(), **options):
    """Compiles, proves and times a kernel with every combination of values; a table, the best first: see glia.tuning.search."""
    from .tuning.search import tune as tune_kernel

    return tune_kernel(kernel, space, args, **options)


def jit(function=None, **options):
    """A JAX function that is compiled into one program for a target when it is called: see glia.jit in docs/graph.md."""
    from .jax_door import jit as jit_function

    return jit_function(function, **options)


def devices(count=None):
    """Simulated devices that JAX can make meshes of: see docs/devices.md."""
    from .jax_door import devices as jax_devices

    return jax_devices(count)


def interpret(graph, *inputs, **options):
    """Evaluates a graph on the host, as the reference does: see glia.reference."""
    from .reference import interpret as interpret_graph

    return interpret_graph(graph, *inputs, **options)


__version__ = "0.1.0"
__all__ = [
    "Builder",
    "Diagnostic",
    "Error",
    "Orders",
    "Outcome",
    "Profile",
    "Program",
    "Register",
    "TensorInfo",
    "Trap",
    "Verified",
    "assemble",
    "compile",
    "devices",
    "install",
    "interpret",
    "isa",
    "jit",
    "load",
    "mark",
    "reg",
    "rules",
    "target",
    "targets",
    "tune",
    "uninstall",
]
