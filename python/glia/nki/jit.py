"""nki.jit and its relatives. A call traces the kernel, once per core, lowers, checks, compiles, links, verifies and runs it: every
number that the caller sees comes out of the program. What was compiled is kept by the fingerprint of the traced kernel, what was traced
by what it reads (kept.py)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import inspect
import linecache
import types
from typing import Any, NamedTuple

from .. import _glia
from ..notebook import titled
from . import environment, kept
from . import trace as _t
from .arguments import Arrays, bind, rebuild, returned_tensors
from .loops import close_all
from .lower import Lowered, lower
from .missing import MissingName
from .purity import Watch
from .raised import argument_error, endless_recursion, innermost
from .ranks import RankAxis
from .source import user_place
from .suspect import warnings_of
from .watch import Watcher

_IGNORED = {"mode", "debug_kernel", "show_compiler_tb", "experimental_flags", "platform_target", "kernel_return"}
_IGNORED |= {"enable_out_of_bound_check", "grid", "version"}


@dataclasses.dataclass(frozen=True)
class Traced:
    """A kernel traced for some arguments."""

    name: str
    target: _t.Target
    lowered: Lowered
    arrays: Arrays
    structure: Any  # what the function returned
    cores: int = 1
    traces: tuple = ()  # the record of each core
    warnings: Any = None  # makes those about the kernel itself
    ranks: int = 1

    @property
    def kernel(self):
        return self.lowered.kernel

    @property
    def tensors(self) -> list:
        """The tensors that the function returned, in order."""
        out: list = []
        _collect(self.structure, out)
        return out

    def rebuild(self, results: list):
        """What the function returned, with `results` for its tensors."""
        return rebuild(self.structure, list(results))

    def place_of(self, moment: tuple) -> tuple[tuple[str, int], str]:
        """File and line of an instruction that the compiler names by its number, and what is written there."""
        number, core = moment[:2]
        t = self.traces[core]
        entry = next(n for n, known in t.numbers.items() if known == number)
        place = list(t.locations)[t.ops[entry][3]]
        return place, linecache.getline(*place).strip()

    def called_from(self, d):
        """The diagnostic; at a line of another function than the kernel, with how the kernel came there."""
        ways = [t.callers[d.file, d.line] for t in self.traces if (d.file, d.line) in t.callers]
        if not ways:
            return d
        notes = [*d.notes, *ways[0]]
        return _glia.Diagnostic(d.code, d.message, d.advice, d.file, d.line, d.context, d.value, d.limit, notes)

    def storage_of(self, handle: int) -> _t.Storage:
        """The tensor or tile that the compiler knows by this number."""
        return next(s for t in self.traces for s in t.storages if s.handle == handle)


class _Call(NamedTuple):
    """What a kernel is traced for."""

    bound: inspect.BoundArguments
    arrays: Arrays
    target: _t.Target
    order: str
    place: tuple[str, int]  # of the caller


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What @nki.jit makes. `kernel[n]` runs on n cores of a rank, `nki.simulate(kernel, ranks=n)` on n ranks."""

    func: Any
    lnc: int = 1
    schedule: tuple = ()
    address_rotation: bool = False
    target: str | None = None
    order: str | None = None  # of instructions: see environment.SCHEDULES
    ranks: int | None = None  # None: one, whose arrays have no axis for ranks
    apart: bool = False  # each array is what one rank has, whatever the number of ranks: in glia.compile

    def __post_init__(self):
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(self.func, name):
                object.__setattr__(self, name, getattr(self.func, name))
        object.__setattr__(self, "__wrapped__", self.func)  # inspect.signature(kernel) is that of the function

    def __repr__(self) -> str:
        cores = f", {self.lnc} cores" if self.lnc > 1 else ""
        return f"<kernel {self.__name__}{inspect.signature(self.func)}{cores} for {self.target or environment.target_name()}>"

    def _repr_html_(self) -> str:
        file, line = _first_line(self.func)
        rows = [
            ("target", self.target or environment.target_name()),
            ("cores", str(self.lnc)),
            ("at", f"{file}:{line}"),
        ]
        return titled(f"{self.__name__}{inspect.signature(self.func)}", rows, inspect.getdoc(self.func))

    def __getitem__(self, cores) -> Kernel:
        if isinstance(cores, tuple) and len(cores) == 1:
            cores = cores[0]
        if isinstance(cores, bool) or not hasattr(cores, "__index__") or cores.__index__() < 1:
            raise _t.failure("NKI-CORES", f"kernel[n] takes a number of cores, not {cores!r}")
        return dataclasses.replace(self, lnc=cores.__index__())

    def with_schedule(self, edges) -> Kernel:
        """The kernel with extra order: (consumer, producer or list of producers), by the names of instructions."""
        frozen = tuple((c, p if isinstance(p, str) else tuple(p)) for c, p in edges)
        for c, p in frozen:
            for name in (c, *((p,) if isinstance(p, str) else p)):
                if not isinstance(name, str):
                    raise _t.failure("NKI-SCHEDULE", f"with_schedule takes names of instructions, not {name!r}")
        return dataclasses.replace(self, schedule=frozen)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        t = _t.current()
        if t is not None:  # in another kernel: an ordinary call
            if self.target is not None and not _t.is_target(self.target, t.target.reference):
                _t.error(
                    "NKI-TARGET",
                    f"`{self.__name__}`, a kernel for {self.target}, is called in a kernel for {t.target}",
                    "A kernel has one target; leave it out of the inner one.",
                )
            if self.ranks is not None and self.ranks != t.ranks:
                _t.error(
                    "NKI-RANKS",
                    f"`{self.__name__}`, a kernel for {self.ranks} ranks, is called in a kernel for {t.ranks}",
                    "A kernel has one number of ranks; leave it out of the inner one.",
                )
            return self.func(*args, **kwargs)
        graph = getattr(_t._state, "graph", None)
        if graph is not None:  # in a function that glia.compile looks at
            return graph.call(self, args, kwargs)
        from .runtime import call

        return call(self, args, kwargs)

    def on(self, target: str) -> Kernel:
        """The kernel for one target."""
        return self if self.target == target else dataclasses.replace(self, target=target)

    # ---- tracing

    def trace(self, *args, **kwargs) -> Traced:
        """Traces the kernel for these arguments. Raises one Error with everything that is wrong."""
        call = self._call(args, kwargs)
        options = (self.lnc, self.schedule, self.address_rotation, self.ranks, self.apart, call.target, call.order)

        def read():
            return kept.key_of(self.func, call.bound.arguments, call.arrays.arrays, options)

        key = read()
        found = None if key is None else kept.find(key)
        if found is not None:
            return dataclasses.replace(found, arrays=call.arrays)
        with _no_collection():
            traced = self._trace(call)
        if key is not None and read() == key:  # tracing it has changed nothing that it reads
            kept.keep(key, dataclasses.replace(traced, arrays=None))  # not the caller's numbers
        return traced

    def trace_watched(self, names: set[str] | None, args, kwargs) -> tuple[Traced, list]:
        """The same, looking at what variables of these names (None: all) are bound to; with the Watcher of each core."""
        watchers: list = []

        def look(t):
            watchers.append(Watcher(t, names))
            return watchers[-1]

        with _no_collection():
            return self._trace(self._call(args, kwargs), look), watchers

    def _call(self, args, kwargs) -> _Call:
        environment.say_what_has_no_meaning()
        place = user_place()
        target = _t.find_target(self.target or environment.target_name())
        limit = int(target.value("core.max_cores"))
        if self.lnc > limit:
            raise _t.failure(
                "NKI-CORES",
                f"the kernel `{self.__name__}` is launched on {self.lnc} cores of {target}",
                "Launch it on fewer cores, or compile it for a target that has them.",
                value=self.lnc,
                limit=limit,
            )
        bound = bind(self.func, args, kwargs)
        arrays = Arrays(bound, RankAxis(None if self.apart else self.ranks))
        return _Call(bound, arrays, target, self.order or environment.schedule(), place)

    def _trace(self, call: _Call, look=lambda t: contextlib.nullcontext()) -> Traced:
        bound, arrays, target, order, place = call
        ranks = RankAxis(self.ranks).ranks
        watch = Watch(self.func, bound.arguments)
        traces, returned, structure = [], [], None
        for core in range(self.lnc):
            t = _t.Trace(self.func.__name__, target, core, self.lnc, ranks)
            if traces:
                t.errors = traces[0].errors  # one list for the kernel
            value = self._run(t, bound, arrays, place, watch, look)
            traces.append(t)
            returned.append(value[1])
            structure = structure if core else value[0]
        if len({len(r) for r in returned}) > 1:
            with _tracing(traces[-1]):
                _t.error(
                    "NKI-RETURN",
                    f"the cores of `{self.func.__name__}` return different numbers of tensors",
                    place=place,
                )
        lowered = None
        if not traces[-1].errors:
            with _tracing(traces[-1]):
                lowered = lower(traces, returned, self.schedule, order)
        if lowered is None:
            raise _glia.error_of(traces[-1].diagnostics())
        warnings = functools.partial(warnings_of, traces, lowered.tensors, self.func.__name__, _first_line(self.func))
        return Traced(self.func.__name__, target, lowered, arrays, structure, self.lnc, tuple(traces), warnings, ranks)

    def _run(self, t: _t.Trace, bound, arrays: Arrays, place, watch: Watch, look):
        """Runs the function as Python; returns what it returned, and the tensors in it."""
        at = _first_line(self.func)
        t.code = self.func.__code__
        with _tracing(t):
            tensors = arrays.declare(t, at)
            taken = [0]
            replaced = {name: arrays.replace(x, tensors, taken) for name, x in bound.arguments.items()}
            new = type(bound)(bound.signature, replaced)
            try:
                with look(t):
                    value = self.func(*new.args, **new.kwargs)
            except _glia.Error as e:
                raise _glia.error_of([*t.diagnostics(hard_only=True), *_new(e.diagnostics, t)]) from e
            except TypeError as e:
                argument = argument_error(e)
                if argument is None and not t.diagnostics(hard_only=True):
                    raise
                raise _glia.error_of([*t.diagnostics(hard_only=True), *([argument] if argument else [])]) from e
            except RecursionError as e:
                raise _glia.error_of([*t.diagnostics(hard_only=True), endless_recursion(e, at)]) from None
            except MissingName as e:
                unknown = _t.diagnostic("NKI-UNKNOWN", e.text, e.advice, place=innermost(e, at))
                raise _glia.error_of([*t.diagnostics(hard_only=True), unknown]) from None
            except Exception as e:
                known = t.diagnostics(hard_only=True)
                if not known:
                    raise
                raise _glia.error_of(known) from e
            close_all(t)
            watch.check()
            result = returned_tensors(value, self.func.__name__, at)
        return value, result


