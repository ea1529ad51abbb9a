"""glia.jit: a JAX function becomes one program. JAX traces it and prints StableHLO; the graph compiler does the rest.

f = glia.jit(jax.value_and_grad(loss), target="trn2")
value, gradients = f(parameters, x)
exe = f.compile(parameters, x)
print(exe.time(), exe.profile().summary())
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import os
import warnings
from collections import OrderedDict

import numpy as np

from . import _glia, graph_nan, jax_rules
from .dtypes import numpy_dtype
from .executable import Executable
from .nki import environment
from .nki import trace as _t
from .nki.jit import Kernel
from .nki.runtime import merged
from .program import Program
from .reference import Checked, check
from .values import has_nan

_KEPT = 64  # executables of one function
observers: list = []  # called before each call with arrays: Jitted, args, kwargs


def _jax():
    if importlib.util.find_spec("jax") is None:
        raise _t.failure(
            "JIT-JAX",
            "glia.jit compiles JAX functions, and JAX is not installed",
            "Install it (pip install jax), or use glia.compile for functions of NKI kernels on NumPy arrays.",
        )
    import jax

    return jax


class GraphExecutable(Executable):
    """A compiled JAX function."""

    def __init__(self, program: Program, text: str, counts: dict, function: Jitted, traced, reference: str, again):
        super().__init__(program, reference)
        self._text, self._function, self._again = text, function, again
        self._in_tree, self._arguments = traced.in_tree, _jax().tree.leaves(traced.in_avals)
        self._results, self._out_tree = _jax().tree.flatten(traced.out_info)
        self._tensors = {t.name: t for t in program.tensors}
        self.operations, self.groups, self.kernels = counts["operations"], counts["groups"], counts["kernels"]
        self._least = counts["least"]
        self.calls, self._choices = counts["calls"], counts["choices"]
        self.bytes_once = counts["bytes_once"]  # of HBM, if every tensor were read and written once

    def text(self) -> str:
        """The graph, as StableHLO."""
        return self._text

    def bound(self) -> dict:
        """The least time that the graph needs on the target, in nanoseconds: `total`, its `reason`, and each part by itself."""
        return dict(self._least)

    def choices(self) -> list[dict]:
        """What was tried for groups beside each other: `kernel`, how many `groups`, `tried` (what: nanoseconds), `taken`."""
        return [dict(c) for c in self._choices]

    def compare(self, *args, **kwargs) -> Checked:
        """As of kernels, where a reference has to be given: a graph has its own, the interpreter (see check)."""
        return self.check(*args, **kwargs)

    def inputs(self, *args, **kwargs) -> dict:
        return self._inputs(self._leaves(args, kwargs))

    def check(self, *args, **kwargs) -> Checked:
        """Each group of operations against the reference, on these arguments: which group differs, which operation in it, and
        its first element that does."""
        leaves = self._leaves(args, kwargs)
        arrays = [self._array(i, x) for i, x in enumerate(leaves)]
        of = self._function
        return check(self._text, *arrays, target=self._reference, lnc=of.lnc, auto_cast=of.auto_cast)

    def run(self, *args, **kwargs):
        """The results of the function: JAX arrays if an argument is one, else NumPy arrays."""
        leaves = self._leaves(args, kwargs)
        outputs = self.program.run(self._inputs(leaves), verify=False, **environment.run_options())
        if any(map(has_nan, outputs.values())):
            arrays = [self._array(i, x) for i, x in enumerate(leaves)]
            name = getattr(self._function.function, "__name__", "function")
            graph_nan.check(self._about, name, self._text, arrays, outputs)
        in_jax = any(isinstance(x, _jax().Array) for x in leaves)
        results = [self._result(i, outputs, in_jax) for i in range(len(self._results))]
        return _jax().tree.unflatten(self._out_tree, results)

    def _leaves(self, args, kwargs) -> list:
        leaves, tree = _jax().tree.flatten(self._function.dynamic(args, kwargs))
        if tree != self._in_tree:
            advice = "Call it with arguments of the same structure, or compile it again."
            if "watch" in kwargs:
                advice = (
                    "Variables of kernels are watched; a graph has operations: glia.jit(f).debug(x) stops at its lines."
                )
            elif args and callable(args[0]):
                advice = "The reference of a graph is the interpreter: give the arguments of the function alone."
            raise _t.failure("JIT-ARGUMENT", f"the arguments are {tree}, compiled for {self._in_tree}", advice)
        return leaves

    def _inputs(self, leaves: list) -> dict:
        return {f"arg{i}": self._input(i, x) for i, x in enumerate(leaves) if f"arg{i}" in self._tensors}

    def _array(self, i: int, x) -> np.ndarray:
        return _array(i, x, self._arguments[i])

    def _input(self, i: int, x) -> np.ndarray:
        t = self._tensors[f"arg{i}"]
        return _stored(self._array(i, x), numpy_dtype(t.dtype), f"argument {i}").reshape(t.shape)

    def _result(self, i: int, outputs: dict, in_jax: bool):
        jax, want = _jax(), self._results[i]
        key = jax.dtypes.issubdtype(want.dtype, jax.dtypes.prng_key)
        dtype = np.dtype(np.uint32) if key else np.dtype(want.dtype)
        array = outputs.get(f"result{i}")
        if array is None:  # no elements, so no tensor
            array = np.zeros(want.shape, dtype)
        if dtype == np.bool_ or (dtype in _PAIRS and array.size):
            array = np.ascontiguousarray(array).reshape(-1).view(dtype)
        array = array.astype(dtype, copy=False)
        if key:
            return jax.random.wrap_key_data(array, impl=str(want.dtype._impl.name))
        array = array.reshape(want.shape)
        return jax.numpy.asarray(array) if in_jax else array


def _array(i: int, x, want) -> np.ndarray:
    """An argument as an array of the type that the graph has for it."""
    jax = _jax()
    if jax.dtypes.issubdtype(want.dtype, jax.dtypes.prng_key):
        if getattr(x, "dtype", None) != want.dtype or x.shape != want.shape:
            raise _t.failure("JIT-ARGUMENT", f"argument {i} is not {want.dtype}{list(want.shape)}")
        return np.asarray(jax.random.key_data(x))
    array = np.asarray(x)
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)  # as JAX does: 64 bits only where they are on
    if dtype != want.dtype or array.shape != want.shape:
        raise _t.failure(
            "JIT-ARGUMENT",
            f"argument {i} is {dtype}{list(array.shape)}, compiled for {want.dtype}{list(want.shape)}",
        )
    return array.astype(dtype, copy=False)


# Types that the program holds as two numbers each: words, or real and imaginary part.
_PAIRS = (np.int64, np.uint64, np.complex64)


def _stored(array: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """The array in the type that the program holds it in: booleans are bytes; 64-bit types may be narrowed."""
    if array.dtype == dtype:
        return array
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).view(np.uint8)
    if array.dtype in _PAIRS:
        return np.ascontiguousarray(array).reshape(-1).view(dtype)
    with np.errstate(over="ignore"):
        narrow = array.astype(dtype)
    same = narrow.astype(array.dtype)
    if not np.array_equal(same, array, equal_nan=np.issubdtype(array.dtype, np.inexact)):
        raise _t.failure(
            "JIT-NARROW", f"{what} has values that the program's {dtype} does not hold", "Pass narrower arrays."
        )
    return narrow


class Jitted:
    """A JAX function to be compiled: called with arrays it compiles (once per shapes, types and structure) and runs."""

    def __init__(
        self,
        function,
        target: str | None,
        lnc: int,
        effort: int,
        topology: str,
        strict_sharding: bool,
        auto_cast: str,
        static_argnums,
        static_argnames,
        donate_argnums,
        donate_argnames,
    ):
        functools.update_wrapper(self, function, updated=())
        self.function, self.target, self.lnc, self.effort = function, target, lnc, effort
        self.topology, self.strict_sharding, self.auto_cast = topology, strict_sharding, auto_cast
        self._static = _both(function, static_argnums, static_argnames)
        self._options = {"donate_argnums": donate_argnums, "donate_argnames": donate_argnames}
        self._jitted: dict[_t.Target, object] = {}
        self._made: OrderedDict[tuple, tuple] = OrderedDict()

    def __call__(self, *args, **kwargs):
        if any(isinstance(x, _jax().core.Tracer) for x in _jax().tree.leaves((args, kwargs))):
            return self._inside(args, kwargs)
        for look in observers:
            look(self, args, kwargs)
        return self.compile(*args, **kwargs).run(*args, **kwargs)

    def _inside(self, args, kwargs):
        """A call in a function that is being traced: part of that one if glia.jit traces it."""
        target = getattr(_t._state, "jit_target", None)
        name = getattr(self.function, "__name__", "function")
        if target is None:
            raise _t.failure(
                "JIT-TRACED",
                f"`{name}` is a function of glia.jit, called in one that JAX traces",
                "glia.jit is the outermost: glia.jit(jax.grad(f)), not jax.grad(glia.jit(f)).",
            )
        if self.target is not None and not _t.is_target(self.target, target):
            raise _t.failure("GRAPH-TARGET", f"`{name}` is for {self.target}, the program is for {target}")
        return self.function(*args, **kwargs)

    def dynamic(self, args, kwargs) -> tuple:
        """The arguments that are arrays or made of arrays."""
        numbers, names = self._static
        taken = {n % len(args) if -len(args) <= n < len(args) else n for n in numbers} if args else set()
        left = tuple(x for n, x in enumerate(args) if n not in taken)
        return left, {k: x for k, x in kwargs.items() if k not in names}

    def lower(self, *args, **kwargs) -> str:
        """StableHLO for arguments like these."""
        target = _target(self.target)
        return _text(self._trace(target, args, kwargs), target)

    def compile(self, *args, dump: str = "", **kwargs) -> GraphExecutable:
        """Compiles and proves the program for arguments like these; `dump` is a folder for what the compiler makes on the way."""
        return self._compile(_target(self.target), dump, args, kwargs)

    def _compile(self, target: _t.Target, dump: str, args, kwargs) -> GraphExecutable:
        traced = self._trace(target, args, kwargs)
        key = (target, id(traced.jaxpr))  # JAX keeps one per shapes, types, structure and static arguments
        found = self._made.get(key)
        if found is None or dump:
            text = _text(traced, target)
            name = getattr(self.function, "__name__", "function")
            try:
                handle, counts = _glia.compile_graph(
                    text,
                    f"<graph of {name}>",
                    target.reference,
                    dump,
                    self.lnc,
                    self.effort,
                    self.topology,
                    self.strict_sharding,
                    auto_cast=self.auto_cast,
                )
                handle.require_verified("kernel" if "@glia.nki" in text else "graph")
            except _glia.Error as e:
                raise _glia.error_of(merged(e.diagnostics)) from None
            for warning in counts["warnings"]:
                warnings.warn(warning, stacklevel=2)
            like = _jax().tree.map(_without_data, (args, kwargs))
            again = lambda reference: self._compile(_t.find_target(reference), "", *like)  # noqa: E731
            exe = GraphExecutable(Program(handle), text, counts, self, traced, target.reference, again)
            found = (traced.jaxpr, exe)
            self._made[key] = found  # with the trace, so that its identity stays its own
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return found[1]

    def debug(self, *args, script: str | None = None, **kwargs) -> int:
        """Steps through the function's sequential meaning with these arguments, operation by operation, as `glia debug` does with a
        graph (docs/debug.md). `script` is a file with commands. Returns 0, or 1 if a command of a script was wrong."""
        from .debug.graph import debug_graph

        target = _target(self.target)
        traced = self._trace(target, args, kwargs)
        wanted = _jax().tree.leaves(traced.in_avals)
        arrays = [_array(i, x, wanted[i]) for i, x in enumerate(_jax().tree.leaves(self.dynamic(args, kwargs)))]
        return debug_graph(getattr(self.function, "__name__", "function"), _text(traced, target), arrays, script)

    def _trace(self, target: _t.Target, args, kwargs):
        if _t.current() is not None or getattr(_t._state, "graph", None) is not None:
            raise _t.failure("GRAPH-NESTED", "a function of glia.jit is compiled while something else is")
        with _compiling_for(target):
            return self._for(target).trace(*args, **kwargs)

    def _for(self, target: _t.Target):
        """One for each target: JAX keeps what it lowered by function, and NKI kernels in it are lowered for one target."""
        if target not in self._jitted:
            function = self.function

            @functools.wraps(function)
            def call(*args, **kwargs):
                return function(*args, **kwargs)

            self._jitted[target] = _jax().jit(
                call,
                static_argnums=self._static[0] or None,
                static_argnames=self._static[1] or None,
                keep_unused=True,  # argument i of the function is input i of the program
                **self._options,
            )
        return self._jitted[target]


def _without_data(x):
    """What is compiled for like this argument."""
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        return x
    kept = {name: getattr(x, name, None) for name in ("sharding", "weak_type")}
    return _jax().ShapeDtypeStruct(x.shape, x.dtype, **{k: v for k, v in kept.items() if v is not None})


def _text(traced, target: _t.Target) -> str:
    jax_rules.register()
    with _compiling_for(target):
        # A platform of its own: JAX then lowers to plain operations where it has something special for the host.
        return traced.lower(lowering_platforms=("neuron",)).as_text(debug_info=True)


@contextlib.contextmanager
def _compiling_for(target: _t.Target):
    """NKI kernels that the function calls are traced for this target."""
    before = getattr(_t._state, "jit_target", None)
    _t._state.jit_target = target.reference
    try:
        yield
    finally:
        _t._state.jit_target = before


def _target(name) -> _t.Target:
    return _t.find_target(name or environment.target_name())


def _both(function, numbers, names) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Static arguments by number and by name: each may be passed either way, as in jax.jit."""
    numbers = () if numbers is None else (numbers,) if isinstance(numbers, int) else tuple(numbers)
    names = () if names is None else (names,) if isinstance(names, str) else tuple(names)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return numbers, names
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    first = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_number = [first[n] for n in numbers if -len(first) <= n < len(first)]
    more = [first.index(n) for n in names if n in plain]
    known = {n % len(first) if -len(first) <= n < len(first) else n for n in numbers} if first else set(numbers)
    return tuple(sorted({*known, *more})), tuple(dict.fromkeys([*names, *(n for n in by_number if n in plain)]))


