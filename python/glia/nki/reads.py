"""What a kernel can read when it is traced, as a value to compare: two equal ones mean that tracing gives the same record. Found in the
code of the kernel and of the functions it calls. A kernel of which that is not known for sure (it imports, prints, asks an object of a
class that is not glia's) has none, and is traced at every call."""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import itertools
import math
import types

import numpy as np

from .dtypes import DType
from .frameworks import kind_of
from .ops import Op

_OURS = "glia.nki"
_DEPTH = 8  # containers in containers
_LENGTH = 4096  # elements of a container, bytes of an array in one
_BUILTINS = (
    "abs all any bool complex dict divmod enumerate filter float frozenset int isinstance iter len list map max min next pow range "
    "reversed round set slice sorted str sum tuple zip"
)
# What gives the same for the same arguments and changes nothing; every class of exceptions is too.
_PURE = {getattr(builtins, name) for name in _BUILTINS.split()}
_PURE |= {x for x in vars(builtins).values() if isinstance(x, type) and issubclass(x, BaseException)}
_PURE |= {x for x in vars(math).values() if isinstance(x, types.BuiltinFunctionType)}
_PURE |= {x for x in vars(itertools).values() if isinstance(x, type)} | {functools.reduce}
_PLAIN = (int, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
# Of code that reaches outside of what is looked at: names that are no global's, and attributes that lead to a frame or a module.
_OUTSIDE = {"IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR", "LOAD_BUILD_CLASS", "LOAD_NAME", "LOAD_LOCALS"}
_OUTSIDE |= {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "LOAD_FROM_DICT_OR_GLOBALS"}
_FRAMES = ("__", "gi_", "ag_", "cr_", "tb_", "f_", "func_", "format")  # and a text that names attributes
_NUMPY = ("numpy", "ml_dtypes")
_OF_MEMBERS = {"_value_", "_name_", "__objclass__", "_sort_order_", "_hashable_values_"}
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


class Unknown(Exception):
    """What it is, or may become, cannot be told."""


class _Same:
    """An object that stands for itself; it lives as long as what it is compared for."""

    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

    def __eq__(self, other) -> bool:
        return isinstance(other, _Same) and self.x is other.x

    def __hash__(self) -> int:
        return id(self.x)


_plans: dict[types.CodeType, tuple] = {}


def _names(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The globals that `code` and the functions inside of it load, each with the attributes that are asked of it at once."""
    plan = _plans.get(code)
    if plan is None:
        found: dict = {}
        name, attributes = None, ()
        for i in dis.get_instructions(code):
            attribute = i.opname in _ATTRIBUTE
            if i.opname in _OUTSIDE or (attribute and i.argval.startswith(_FRAMES)):
                plan = (None,)
                break
            if name is not None and attribute:
                attributes = (*attributes, i.argval)
                continue
            if name is not None:
                found[name, attributes] = None
            name, attributes = (i.argval, ()) if i.opname == "LOAD_GLOBAL" else (None, ())
        else:
            inner = [_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
            plan = (None,) if (None,) in inner else tuple(dict.fromkeys([*found, *(n for p in inner for n in p)]))
        _plans[code] = plan
    return plan


class _Reader:
    def __init__(self, arrays):
        self.arrays = iter(arrays)  # among the arguments, in their order
        self.functions: dict = {}  # those that were met, in order
        self.met: dict = {}  # containers and arrays that can change, by id: whether two are one is a part of what is read
        self.queue: list = []

    def all(self, function) -> tuple:
        """What `function` and every function that it can call reads."""
        self.function(function)
        out = []
        while self.queue:
            f = self.queue.pop()
            names = _names(f.__code__)
            if None in names or vars(f) or type(f.__globals__) is not dict:
                raise Unknown
            out.append((_Same(f), _Same(f.__code__), f.__name__))
            out += [self.name(f, *n) for n in names]
            out += [self.value(_contents(cell)) for cell in f.__closure__ or ()]
            out += [self.value(x) for x in (f.__defaults__, f.__kwdefaults__)]
        return tuple(out)

    def function(self, f) -> _Same:
        if type(f) is not types.FunctionType:  # a method: its object is read, too
            raise Unknown
        if f not in self.functions:
            self.functions[f] = None
            self.queue.append(f)
        return _Same(f)

    def name(self, f, name: str, attributes: tuple[str, ...]):
        """What a global is bound to; of a module, what its attribute is."""
        x = f.__globals__.get(name, _Missing)
        if x is _Missing:
            space = f.__globals__.get("__builtins__", builtins)
            x = (space if isinstance(space, dict) else vars(space)).get(name, _Missing)
        ours = False
        for attribute in attributes:
            if not isinstance(x, types.ModuleType):
                break
            if type(x) is not types.ModuleType:  # it may answer as it likes
                raise Unknown
            ours = _is_ours(x.__name__)
            x = vars(x).get(attribute, _Missing)  # not what a module makes when it is asked
        if ours and _is_ours(type(x).__module__):
            return _Same(x)  # as nl.tile_size, which goes by the target
        if x is _Missing:
            raise Unknown
        return self.value(x)

    def value(self, x, depth: int = _DEPTH):
        kind = type(x)
        if kind in _PLAIN:
            return (kind, x)
        if kind in (float, complex):
            return (kind, repr(x))  # zeros have signs
        if kind in (tuple, list, set, frozenset, dict):
            return self.container(kind, x, depth)
        if kind is types.FunctionType:
            return _Same(x) if _is_ours(x.__globals__.get("__name__")) else self.function(x)
        if kind in (DType, Op) or (kind is types.ModuleType and _is_ours(x.__name__)):
            return _Same(x)
        if isinstance(x, np.ndarray):
            if kind is not np.ndarray or x.dtype.hasobject or x.nbytes > _LENGTH or x.base is not None:
                raise Unknown
            return (kind, self.number(x), x.shape, x.strides, x.dtype, x.tobytes())
        if isinstance(x, np.generic) and kind.__module__ in _NUMPY:
            return (kind, x.tobytes())
        if isinstance(x, np.dtype):
            return (kind, x)
        if isinstance(x, np.ufunc) and getattr(np, x.__name__, None) is x:
            return _Same(x)
        if isinstance(x, type) and issubclass(x, np.generic) and x.__module__ in _NUMPY:
            return _Same(x)
        if isinstance(x, enum.Enum):
            return (_Same(x), self.enumeration(kind, depth))
        if isinstance(x, type) and issubclass(x, enum.Enum):
            return self.enumeration(x, depth)
        if isinstance(x, type) and _is_ours(x.__module__):
            return _Same(x)
        if kind is _kernel():
            return (_Same(x), self.function(x.func))
        if isinstance(x, (type, types.BuiltinFunctionType)) and x in _PURE:
            return _Same(x)
        raise Unknown

    def container(self, kind: type, x, depth: int) -> tuple:
        if depth == 0 or len(x) > _LENGTH:
            raise Unknown
        parts = x.items() if kind is dict else x
        return (kind, self.number(x), *[self.value(tuple(y) if kind is dict else y, depth - 1) for y in parts])

    def number(self, x) -> int | None:
        """Which one of those that can change it is."""
        return None if type(x) in (tuple, frozenset) else self.met.setdefault(id(x), len(self.met))

    def enumeration(self, cls: type, depth: int) -> tuple:
        """A class of names for values, without code of its own."""
        if _is_ours(cls.__module__):
            return (_Same(cls),)
        if type(cls) is not enum.EnumMeta:
            raise Unknown
        for base in cls.__mro__:
            if base.__module__ == "builtins" and base not in (object, int, str, float):
                raise Unknown  # members that can change
            if base.__module__ not in ("enum", "builtins") and any(_is_more(cls, *item) for item in vars(base).items()):
                raise Unknown
        if any(vars(m).keys() - _OF_MEMBERS for m in cls):
            raise Unknown
        members = [(name, _Same(m), self.value(m._value_, depth - 1)) for name, m in cls.__members__.items()]
        return (_Same(cls), *members)

    def argument(self, x, depth: int = _DEPTH):
        """An argument: of arrays the shape and the type, of anything else what it is."""
        if kind_of(x) is not None:
            array = next(self.arrays)
            return ("array", tuple(array.shape), array.dtype)
        if isinstance(x, np.generic):
            return self.value(x.item())
        if type(x) in (tuple, list, dict):
            if depth == 0 or len(x) > _LENGTH:
                raise Unknown
            parts = (
                ((self.value(k, 1), self.argument(y, depth - 1)) for k, y in x.items())
                if type(x) is dict
                else (self.argument(y, depth - 1) for y in x)
            )
            return (type(x), self.number(x), *parts)
        return self.value(x)


_Missing = object()


def _is_ours(module) -> bool:
    return module == _OURS or (isinstance(module, str) and module.startswith(_OURS + "."))


def _is_more(cls, name: str, x) -> bool:
    """Whether this, in a class of names, is none of them: code, or a value beside them."""
    if name.startswith("_") and name.endswith("_"):
        x = getattr(x, "__func__", x)
        return isinstance(x, (property, types.FunctionType)) and x.__module__ != "enum"
    return name not in cls.__members__


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return _Missing


@functools.cache
def _kernel() -> type:
    from .jit import Kernel

    return Kernel


def reads(function, arguments: dict, arrays):
    """What `function`, called with these arguments and the arrays among them, reads; None if that is not known."""
    reader = _Reader(arrays)
    try:
        given = tuple((name, reader.argument(x)) for name, x in arguments.items())
        return (given, reader.all(function)) if next(reader.arrays, None) is None else None
    except Unknown:
        return None
