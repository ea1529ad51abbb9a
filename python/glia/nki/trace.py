"""The kernel that is being traced. Python only records: instructions, loops and allocations go into a list, per core; what a
tensor is for its caller (an output, an input that is updated) is known only when the kernel has returned, and then the list is
played into the compiler (lower.py). There is one trace at a time in a thread.

Other modules of the front use the functions at the end of this file."""

from __future__ import annotations

import os
import sys
import threading

import numpy as np

from .. import _glia
from . import dtypes
from .naming import named_result
from .objects import MemoryRegion, NKIObject
from .source import _INTERNAL, _is_internal, user_frame, way_to

_state = threading.local()
MAX_ERRORS = 20  # more are seldom read; tracing stops there
MAX_INSTRUCTIONS = 2_000_000  # an unrolled loop with more will not end, or not fit

# Entries of Trace.ops that are not instructions begin with one of these in place of a mnemonic.
LOOP, END_LOOP, WHILE, END_WHILE, CHAIN, AFTER, ALLOC = range(7)


class Storage:
    """A tensor in HBM or an allocation on chip; NkiTensor is a view of it."""

    __slots__ = (
        "address",
        "data",
        "dtype",
        "given",
        "handle",
        "moved",
        "name",
        "nest",
        "on_chip",
        "ordinal",
        "pair",
        "place",
        "promise",
        "region",
        "role",
        "row_bytes",
        "shape",
        "trace",
    )

    def __init__(self, trace, region, name, given, dtype, shape, role, address=None, data=None):
        self.trace, self.region, self.name, self.given, self.dtype, self.shape = (
            trace,
            region,
            name,
            given,
            dtype,
            shape,
        )
        self.role = role  # "input", "constant", "scratch" or "chip"; outputs are found when the kernel has returned
        self.address, self.data = address, data
        self.on_chip = region is MemoryRegion.sbuf or region is MemoryRegion.psum
        row = 1
        for n in shape[1:] if self.on_chip else shape:
            row *= n
        self.row_bytes = row * dtype.itemsize  # of one partition, or of the whole tensor in HBM
        self.handle = -1
        self.moved = False  # a copy that a reshape across partitions made: no view of anything
        self.ordinal = 0
        self.nest = trace.nest
        self.pair = name  # shared tensors of the cores with the same one are the same
        self.place = ("", 0)
        self.promise = None  # of an input: lowest, highest, distinct (promises.py)


class Register:
    """A register of the trace. VirtualRegister is what kernels see."""

    __slots__ = ("handle", "nest", "trace")

    def __init__(self, trace, nest=()):
        self.trace, self.handle = trace, -1
        self.nest = nest  # a register that counts a loop exists in it only
        if not nest:
            trace.registers.append(self)


class NkiInstruction(NKIObject):
    """A traced instruction."""

    __slots__ = ("_index", "_nest", "_trace")

    def __init__(self, trace, index, nest):
        self._trace, self._index, self._nest = trace, index, nest

    def depends_on(self, *producers) -> NkiInstruction:
        """This instruction runs after each of `producers`."""
        for p in producers:
            if not isinstance(p, NkiInstruction):
                error("NKI-DEPENDS", f"depends_on takes what nki.isa calls return, not a {type(p).__name__}")
            elif p._trace is not self._trace:
                error("NKI-DEPENDS", "depends_on names an instruction of another kernel or core")
            elif p._index >= self._index:
                error("NKI-DEPENDS", "depends_on names an instruction that comes later, or itself")
            elif p._nest != self._nest[: len(p._nest)]:
                error(
                    "NKI-DEPENDS",
                    "depends_on goes into or out of a run-time loop",
                    "Both instructions must be in the same run-time loop, or the producer around it.",
                )
            else:
                self._trace.ops.append((AFTER, self._index, p._index))
        return self


