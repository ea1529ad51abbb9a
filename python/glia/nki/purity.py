"""A kernel must not change Python objects that outlive its call: it is traced once per call and the device runs it elsewhere.
What it can reach (its globals and those of functions it calls, its closure, its arguments) is looked at before and after."""

from __future__ import annotations

import dis
import enum
import types

import numpy as np

from . import trace as _t
from .objects import NKIObject

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type, types.ModuleType, types.FunctionType, enum.Enum)
_DEPTH = 4  # containers in containers
_LENGTH = 4096  # larger ones are looked at by their length


def _summary(x, depth: int = _DEPTH):
    """Something equal for an unchanged object."""
    if isinstance(x, type) and depth == _DEPTH and not issubclass(x, enum.Enum):
        return (id(x), *[(k, _summary(v, 1)) for k, v in _attributes(x).items()])
    if isinstance(x, _PLAIN):
        return x if isinstance(x, (int, float, str, bytes)) else id(x)
    if isinstance(x, np.ndarray):
        return (x.shape, x.tobytes() if x.nbytes <= 65536 else id(x))
    if depth == 0:
        return id(x)
    if isinstance(x, (list, tuple, set, frozenset)):
        if len(x) > _LENGTH:
            return (id(x), len(x))
        return (id(x), *[_summary(y, depth - 1) for y in x])
    if isinstance(x, dict):
        if len(x) > _LENGTH:
            return (id(x), len(x))
        return (id(x), *[(_summary(k, 1), _summary(v, depth - 1)) for k, v in x.items()])
    if isinstance(x, bytearray):
        return bytes(x)
    if isinstance(x, NKIObject) and hasattr(x, "__dict__"):
        return (id(x), *[(k, _summary(v, depth - 1)) for k, v in vars(x).items()])
    return id(x)


def _attributes(cls: type):
    """The data of a class; methods and the like do not change by accident."""
    return {
        k: v for k, v in vars(cls).items() if not k.startswith("__") and not callable(v) and not hasattr(v, "__get__")
    }


def _mutable(x) -> bool:
    if isinstance(x, type):
        return not issubclass(x, enum.Enum) and bool(_attributes(x))
    return isinstance(x, (list, dict, set, bytearray, np.ndarray)) or (
        isinstance(x, NKIObject) and hasattr(x, "__dict__")
    )


_plans: dict[types.CodeType, tuple[frozenset, frozenset]] = {}


def _names(code: types.CodeType) -> tuple[frozenset, frozenset]:
    """Names of globals that `code` loads, and those that it rebinds; functions inside of it included."""
    plan = _plans.get(code)
    if plan is None:
        loads, stores = set(), set()
        for i in dis.get_instructions(code):
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                loads.add(i.argval)
            elif i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                stores.add(i.argval)
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                inner = _names(c)
                loads |= inner[0]
                stores |= inner[1]
        plan = _plans[code] = (frozenset(loads), frozenset(stores))
    return plan


def _functions(function, limit: int = 200) -> list:
    """`function` and the functions of its module that it can call."""
    found, queue = {}, [function]
    while queue and len(found) < limit:
        f = queue.pop()
        code = getattr(f, "__code__", None)
        if code is None or code in found:
            continue
        found[code] = f
        for name in _names(code)[0]:
            g = f.__globals__.get(name)
            g = g if isinstance(g, types.ModuleType) else getattr(g, "func", g)  # a module would look for similar names
            if isinstance(g, types.FunctionType) and g.__module__ == function.__module__:
                queue.append(g)
    return list(found.values())


class Watch:
    """What a kernel can reach, before it is traced."""

    def __init__(self, function, arguments: dict):
        self.seen: list[tuple] = []  # what it is called, how to get it, its summary, the function, the name in its code
        for f in _functions(function):
            loads, stores = _names(f.__code__)
            for name in sorted(loads | stores):
                space = f.__globals__
                if name not in space:
                    if name in stores:
                        self._add(f"the global `{name}`", lambda s=space, n=name: s.get(n), f, name)
                elif name in stores or _mutable(space[name]):
                    self._add(f"the global `{name}`", lambda s=space, n=name: s.get(n), f, name)
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
                self._add(f"`{name}` of an enclosing function", lambda c=cell: _contents(c), f, name)
            for name, value in _defaults(f):
                self._add(f"the default of `{name}`", lambda v=value: v, f, name)
        for name, value in arguments.items():
            if _mutable(value) and not isinstance(value, np.ndarray):
                self._add(f"the argument `{name}`", lambda v=value: v, function, name)

    def _add(self, what, get, function, name) -> None:
        self.seen.append((what, get, _summary(get()), function, name))

    def check(self) -> None:
        for what, get, before, function, name in self.seen:
            if _summary(get()) != before:
                _t.error(
                    "NKI-PURITY",
                    f"the kernel changes {what}, which outlives the call",
                    "Return what the kernel computes. Keep Python state in objects that are made in the kernel.",
                    place=_place(function, name),
                )


def _defaults(f):
    """(name, value) of the mutable defaults of a function's parameters: they are made once, not per call."""
    code, defaults = f.__code__, f.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    for name, value in (*zip(names, defaults), *(f.__kwdefaults__ or {}).items()):
        if _mutable(value):
            yield name, value


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _place(function, name: str) -> tuple[str, int]:
    """The last line of `function` that names `name`; one that rebinds it is preferred."""
    code, line, best = function.__code__, function.__code__.co_firstlineno, None
    stack = [code]
    while stack:
        c = stack.pop()
        stack += [k for k in c.co_consts if isinstance(k, types.CodeType)]
        at = c.co_firstlineno
        for i in dis.get_instructions(c):
            at = i.starts_line if type(i.starts_line) is int else getattr(i, "line_number", None) or at
            if i.argval == name:
                if i.opname.startswith("STORE"):
                    best = at
                elif i.opname.startswith("LOAD"):
                    line = max(line, at)
    return (code.co_filename, best or line)
