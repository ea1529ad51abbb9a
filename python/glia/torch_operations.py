"""Operations of torch that torch_xla does not write into a graph (it computes them on the host), fails at, or writes with other shapes or types
than torch has, or means otherwise. Each is written in other operations, by torch's own decompositions or by ours, or the graph is refused.
Imported only where torch is."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from . import _glia, torch_collectives
from .nki import trace as _t
from .torch_decompositions import INSTEAD, OWN

_HOST = "it would compute that on the host"
_OTHER = "its result would have another shape or type than torch's"
_WIDENED = (torch.int16, torch.uint16)


class AsTorchMeansIt(TorchDispatchMode):
    """While it is active, operations on tensors of torch_xla are written with the shapes and types that torch gives them, or refused."""

    def __init__(self):
        super().__init__()
        self._parts = {}  # copies that stand for views, by id

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if torch_collectives.is_between_ranks(func):  # torch_xla would take all ranks for one group
            advice = "Use torch.compile under torchrun, or glia.torch_ranks.compile."
            raise torch_collectives.refusal(f"{func.name()} in a graph of one rank", advice)
        args, kwargs = _numbers_in_type(func, args), kwargs or {}
        if _has_kernel(func, _IMPLICIT) and not _has_kernel(func, "XLA"):
            with self:
                made = func.decompose(*args, **kwargs)  # what it is made of comes here one by one
            if made is not NotImplemented:
                return made
        copying = _copying(func) if func.is_view else None
        if copying is not None:
            made = self._made(copying, args, kwargs)
            self._parts.update((id(x), x) for x in tree_leaves(made) if _is_tensor(x))
            return made
        if (
            func._schema.is_mutable
            and func.name() != "aten::detach_"
            and any(id(x) in self._parts for x in _written_to(func, args, kwargs))
        ):
            raise _refusal(func, "it would write to a part of a tensor")
        return self._made(func, args, kwargs)

    def _made(self, func, args, kwargs):
        expected = _expected(func, args, kwargs)
        if _is_widened(args, kwargs, expected):
            raise _refusal(func, "on a device NEURON its 16-bit integers have 32 bits")
        if func.name() in INSTEAD:
            with self:
                made = INSTEAD[func.name()](_unchecked(func), *args, **kwargs)
            if made is not NotImplemented and _fits(made, expected):
                return made
        made, problem = _written(func, args, kwargs, expected)
        if problem is None:
            return made
        if not func._schema.is_mutable:  # else it may have happened already
            if _is_number(args):
                made, other = _written(func, *tree_map(_longer, (args, kwargs)), None)
                made = tree_map(_shorter, made)
                if other is None and _fits(made, expected):
                    return made
            decomposition = _decomposition(func)
            if decomposition is not None:
                try:
                    with self:
                        made = decomposition(*args, **kwargs)
                except RuntimeError as e:
                    made, problem = NotImplemented, f"{problem}; and torch's way to write it: {_line(e)}"
                if made is not NotImplemented and _fits(made, expected):
                    return made
        raise _refusal(func, problem)


_ADVICE = {
    **dict.fromkeys(
        ("aten::poisson", "aten::binomial", "aten::_standard_gamma", "aten::_sample_dirichlet"),
        "Draw it outside of the compiled function, and pass it.",
    ),
    "aten::_embedding_bag_backward": "Use functional.embedding with scale_grad_by_freq or sparse, and add the rows.",
}


def _is_widened(args, kwargs, expected) -> bool:
    """Whether integers of 16 bits on a device of torch_xla would have more there. Those of the host are what they are."""
    given = [x for x in tree_leaves((args, kwargs)) if _is_tensor(x)]
    short = any(_is_tensor(x) and x.dtype in _WIDENED for x in (*given, *tree_leaves(expected)))
    if not short or (given and all(x.device.type != "xla" for x in given)):
        return False
    import torch_xla
    import torch_xla.core.xla_model as xm

    return xm.xla_device_hw(torch_xla.device()) == "NEURON"


def _refusal(func, problem: str):
    other = "Use other operations there, and no number of a tensor (item(), if) in the function."
    if "16-bit" in problem:
        other = "Use int32, or compile in a process without that device: not under `python -m glia`, nor after glia.install()."
    return _t.failure(
        "TORCH-FALLBACK",
        f"torch_xla cannot write down {func.name()}: {problem}",
        _ADVICE.get(func.name(), other),
    )


def _copying(func):
    """The operation that copies what a view shows, if there is one. Within a decomposition torch_xla takes a view of a view from the wrong tensor."""
    packet = getattr(torch.ops.aten, func._schema.name.removeprefix("aten::") + "_copy", None)
    copy = getattr(packet, func._overloadname, None)
    return copy if copy is not None and _has_kernel(copy, "XLA") else None


def _written_to(func, args, kwargs):
    for i, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from tree_leaves(args[i] if i < len(args) else kwargs.get(argument.name))


def _numbers_in_type(func, args: tuple) -> tuple:
    """Python numbers that stand for tensors, in the type of the tensor beside them; torch_xla would compute in f64."""
    beside = next((x for x in args if _is_tensor(x)), None)

    def number(x, wanted):
        if not isinstance(x, float) or str(wanted.type) != "Tensor":
            return x
        return torch.full((), x, dtype=torch.result_type(beside, x), device=beside.device)

    return args if beside is None else tuple(number(x, wanted) for x, wanted in zip(args, func._schema.arguments))


def _unchecked(func):
    def call(*args, **kwargs):
        with _disable_current_modes():
            return func(*args, **kwargs)

    return call


def _written(func, args, kwargs, expected):
    """What torch_xla makes of it, and what is wrong with that."""
    if not (func.is_view or func._schema.is_mutable or any(_has_kernel(func, key) for key in _WRITTEN)):
        return None, _HOST
    before = _computed_on_the_host()
    if not (func.is_view or func._schema.is_mutable):
        # What is computed on the host is data from then on, no longer part of the graph: so may be copies only.
        args, kwargs = tree_map(lambda x: x.clone() if _is_tensor(x) else x, (args, kwargs))
    try:
        made = func(*args, **kwargs)
        problem = None if _fits(made, expected) else _OTHER
    except _glia.Error:
        raise
    except Exception as e:
        made, problem = None, _line(e)
    if any(count != before.get(name, 0) for name, count in _computed_on_the_host().items()):
        problem = _HOST
    return made, problem


def _line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def _computed_on_the_host() -> dict[str, int]:
    """Operations that torch_xla does not write down but computes on the CPU, and how often it did."""
    import torch_xla.debug.metrics as metrics

    return {name: metrics.counter_value(name) for name in metrics.counter_names() if name.startswith("aten::")}


def _decomposition(func):
    from torch._decomp import decomposition_table

    if func.name() in OWN:
        return OWN[func.name()]
    if func in decomposition_table:
        return decomposition_table[func]
    return func.decompose if _has_kernel(func, _IMPLICIT) else None


_IMPLICIT = "CompositeImplicitAutograd"
# Kernels for tensors of torch_xla; without one the CPU's runs, on no real data.
_WRITTEN = ("XLA", "CompositeExplicitAutograd", _IMPLICIT)


def _has_kernel(func, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)


def _expected(func, args, kwargs):
    """The result's shapes and types on the CPU, as tensors without data; None if they hang on numbers."""
    if not any(_is_tensor(x) for x in tree_leaves((args, kwargs))):
        return None  # a new tensor is as it is asked for
    if "device" in kwargs:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    with FakeTensorMode():
        args, kwargs = tree_map(lambda x: torch.empty(x.shape, dtype=x.dtype) if _is_tensor(x) else x, (args, kwargs))
        try:
            return func(*args, **kwargs)
        except Exception:
            return None


def _fits(made, expected) -> bool:
    if expected is None:
        return True
    pairs = list(zip(tree_leaves(made), tree_leaves(expected)))
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs if _is_tensor(a) and _is_tensor(b))


def _is_tensor(x) -> bool:
    return isinstance(x, torch.Tensor)


def _is_number(args) -> bool:
    first = next((x for x in args if _is_tensor(x)), None)
    return first is not None and first.ndim == 0


def _longer(x):
    return x.reshape(1) if _is_tensor(x) and x.ndim == 0 else x


def _shorter(x):
    return x.reshape(()) if _is_tensor(x) and x.shape == (1,) else x
