"""glia.compile: a function that calls kernels, one on another's results, becomes one linked program. The function runs once, on
arrays that stand for tensors; each kernel is compiled once per signature and called as often as the function says."""

from __future__ import annotations

import dataclasses
import functools
import inspect

import numpy as np

from .. import _glia
from ..executable import Executable
from ..program import Program
from ..values import has_nan
from ..warn import asked, report, warning
from . import dtypes, environment, nan
from . import trace as _t
from .frameworks import from_numpy, kind_of, to_numpy, update
from .ranks import RankAxis, not_followed
from .runtime import inputs_of, merged, object_of, program_of
from .source import user_place
from .symbolic import GraphTensor


def _map(value, function):
    """`value` with `function` applied to the arrays in it."""
    if kind_of(value) is not None:
        return function(value)
    if isinstance(value, tuple):
        return tuple(_map(x, function) for x in value)
    if isinstance(value, list):
        return [_map(x, function) for x in value]
    if isinstance(value, dict):
        return {k: _map(x, function) for k, x in value.items()}
    return value


class Graph:
    """The calls of a function, in order."""

    def __init__(self, target: str, axis: RankAxis):
        self.target = target  # as Target.reference
        self.axis = axis
        self.rank = ""  # the input with the number of the rank, if a kernel asks
        self.tensors: dict[str, list] = {}  # name -> [kind, DType, shape, data]
        self.places: list[tuple[str, int]] = []  # where the calls are made
        self.calls: list[tuple] = []  # (object, label, [(name of the object, name of the program, reshape)])
        self.constants: dict[int, tuple] = {}
        self.traced: dict[int, object] = {}  # by its object: the first call of each

    def add(self, kind: str, name: str, dtype, shape, data=None) -> str:
        stem, n = name, 0
        while name in self.tensors:
            n += 1
            name = f"{stem}_{n}"
        self.tensors[name] = [kind, dtypes.of(dtype), tuple(map(int, shape)) or (1,), data]
        return name

    def constant(self, array: np.ndarray) -> str:
        known = self.constants.get(id(array))
        if known is None:
            data = np.ascontiguousarray(array)
            known = (array, self.add("constant", "constant", data.dtype, data.shape, data.tobytes()))
            self.constants[id(array)] = known  # the array is kept, so its identity stays its own
        return known[1]

    def call(self, kernel, args, kwargs):
        """A call of a kernel; what it returns stands for its results."""
        if kernel.target is not None and not _t.is_target(kernel.target, self.target):
            raise _t.failure(
                "GRAPH-TARGET", f"`{kernel.__name__}` is a kernel for {kernel.target}, the program is for {self.target}"
            )
        if kernel.ranks is not None and kernel.ranks != self.axis.ranks:
            raise _t.failure(
                "NKI-RANKS",
                f"`{kernel.__name__}` is a kernel for {kernel.ranks} ranks, the program is for {self.axis.ranks}",
                f"Compile the function with ranks={kernel.ranks}.",
            )
        kernel = dataclasses.replace(kernel.on(self.target), ranks=self.axis.ranks, apart=True)
        traced = kernel.trace(*args, **kwargs)
        lowered, arrays = traced.lowered, traced.arrays
        bindings = []
        for name, x in zip(lowered.inputs, arrays.originals):
            tensor = x.tensor if isinstance(x, GraphTensor) else self.constant(to_numpy(x))
            bindings.append((name, tensor, True))
        if lowered.rank_input:
            self.rank = self.rank or self.add("input", "rank", np.int32, (1,))
            bindings.append((lowered.rank_input, self.rank, True))
        made = {}
        for o in lowered.outputs:
            made[o.name] = self.add("scratch", f"{traced.name}_{o.name}", o.dtype, o.shape)
            bindings.append((o.name, made[o.name], False))
        compiled = object_of(traced)
        self.traced.setdefault(id(compiled), traced)
        self.calls.append((compiled, traced.name, bindings))
        self.places.append(user_place())
        for n, o in lowered.updates.items():
            x = arrays.originals[n]
            if not isinstance(x, GraphTensor):
                raise _t.failure(
                    "GRAPH-UPDATE", f"`{traced.name}` writes to `{arrays.names[n]}`, which is a constant of the program"
                )
            x.tensor = made[o.name]
        results = [
            arrays.originals[r] if type(r) is int else GraphTensor(made[r.name], t.shape, t.dtype.numpy)
            for r, t in zip(lowered.results, traced.tensors)
        ]
        return traced.rebuild(results)

    def link(self) -> Program:
        tensors = [(kind, name, t.machine, list(shape), data) for name, (kind, t, shape, data) in self.tensors.items()]
        try:
            handle = _glia.link(self.target, tensors, self.calls)
            return Program(handle.for_ranks(self.axis.ranks, self.rank) if self.axis.ranks > 1 else handle)
        except _glia.Error as e:
            raise _glia.error_of([self._placed(d) for d in e.diagnostics]) from None

    def _placed(self, d):
        """What the linker says about kernels points to the last call of one of them."""
        if d.file:
            return d
        for (_, label, _), (file, line) in zip(reversed(self.calls), reversed(self.places)):
            if f"`{label}`" in d.message:
                context = d.context or f"call of kernel {label}"
                return _glia.Diagnostic(d.code, d.message, d.advice, file, line, context, d.value, d.limit, d.notes)
        return d


