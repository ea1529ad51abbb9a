"""The decoder on four ranks of two cores each, tensor parallel, as in the report: every rank has one head of linear attention, one key head with
its queries, one expert and a quarter of the shared one. all_reduce adds what they give to the residual stream.

python -m glia museum/deltanet-in-a-model/deltanet_ranks.py
"""

import functools
import sys
from pathlib import Path

import deltanet_model as dm
import glia
import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, float64, row_of, show

RANKS = 4
TOPOLOGY = "trn2.3xlarge"
COLUMNS, ROWS, FIRST = P(None, "tensor"), P("tensor", None), P("tensor")
DIVIDED = {
    "attention": {"query": COLUMNS, "key": COLUMNS, "value": COLUMNS, "out": ROWS},
    "linear": {
        "qkv": P(None, None, "tensor"),
        "taps": P(None, None, "tensor"),
        "gate": COLUMNS,
        "out": ROWS,
        **{name: COLUMNS for name in ("beta", "rate")},
        **{name: FIRST for name in ("rate_bias", "log_rate")},
    },
    "experts": {
        **{name: FIRST for name in ("number", "gate", "up", "down")},
        **{name: COLUMNS for name in ("shared_gate", "shared_up")},
        "shared_down": ROWS,
    },
}


def added(part):
    return lax.psum(part, "tensor")


def rank_model(p, tokens):
    return dm.decoder(dm.in_chunks, p, tokens, added)


def specs(p):
    """How the parameters are divided; what is not named is on every rank."""

    def of(kind, layer):
        return {name: DIVIDED[kind].get(name, P()) for name in layer}

    layers = [(of("attention" if "query" in a else "linear", a), of("experts", b)) for a, b in p["layers"]]
    return {name: layers if name == "layers" else P() for name in p}


def sharded_model(p):
    mesh = Mesh(np.array(glia.devices(RANKS)), ("tensor",))
    return jax.shard_map(rank_model, mesh=mesh, in_specs=(specs(p), P()), out_specs=P(), check_vma=False)


@functools.cache
def references(layers):
    """(arguments, logits of JAX on the CPU in fp32, the same in float64)"""
    args = dm.inputs(layers, times=RANKS // dm.HEADS)
    return args, dm.twin(*args), float64(dm.twin, *args)


def measure(layers, cores=2, topology=TOPOLOGY):
    """The row of the model: compiled, proved, run, and held against the decoder on one device."""
    args, *twins = references(layers)
    function = glia.jit(sharded_model(args[0]), target=topology[:4], lnc=cores, topology=topology)
    exe, seconds = compiled(lambda: function.compile(*args))
    error, allowed = against_twin(exe.run(*args), *twins)
    name = f"{layers} layers, {RANKS} ranks of {cores} cores"
    return row_of(exe, name, seconds=seconds, error=error, allowed=allowed, vendor=dm.VENDOR)


def rows(everything=False):
    """4 layers, with everything also 40."""
    for layers in (4, 40) if everything else (4,):
        yield measure(layers)


if __name__ == "__main__":
    sys.exit(show(rows(everything=True)) != 0)