def jit(
    function=None,
    *,
    target: str | None = None,
    lnc: int = 1,
    effort: int = 1,
    topology: str = "",
    strict_sharding: bool = False,
    auto_cast: str = "",
    static_argnums=None,
    static_argnames=None,
    donate_argnums=None,
    donate_argnames=None,
):
    """A JAX function that runs on `target` (default trn2). Arguments and results are trees of NumPy or JAX arrays.

    lnc: 2 runs it on both cores of a logical one, each of which computes half of what can be cut.
    effort: 0 makes every group of operations a kernel of its own, 1 makes one of groups beside each other where that is
    faster, 2 tries more ways to write it.
    topology: what the ranks of a sharded function lie on, for their time (`glia topologies`); without it what is usual for
    the target. strict_sharding: an operation that needs its operands whole is refused instead of gathered with a warning.
    auto_cast: bf16 or f16 rounds the operands of f32 dots and convolutions to that type, as the vendor's --auto-cast does; sums
    stay f32.
    static_argnums, static_argnames: as in jax.jit. donate_argnums, donate_argnames: likewise; a result takes the
    place of such an argument in the device's memory, and the caller's arrays stay as they are."""
    if function is None:
        return functools.partial(
            jit,
            target=target,
            lnc=lnc,
            effort=effort,
            topology=topology,
            strict_sharding=strict_sharding,
            auto_cast=auto_cast,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
        )
    if not hasattr(_glia, "compile_graph"):
        raise _t.failure("NKI-COMPILER", "this build of glia has no compiler", "Build it with GLIA_COMPILER=ON.")
    if isinstance(function, Kernel):
        raise _t.failure(
            "JIT-KERNEL",
            f"`{function.__name__}` is an NKI kernel; glia.jit takes JAX functions",
            "Call the kernel with arrays, compile functions of kernels with glia.compile, or call it in a JAX function.",
        )
    if not callable(function):
        raise _t.failure("JIT-FUNCTION", f"glia.jit takes a JAX function, not a {type(function).__name__}")
    _jax()
    if target is not None:
        _target(target)  # a wrong name is found here
    return Jitted(
        function,
        target,
        lnc,
        effort,
        topology,
        strict_sharding,
        auto_cast,
        static_argnums,
        static_argnames,
        donate_argnums,
        donate_argnames,
    )


def devices(count: int | None = None) -> list:
    """Simulated devices for meshes, `count` of them or as many as there are (GLIA_DEVICES). Asked first, before JAX looks for its
    platforms, it makes as many as are wanted."""
    jax = _jax()
    from jax._src import xla_bridge

    if count is not None and not xla_bridge.backends_are_initialized():
        os.environ.setdefault("GLIA_DEVICES", str(count))
    try:
        found = jax.devices("glia")
    except RuntimeError:  # JAX_PLATFORMS leaves it out
        raise _t.failure(
            "JIT-DEVICES",
            f"JAX does not look for the platform glia: JAX_PLATFORMS is {os.environ.get('JAX_PLATFORMS', '')!r}",
            "Leave JAX_PLATFORMS unset, or say JAX_PLATFORMS=glia or cpu,glia.",
        ) from None
    if count is not None and count > len(found):
        raise _t.failure(
            "JIT-DEVICES",
            f"{count} devices are asked for and there are {len(found)}",
            "Set GLIA_DEVICES before JAX is used, or call glia.devices first.",
        )
    return found if count is None else found[:count]