class Trace:
    """What one core's run of the kernel recorded."""

    def __init__(self, kernel: str, target: Target, core: int, cores: int, ranks: int = 1):
        self.kernel, self.target, self.core, self.cores, self.ranks = kernel, target, core, cores, ranks
        self.rank: Storage | None = None  # the input with the number of the rank, if the kernel asks (ranks.py)
        self.code = None  # of the kernel's function
        self.callers: dict[tuple[str, int], list[str]] = {}  # of lines in other functions: how they are first come to
        self.ops: list[tuple] = []
        self.storages: list[Storage] = []
        self.registers: list[Register] = []
        self.locations: dict[tuple[str, int], int] = {}
        self.errors: list = []  # (Diagnostic, soft)
        self.turned: dict[
            int, tuple
        ] = {}  # copies to a tensor with the dimensions exchanged: entry of ops -> both shapes
        self.names: set[str] = set()
        self.given: set[str] = set()  # those that the kernel's author chose
        self.counters: dict[str, int] = {}
        self.nest: tuple[int, ...] = ()  # identities of the open run-time loops
        self.open_loops: list = []  # of loops.py
        self.loops = 0
        self.chains = 0
        self.shared = 0  # shared tensors without a name of their author's
        self.forwarded: set[Storage] = set()  # tiles that registers are no longer loaded from (forward.py)
        self.numbers: dict[int, int] = {}  # entry of ops -> the compiler's number of the instruction

    # ---- places and errors

    def location(self) -> int:
        frame = sys._getframe(1)
        internal = _INTERNAL
        while frame is not None:
            name = frame.f_code.co_filename
            inside = internal.get(name)
            if inside is None:
                inside = _is_internal(name)
            if not inside:
                break
            frame = frame.f_back
        key = ("", 0) if frame is None else (name, frame.f_lineno)
        n = self.locations.get(key)
        if n is None:
            n = self.locations[key] = len(self.locations)
            if frame is not None and self.code is not None and frame.f_code is not self.code:
                self.callers[key] = [note for note in way_to(frame, self.code) if note.startswith("called")]
        return n

    def record(self, diagnostic, soft: bool = False) -> None:
        self.errors.append((diagnostic, soft))
        if len(self.errors) >= MAX_ERRORS:
            raise _glia.error_of(self.diagnostics())

    def diagnostics(self, hard_only: bool = False) -> list:
        """The errors so far, each once."""
        seen, out = set(), []
        for d, soft in self.errors:
            key = (d.code, d.message, d.file, d.line)
            if key not in seen and not (hard_only and soft):
                seen.add(key)
                out.append(d)
        return out

    # ---- names and storage

    def fresh_name(self, stem: str) -> str:
        """A name that the kernel does not use, the same in every run and on every core that allocates alike."""
        while True:
            n = self.counters.get(stem, 0)
            self.counters[stem] = n + 1
            name = f"{stem}{n}"
            if name not in self.names:
                self.names.add(name)
                return name

    def variable_name(self, variable: str) -> str:
        """The name of a variable; with a number where there is another tensor of that name."""
        if variable in self.names:
            return self.fresh_name(variable + "_")
        self.names.add(variable)
        self.counters.setdefault(variable + "_", 1)
        return variable

    def take_name(self, name: str, stem: str, variable: str) -> str:
        if not name:
            return self.variable_name(variable) if variable else self.fresh_name(stem)
        name = str(name)
        if name in self.given:
            error("NKI-NAME", f"the name `{name}` is given twice", "Names of tensors are unique in a kernel.")
        self.given.add(name)
        if name in self.names:
            return self.fresh_name(name + "_")
        self.names.add(name)
        return name

    def storage(self, region, name, dtype, shape, role, address=None, data=None) -> Storage:
        stem = "const" if role == "constant" else "hbm" if region is MemoryRegion.shared_hbm else region.value
        frame = user_frame(2)
        variable, frame = ("", None) if frame is None else named_result(frame, self.code)
        if role == "constant":
            variable = ""
        s = Storage(self, region, self.take_name(name, stem, variable), bool(name), dtype, shape, role, address, data)
        if frame is not None:
            s.place = (frame.f_code.co_filename, frame.f_lineno)
        if region is MemoryRegion.shared_hbm and not name:
            self.shared += 1
            s.pair = self.shared
        self.storages.append(s)
        if s.on_chip:  # its place matters: in a run-time loop it is a new one in each iteration
            self.ops.append((ALLOC, s))
        if len(self.storages) > MAX_INSTRUCTIONS:
            raise endless()
        return s


class Target:
    """The properties of the generation that the kernel is for, by name: `target.value("limit.moving_free_fp32")`."""

    def __init__(self, reference: str):
        data = _glia.target(reference)
        self.reference = reference  # what the compiler is told: a file may call itself like a built-in target
        self.name, self.title = data["name"], data["title"]
        self.values = {k: v["value"] for k, v in data["values"].items()}

    def __str__(self) -> str:
        return self.title

    def value(self, key: str):
        return self.values[key]

    def has(self, feature: str) -> bool:
        """Whether the generation has a feature of the section [feature]."""
        return bool(self.values.get("feature." + feature, False))


_BUILT_IN = frozenset(_glia.builtin_targets())
_targets: dict[tuple, Target] = {}


def target_reference(name) -> str:
    """A built-in name, or the whole path of a target file, and what is changed of it ("trn2,clock.vector=2x"): the same wherever
    the process goes."""
    if not isinstance(name, (str, os.PathLike)):
        raise failure("NKI-TARGET", f"a target is a name or the path of a target file, not a {type(name).__name__}")
    name = os.fspath(name)
    base = _file_of(name)
    return name if base is None else os.path.abspath(base) + name[len(base) :]