class KernelExecutable(Executable):
    """A compiled function of kernels."""

    def __init__(
        self, function, program: Program, target: str, inputs, structure, updates, calls, traced, axis: RankAxis, again
    ):
        super().__init__(program, target)
        self._axis, self._again = axis, again
        self._function, self._objects = function, list({id(o): o for o in calls}.values())
        self._calls = [(traced[id(o)].kernel, calls.count(o)) for o in self._objects]
        self.groups, self.kernels = len(calls), len(self._objects)  # calls in the program, and distinct kernels
        self._inputs, self._structure, self._updates = inputs, structure, updates
        self._plans = None  # of runs under watch

    def __repr__(self) -> str:
        name = getattr(self._function, "__name__", "function")
        calls = f"{self.groups} calls of {self.kernels} kernels" if self.groups > 1 else "one kernel"
        return f"<{name}: {calls}, {self.program.instructions} instructions for {self.program.target}>"

    def run(self, *args, watch=None, **kwargs):
        """The results of the function. Arguments that a kernel writes to are updated.

        `watch` names variables of the kernels ("m", "m@46", "m@kernel.py:46"): then the kernels are run by their sequential
        meaning, which gives the same bytes, and what comes back is glia.nki.capture.Captured: every value that the variables
        take, as arrays with line, iteration and core, and the `result`."""
        if watch is not None:
            from .capture import captured

            if self._axis.count:
                raise not_followed("watch", self._axis.count)
            return captured(self._function, self._reference, watch, args, kwargs, self._watched())
        arrays = _arrays_of(self._function, args, kwargs)
        if len(arrays) != len(self._inputs):
            raise _t.failure("GRAPH-ARGUMENT", f"{len(self._inputs)} arrays are needed, {len(arrays)} are given")
        kind, like = "numpy", None
        data = {}
        for (name, shape, dtype), x in zip(self._inputs, arrays):
            if kind_of(x) != "numpy":
                kind, like = kind_of(x), x
            array = to_numpy(x)
            if array.shape != shape or array.dtype != dtype:
                raise _t.failure(
                    "GRAPH-ARGUMENT", f"`{name}` is {array.dtype}{list(array.shape)}, compiled for {dtype}{list(shape)}"
                )
            array = self._axis.given(array)
            data[name] = array.view(np.uint8) if array.dtype == np.bool_ else array
        outputs = self.program.run(data, verify=False, **environment.run_options())
        self._look_for_nan(data, outputs, args, kwargs)

        names = [name for name, *_ in self._inputs]
        updated = {tensor: n for n, tensor in self._updates.items()}
        lead = self._axis.lead

        def value(g):
            if not isinstance(g, GraphTensor):
                return g
            if g.tensor in data or (g.tensor in updated and kind != "jax"):  # the caller's own array
                x = arrays[updated[g.tensor] if g.tensor in updated else names.index(g.tensor)]
                return x if tuple(x.shape) == (*lead, *g.shape) else x.reshape((*lead, *g.shape))
            array = outputs[g.tensor]
            array = array.view(g.dtype) if array.dtype != g.dtype else array
            return from_numpy(array.reshape((*lead, *g.shape)), kind, like)

        for n, tensor in self._updates.items():
            if not update(arrays[n], outputs[tensor]):
                raise _t.failure(
                    "NKI-UPDATE", f"`{self._inputs[n][0]}` is written and cannot be changed", "Pass a copy."
                )
        return _map(self._structure, value)

    def _watched(self):
        """What earlier runs under watch have left."""
        from .capture import Plans

        self._plans = self._plans or Plans()
        return self._plans

    def _look_for_nan(self, data: dict, outputs: dict, args, kwargs) -> None:
        """Warns of a NaN in a result though no argument has one, at the line of the kernel that made it."""
        about = self._about
        if not asked(about) or not any(map(has_nan, outputs.values())) or any(map(has_nan, data.values())):
            return
        if self._axis.count:  # several ranks do not follow each other
            names = [name for name, array in outputs.items() if has_nan(array)]
            report([warning("RUN-NAN", f"`{name}` has a NaN, and no argument has one") for name in names])
            return
        from .capture import Calls

        calls = Calls(self._reference, [])
        calls.run(self._function, _map(args, _copied), _map(kwargs, _copied))
        found = [nan.found(seen.traced, inputs_of(seen.traced), seen.outputs) for seen in calls.observed]
        report(next(filter(None, found), []), about)

    def compare(self, reference, *args, tolerance: float | None = None, **kwargs):
        """Holds variables of the kernels against a reference: a function of the same arguments that names its intermediates
        with glia.mark, or a mapping of names to arrays. What comes back says whether they agree, else the first that does
        not: its line, iteration, element, and the lines that its value came from. `tolerance` is a share of the largest
        value of a tile; without it, what the type of the tile allows."""
        from .compare import compare

        if self._axis.count:
            raise not_followed("compare", self._axis.count)
        args = _map(args, _copied)
        return compare(self._function, self._reference, reference, args, kwargs, tolerance, self._watched())

    def inputs(self, *args, **kwargs) -> dict:
        arrays = _arrays_of(self._function, args, kwargs)
        return {name: self._axis.given(to_numpy(x)) for (name, *_), x in zip(self._inputs, arrays)}

    def bound(self) -> dict:
        """The least time that its kernels need on the target in any order, in nanoseconds: `total`, its `reason`, and each part."""
        parts = [(kernel.bound(), times) for kernel, times in self._calls]
        longest = max((b for b, _ in parts), key=lambda b: b["total"])
        if len(parts) == 1 and parts[0][1] == 1:
            return longest
        out = {}
        for name in longest.keys() - {"total", "reason"}:
            # Calls may overlap, and those of two cores too: only what one core has to do adds up.
            adds = name not in ("path", "around") and all(c["cores"] == "1" for c in self.contracts())
            out[name] = (sum if adds else max)(b[name] * (times if adds else 1) for b, times in parts)
        most = max(out, key=out.get)
        reason = longest["reason"] if most in ("path", "around") else most
        return {"total": out[most], "reason": reason} | out

    def contracts(self) -> list[dict[str, str]]:
        """What each kernel uses and promises, once per kernel and signature, in the order of their first calls."""
        return [dict(o.contract) for o in self._objects]


