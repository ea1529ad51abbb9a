"""Link and verify of many calls of one object, a chain of a kernel of about 150 instructions. Processor time."""

import time

import glia
import numpy as np

glia.install()

import nki
import nki.isa as nisa
import nki.language as nl
from glia.nki.runtime import object_of


@nki.jit
def layer(x):
    """Sixteen tiles: scaled, squashed, their neighbours added."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    last = None
    for n in range(16):
        t = nl.load(x[n])
        u = nl.ndarray((128, 32), nl.float32)
        nisa.activation(dst=u, op=nl.tanh, data=t)
        for _ in range(3):
            nisa.tensor_scalar(dst=u, data=u, op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=0.25)
        nisa.tensor_tensor(dst=t, data1=t, data2=u, op=nl.add)
        if last is not None:
            nisa.tensor_tensor(dst=t, data1=t, data2=last, op=nl.subtract)
        nisa.dma_copy(dst=out[n], src=t)
        last = u
    return out


class Linked:
    def __init__(self):
        traced = layer.trace(np.zeros((16, 128, 32), np.float32))
        self.object = object_of(traced)
        self.input, self.output = traced.lowered.inputs[0], traced.lowered.outputs[0].name
        self.instructions = 0

    def seconds(self, calls: int) -> float:
        """Links a chain of this many calls and verifies it; nothing is compiled."""
        shape = [16, 128, 32]
        tensors = [("input", "t0", "f32", shape, None), ("output", f"t{calls}", "f32", shape, None)]
        tensors += [("scratch", f"t{n}", "f32", shape, None) for n in range(1, calls)]
        chain = [
            (self.object, f"layer {n}", [(self.input, f"t{n}", False), (self.output, f"t{n + 1}", False)])
            for n in range(calls)
        ]
        start = time.thread_time()
        program = glia._glia.link("trn2", tensors, chain)
        program.require_verified()
        took = time.thread_time() - start
        self.instructions = program.instructions
        return took
