"""From a function of torch tensors to a graph, and from arrays of a program to tensors and back. torch_xla writes the graph down: the
function runs once on its lazy tensors, which compute nothing. Imported only where torch is."""

from __future__ import annotations

import dataclasses
import importlib.util
import os

import numpy as np
import torch

from . import _glia
from .dtypes import numpy_dtype
from .neuron import processes
from .nki import environment
from .nki import trace as _t
from .nki.frameworks import to_numpy
from .program import Program
from .torch_operations import AsTorchMeansIt

_UNKNOWN_BACKEND = "CPU"  # of torch_xla, where nobody chose one: only its lazy tensors are needed


@dataclasses.dataclass(frozen=True)
class Argument:
    """Where an argument of a graph comes from: input number `input`, or the tensor `value`, with the name it has in the module."""

    input: int | None = None
    name: str = ""
    value: torch.Tensor | None = None

    @property
    def is_seed(self) -> bool:
        """Of torch_xla's random numbers: the one kind of number that it makes an argument by itself."""
        return self.value is not None and self.value.dtype is torch.int64 and self.value.ndim == 0 and not self.name


@dataclasses.dataclass(frozen=True)
class Recorded:
    module: bytes  # StableHLO
    arguments: list[Argument]
    results: list[tuple[tuple[int, ...], str]]  # shapes and types


def lazy_device():
    """A device of torch_xla."""
    if importlib.util.find_spec("torch_xla") is None:
        raise _t.failure(
            "TORCH-XLA",
            "graphs of torch are written down by torch_xla, which is not installed",
            "Install torch_xla of the same version as torch.",
        )
    if "PJRT_DEVICE" not in os.environ and importlib.util.find_spec("libneuronxla") is None:
        os.environ["PJRT_DEVICE"] = _UNKNOWN_BACKEND
    processes.record_only()
    import torch_xla

    return torch_xla.device()


def record(function, inputs: list[torch.Tensor], named: dict[str, torch.Tensor]) -> Recorded:
    """The graph of function(*inputs), which returns tensors. `inputs` and `named`, the tensors that it uses beside them, are on the device of
    lazy_device()."""
    import torch_xla
    import torch_xla.core.xla_model as xm

    lazy = torch_xla._XLAC
    device = lazy_device()
    # Data of the device: a number that is still on the host would become a constant.
    lazy._xla_sync_multi([*inputs, *named.values()], [])
    known = {lazy._xla_get_tensor_id(x): Argument(name=name) for name, x in named.items()}
    known |= {lazy._xla_get_tensor_id(x): Argument(input=n) for n, x in enumerate(inputs)}
    lazy._set_xla_all_numbers_special_scalars(True)  # numbers are constants
    try:
        with torch.no_grad(), AsTorchMeansIt():
            results = [x if x.device == device else x.to(device) for x in function(*inputs)]
        try:
            ids, values = lazy._get_tensors_xla_device_data_node(results)
            module = xm.get_stablehlo_bytecode(results)
        except RuntimeError as e:
            advice = "Other operations in the function may help; the message is torch_xla's."
            raise _t.failure("TORCH-FALLBACK", f"torch_xla cannot write down the graph: {e}", advice) from e
    finally:
        lazy._set_xla_all_numbers_special_scalars(False)
    arguments = []
    for number, value in zip(ids, values):
        place = known.get(number, Argument())
        if place.input is None:
            place = dataclasses.replace(place, value=value.detach().cpu())
        arguments.append(place)
    shapes = [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in results]
    lazy._clear_pending_irs(str(device))
    return Recorded(module, arguments, shapes)


def run(program: Program, arguments: list[torch.Tensor], results: list[tuple]) -> list[torch.Tensor]:
    """The results of a program of a recorded graph."""
    return run_ranks(program, [arguments], results)[0]


def run_ranks(program: Program, arguments: list[list[torch.Tensor]], results: list[tuple]) -> list[list[torch.Tensor]]:
    """The same of a program of several ranks, each with arguments and results of its own."""
    outputs = program.run(inputs(program, arguments), verify=False, **environment.run_options())
    return [
        [_result(_of_rank(outputs.get(f"result{i}"), r, len(arguments)), *kind) for i, kind in enumerate(results)]
        for r in range(len(arguments))
    ]


def inputs(program: Program, arguments: list[list[torch.Tensor]]) -> dict[str, np.ndarray]:
    """The program's inputs, from the arguments of each rank."""
    data = {}
    for t in program.tensors:
        if t.kind == "input":
            i = int(t.name.removeprefix("arg"))
            arrays = [to_numpy(of_rank[i]) for of_rank in arguments]
            data[t.name] = _stored(arrays[0] if len(arrays) == 1 else np.stack(arrays), t, f"argument {i}")
    return data


def _of_rank(array: np.ndarray | None, rank: int, ranks: int) -> np.ndarray | None:
    return array if array is None or ranks == 1 else array[rank]


def _stored(array: np.ndarray, tensor, what: str) -> np.ndarray:
    """The array as the program holds it: the same bytes, in its type and shape."""
    dtype = numpy_dtype(tensor.dtype)
    if array.nbytes != int(np.prod(tensor.shape)) * dtype.itemsize:
        raise _glia.make_error(
            "TORCH-ARGUMENT",
            f"{what} is {array.dtype}{list(array.shape)}, the program is for other shapes or types",
            "Pass tensors like those it was compiled for, or compile it again.",
        )
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).view(dtype).reshape(tensor.shape)


def _result(array: np.ndarray | None, shape, dtype: str) -> torch.Tensor:
    kind = getattr(torch, dtype)
    if array is None:  # no elements, so no tensor
        return torch.empty(shape, dtype=kind)
    if array.nbytes != int(np.prod(shape)) * kind.itemsize:
        # Places of elements that are int64 to torch_xla, but that it writes as i32.
        array = array.astype(np.dtype(dtype))
    made = torch.empty(shape, dtype=kind)  # no view: it may be written to in place
    return made.copy_(torch.frombuffer(bytearray(np.ascontiguousarray(array).tobytes()), dtype=kind).reshape(shape))
