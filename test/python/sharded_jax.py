"""What tests of JAX on eight devices of the platform glia share: cases by name, run in a process of their own on glia and on the CPU."""

import faulthandler
import importlib
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import glia
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

CASES, ALONE = {}, {}


def both(f):
    """A case that gives the same on both platforms: called with the devices."""
    CASES[f.__name__] = f
    return f


def alone(f):
    """A case that looks at its results itself."""
    ALONE[f.__name__] = f
    return f


def grid(devices, *shape, names=("x", "y")):
    return Mesh(np.array(devices[: int(np.prod(shape))]).reshape(shape), names[: len(shape)])


def counted(*shape, dtype=np.float32):
    """Whole numbers, whose sums are exact."""
    return (np.arange(np.prod(shape)).reshape(shape) % 7 - 2).astype(dtype)


def mapped(f, mesh, args, ins, outs):
    placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(args, ins, strict=True)]
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=tuple(ins), out_specs=outs, check_vma=False))(*placed)


def same(got, want, where=""):
    """Every part on every device is that part of what is wanted, bit for bit."""
    got_leaves, want_leaves = jax.tree.leaves(got), jax.tree.leaves(want)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for n, (g, w) in enumerate(zip(got_leaves, want_leaves)):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype, f"{where}{n}: {g.shape} {g.dtype}, wanted {w.shape} {w.dtype}"
        assert {d.platform for d in g.devices()} == {"glia"}
        for shard in g.addressable_shards:
            np.testing.assert_array_equal(
                np.asarray(shard.data), w[shard.index], err_msg=f"{where}{n} on {shard.device}"
            )
        np.testing.assert_array_equal(np.asarray(g), w, err_msg=f"{where}{n}")


def refused(what, f):
    try:
        f()
    except Exception as e:
        assert what in str(e), f"another error than {what}: {type(e).__name__}: {e}"
        return
    raise AssertionError(f"nothing was refused, {what} was expected")


def report(path, cases):
    """Calls each case and writes what went wrong, by its name."""
    faulthandler.dump_traceback_later(220, exit=True)
    found = {}
    for name, case in cases:
        try:
            case()
            found[str(name)] = ""
        except Exception:
            found[str(name)] = traceback.format_exc()
    Path(path).write_text(json.dumps(found))


def main(path, *modules):
    for m in modules:
        importlib.import_module(m)
    ours, theirs = jax.devices("glia"), jax.devices("cpu")

    def compare(f):
        with jax.default_device(theirs[0]):
            want = f(theirs)
        same(f(ours), want)

    cases = [(name, lambda f=f: compare(f)) for name, f in CASES.items()]
    report(path, cases + [(name, lambda f=f: f(ours)) for name, f in ALONE.items()])


def found_by(path, module, *arguments):
    """What the main function of a module reports from a process with eight devices of each platform."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "JAX_", "XLA_"))}
    env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(os.path.dirname(glia.__file__)), os.path.dirname(__file__)])
    env |= {"JAX_PLATFORMS": "glia,cpu", "GLIA_DEVICES": "8", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    env["XDG_STATE_HOME"] = os.path.dirname(path)  # not the user's
    code = f"import sys, {module}; {module}.main(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(path), *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(Path(path).read_text())