def _first_line(function) -> tuple[str, int]:
    return (function.__code__.co_filename, function.__code__.co_firstlineno)


def _new(diagnostics, t: _t.Trace) -> list:
    known = {(d.code, d.message, d.file, d.line) for d in t.diagnostics()}
    return [d for d in diagnostics if (d.code, d.message, d.file, d.line) not in known]


@contextlib.contextmanager
def _no_collection():
    """A record is many small tuples that all stay: looking for cycles among them is half the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _tracing:
    """The block in which a trace is the current one."""

    def __init__(self, t: _t.Trace):
        self.t = t

    def __enter__(self):
        self.before = _t.current()
        _t._state.trace = self.t

    def __exit__(self, *_):
        _t._state.trace = self.before
        return False


def check_schedule(order) -> None:
    """Raises an error unless it is a schedule."""
    if order not in environment.SCHEDULES:
        raise _t.failure(
            "KERNEL-SCHEDULE",
            f"there is no schedule {order!r}",
            f"Say one of {', '.join(environment.SCHEDULES)}; a kernel that says nothing gets the first.",
        )


def jit(fn=None, **kwargs):
    """Makes a kernel of a function. `schedule`: "best" (what is fastest) or "as_written" (every engine keeps the author's order, and
    every instruction is what was written). Keywords of older versions are accepted and have no effect."""
    unknown = set(kwargs) - _IGNORED - {"target", "schedule"}
    if unknown:
        raise _t.failure("NKI-ARGUMENT", f"nki.jit has no keyword `{sorted(unknown)[0]}`")
    order = kwargs.get("schedule")
    if order is not None:
        check_schedule(order)

    def wrap(f):
        if isinstance(f, Kernel):
            return f if order is None else dataclasses.replace(f, order=order)
        if not callable(f) or not hasattr(f, "__name__"):
            advice = "Write a function that calls it." if callable(f) else ""
            raise _t.failure("NKI-ARGUMENT", f"nki.jit takes a function, not a {type(f).__name__}", advice)
        return Kernel(f, target=kwargs.get("target"), order=order)

    return wrap if fn is None else wrap(fn)


def simulate(kernel, ranks: int | None = None) -> Kernel:
    """The kernel to be called with arrays; there is one way to run one, so this is the kernel itself. With `ranks`, so many ranks run
    it: every array that is given or returned has one more axis, in front, with a part for each rank."""
    return dataclasses.replace(jit(kernel), ranks=None if ranks is None else RankAxis(ranks).count)


def simulate_kernel(kernel, *args, **kwargs):
    """Runs a kernel. The newer form is (kernel, args, kwargs, _lnc=n), the older one (kernel, *args)."""
    lnc = kwargs.pop("_lnc", None)
    if args and isinstance(args[0], tuple) and len(args) <= 3 and all(isinstance(a, dict) for a in args[1:2]):
        if len(args) == 3:
            lnc = args[2]
        args, kwargs = args[0], {**(args[1] if len(args) > 1 else {}), **kwargs}
    k = jit(kernel)
    return (k if lnc is None else k[lnc])(*args, **kwargs)


def _collect(value, out: list) -> None:
    from .tensor import NkiTensor

    if isinstance(value, NkiTensor):
        out.append(value)
    elif isinstance(value, (tuple, list)):
        for x in value:
            _collect(x, out)
    elif isinstance(value, dict):
        for x in value.values():
            _collect(x, out)