def _copied(x):
    return x.copy() if isinstance(x, np.ndarray) else x


def _without_data(x):
    """An array that is compiled for like this one."""
    array = to_numpy(x)
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


def _bound(function, args, kwargs):
    f = getattr(function, "func", function)
    try:
        bound = _signature(f).bind(*args, **kwargs)
    except TypeError as e:
        raise _t.failure("GRAPH-ARGUMENT", f"{getattr(f, '__name__', 'the function')}: {e}") from None
    return bound


@functools.lru_cache(maxsize=256)
def _signature(function):
    return inspect.signature(function)


def _arrays_of(function, args, kwargs) -> list:
    found: list = []
    _map(dict(_bound(function, args, kwargs).arguments), found.append)
    return found


def _jax_function(function):
    return _t.failure(
        "GRAPH-DOOR",
        f"`{getattr(function, '__name__', 'the function')}` is a JAX function; glia.compile takes functions of NKI kernels",
        "Compile it with glia.jit; kernels may be called in it.",
    )


def compile(function, *args, target: str | None = None, ranks: int | None = None, **kwargs) -> KernelExecutable:
    """Compiles `function` for arguments like these into one program. With `ranks`, for so many ranks: every array that is given or
    returned has one more axis, in front, with a part for each rank; the function sees what one rank has."""
    if _t.current() is not None or active() is not None:
        raise _t.failure("GRAPH-NESTED", "glia.compile is called while something is compiled")
    if type(function).__module__.split(".", 1)[0] in ("jax", "jaxlib"):  # made by jax.jit and the like
        raise _jax_function(function)
    axis = RankAxis(ranks)
    graph = Graph(_t.find_target(target or environment.target_name()).reference, axis)
    bound = _bound(function, args, kwargs)
    inputs, symbols = [], []

    def stand_in(name: str):
        def make(x):
            array = to_numpy(x)
            try:
                part = axis.part(name, array.shape)
                tensor = graph.add("input", name, array.dtype, part)
            except TypeError as e:
                raise _t.failure("NKI-DTYPE", f"the argument `{name}`: {e}", "Convert it first.") from None
            inputs.append((tensor, array.shape, array.dtype))
            symbols.append(GraphTensor(tensor, part, array.dtype))
            return symbols[-1]

        return make

    replaced = {name: _map(x, stand_in(name)) for name, x in bound.arguments.items()}
    new = type(bound)(bound.signature, replaced)
    _t._state.graph = graph
    try:
        structure = function(*new.args, **new.kwargs)
    except TypeError as e:
        if "GraphTensor" in str(e):  # JAX met an array that stands for a tensor of the program
            raise _jax_function(function) from e
        raise
    finally:
        _t._state.graph = None
    if not graph.calls:
        raise _t.failure("GRAPH-EMPTY", "the function calls no kernel", "JAX functions are compiled with glia.jit.")
    results: list[GraphTensor] = []
    _map(structure, lambda x: results.append(x) if isinstance(x, GraphTensor) else None)
    updates = {n: s.tensor for n, s in enumerate(symbols) if s.tensor != inputs[n][0]}
    for tensor in [*(r.tensor for r in results), *updates.values()]:
        if graph.tensors[tensor][0] == "scratch":
            graph.tensors[tensor][0] = "output"
    program = graph.link()
    try:
        program._handle.require_verified("kernel")
    except _glia.Error as e:
        for traced in graph.traced.values():
            program_of(traced)  # a kernel that is wrong by itself says so with its lines
        raise _glia.error_of(merged(e.diagnostics)) from None
    calls = [o for o, *_ in graph.calls]
    like = (_map(args, _without_data), _map(kwargs, _without_data))
    again = lambda target: compile(function, *like[0], target=target, ranks=ranks, **like[1])  # noqa: E731
    return KernelExecutable(
        function, program, graph.target, inputs, structure, updates, calls, graph.traced, axis, again
    )


def active() -> Graph | None:
    return getattr(_t._state, "graph", None)