def _file_of(reference: str) -> str | None:
    """The file that a target is read from."""
    for base in (reference, reference.partition("=")[0].partition(",")[0]):
        if base not in _BUILT_IN and os.path.exists(base):
            return base
    return None


def is_target(asked, reference: str) -> bool:
    """Whether a kernel for the target `asked` may be compiled for this one: the same, or a changed one."""
    asked = target_reference(asked)
    return reference == asked or reference.startswith(asked + ",")


def find_target(name) -> Target:
    """One object per target, and per state of a target file."""
    reference = target_reference(name)
    key: tuple = (reference,)
    if file := _file_of(reference):
        state = os.stat(file)
        key = (reference, state.st_mtime_ns, state.st_size, state.st_ino)
    t = _targets.get(key)
    if t is None:
        t = _targets[key] = Target(reference)
    return t


# ---- what the other modules of the front use


def current() -> Trace | None:
    """The trace being made in this thread, or None."""
    return getattr(_state, "trace", None)


def required(what: str = "this") -> Trace:
    """The trace being made; an error outside of a kernel."""
    t = getattr(_state, "trace", None)
    if t is None:
        raise failure("NKI-OUTSIDE", f"{what} is used outside of a kernel", "Call it in a function with @nki.jit.")
    return t


def target() -> Target:
    """The generation that is traced for; outside of a kernel the default one."""
    t = getattr(_state, "trace", None)
    if t is not None:
        return t.target
    from .environment import target_name

    return find_target(target_name())


def emit(mnemonic: str, slots: tuple, engine: int = -1, name: str | None = None) -> NkiInstruction:
    """Records an instruction. `slots` are those of `glia isa`, in order; tensors and registers as their `.operand()`."""
    t = getattr(_state, "trace", None)
    if t is None:
        t = required(mnemonic)
    ops = t.ops
    n = len(ops)
    ops.append((mnemonic, slots, engine, t.location(), name or ""))
    if n >= MAX_INSTRUCTIONS:
        raise endless()
    return NkiInstruction.of(t, n, t.nest)


def _instruction_of(trace, index, nest, _new=object.__new__, _cls=NkiInstruction):
    self = _new(_cls)
    self._trace, self._index, self._nest = trace, index, nest
    return self


NkiInstruction.of = staticmethod(_instruction_of)


def diagnostic(code: str, message: str, advice: str = "", value="", limit="", place=None):
    """A diagnostic at the user's line."""
    frame = None if place else user_frame(2)
    file, line = place or (("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno))
    t = current()
    context = f"kernel {t.kernel}" if t is not None else ""
    notes = way_to(frame, t.code) if frame is not None and t is not None and t.code is not None else []
    value, limit = str(value), str(limit)
    if value:
        message += f" (found {value}; allowed {limit})" if limit else f" (found {value})"
    return _glia.Diagnostic(code, message, advice, file, line, context, value, limit, notes)


def error(code: str, message: str, advice: str = "", value="", limit="", place=None, soft: bool = False) -> None:
    """Something is wrong at the user's line. In a kernel it is recorded and tracing goes on; otherwise it is raised."""
    record(diagnostic(code, message, advice, value, limit, place), soft)


def record(d, soft: bool = False) -> None:
    """The same with a diagnostic that was made before."""
    t = current()
    if t is None:
        raise _glia.error_of([d])
    t.record(d, soft)


def failure(code: str, message: str, advice: str = "", value="", limit="", place=None):
    """The same as an exception to raise, where tracing cannot go on. What was recorded before is added by the caller."""
    return _glia.error_of([diagnostic(code, message, advice, value, limit, place)])


def endless():
    return failure(
        "NKI-ENDLESS",
        f"the kernel has more than {MAX_INSTRUCTIONS} instructions: a Python loop does not end, or is unrolled too far",
        "Python loops are unrolled. Use nl.fori_loop or nl.dynamic_range for a loop that the device runs.",
    )


def register():
    """A new register."""
    from .registers import VirtualRegister

    return VirtualRegister.plain(Register(required("a register")))


def ndarray(shape, dtype, buffer=MemoryRegion.sbuf, name: str = "", address=None):
    """New, undefined storage. `address` is (partition, byte in the partition)."""
    from .tensor import allocate

    return allocate(required("nl.ndarray"), shape, dtype, buffer, name, address)


def constant(array: np.ndarray, name: str = ""):
    """A tensor in HBM with contents known now."""
    from .tensor import whole

    t = required("a constant")
    array = np.ascontiguousarray(array)
    try:
        dtype = dtypes.of(array.dtype)
    except TypeError as e:
        raise failure("NKI-DTYPE", str(e), "Convert the array first.") from None
    shape = tuple(map(int, array.shape)) or (1,)
    return whole(t.storage(MemoryRegion.shared_hbm, name, dtype, shape, "constant", data=array.tobytes()))
