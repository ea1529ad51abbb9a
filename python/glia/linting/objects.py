"""What an attribute of an object is that a file makes of a class of its own: a method, a field that its constructor was given, or one that
`__init__` sets. `TOOLS.load(x)` in a kernel uses the function in `TOOLS = Tools(load=plain)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .names import DEFINITIONS, Definition, Scope
from .source import Source

_MOST = 20  # names that stand for one another, classes that are made of one another
_INIT = "__init__"


class Part(NamedTuple):
    """A method, or an expression and where its names are looked for."""

    source: Source
    scope: Scope
    what: Definition | ast.expr
    name: str


class _Class(NamedTuple):
    source: Source
    scope: Scope  # that it is defined in
    node: ast.ClassDef

    def found(self, name: str) -> tuple[_Class, ast.stmt] | None:
        """The definition or assignment of a name in the body, or in that of a base, and whose it is."""
        for c in self.with_bases():
            for part in c.node.body:
                if _name_of(part) == name:
                    return c, part
        return None

    def with_bases(self, depth: int = 0) -> Iterator[_Class]:
        yield self
        for base in self.node.bases if depth < _MOST else ():
            found = self.source.find(self.scope, base)
            if found is not None and isinstance(found[2], ast.ClassDef):
                yield from _Class(*found).with_bases(depth + 1)

    def fields(self) -> list[str]:
        """Of a dataclass or a named tuple, those of its bases first."""
        every = [c.node.body for c in reversed([*self.with_bases()])]
        return list(dict.fromkeys(x.target.id for body in every for x in body if _is_field(x)))


class _Object(NamedTuple):
    of: _Class
    source: Source  # that it is made in
    scope: Scope
    call: ast.Call

    def part(self, name: str) -> Iterator[Part]:
        """What `object.name` is."""
        found = self.of.found(name)
        if found is not None and isinstance(found[1], DEFINITIONS):
            c, method = found
            yield Part(c.source, c.scope, method, f"{self.of.node.name}.{name}")
            return
        init = self.of.found(_INIT)
        if init is None:
            yield from self._given(self.of.fields(), name)
        else:
            yield from self._set_by(*init, name)
        if found is not None and (value := _default(found[1])) is not None:
            yield Part(found[0].source, found[0].scope, value, name)

    def _given(self, names: list[str], name: str) -> Iterator[Part]:
        """The argument of the constructor with this name."""
        values = {k.arg: k.value for k in self.call.keywords} | dict(zip(names, self.call.args))
        if name in values:
            yield Part(self.source, self.scope, values[name], name)

    def _set_by(self, c: _Class, init: ast.FunctionDef, name: str) -> Iterator[Part]:
        """What `self.name = ...` in the constructor is."""
        arguments = [a.arg for a in [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]]
        for own, value in _own_assignments(init):
            if own != name:
                continue
            if isinstance(value, ast.Name) and value.id in arguments:
                yield from self._given(arguments[1:], value.id)
                yield from _default_of(c, init, value.id)
            else:
                yield Part(c.source, c.source.scope.of(init), value, name)


def attribute(source: Source, scope: Scope, node: ast.Attribute) -> Iterator[Part]:
    """What `object.name` in the code stands for, and what that uses of the same object."""
    made = _object(source, scope, node.value, 0)
    if made is None:
        return
    seen, waiting = set(), [node.attr]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for part in made.part(name):
            yield part
            if isinstance(part.what, ast.FunctionDef) and part.what.args.args:
                own = part.what.args.args[0].arg
                waiting += [n.attr for n in ast.walk(part.what) if _is_attribute_of(n, own)]


def _object(source: Source, scope: Scope, node: ast.expr, depth: int) -> _Object | None:
    found = source.find(scope, node) if depth < _MOST and isinstance(node, (ast.Name, ast.Attribute)) else None
    if found is None:
        return None
    source, scope, what = found
    if not isinstance(what, ast.Call):
        return None if isinstance(what, DEFINITIONS) else _object(source, scope, what, depth + 1)
    made = source.find(scope, what.func)
    return _Object(_Class(*made), source, scope, what) if made and isinstance(made[2], ast.ClassDef) else None


def _name_of(part: ast.stmt) -> str | None:
    if isinstance(part, DEFINITIONS):
        return part.name
    target = (
        part.target if isinstance(part, ast.AnnAssign) else part.targets[0] if isinstance(part, ast.Assign) else None
    )
    return target.id if isinstance(target, ast.Name) else None


def _is_field(part: ast.stmt) -> bool:
    return isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)


def _default(part: ast.stmt) -> ast.expr | None:
    """`load = plain`, `load: Callable = plain`, `load: Callable = field(default=plain)`, `load = staticmethod(plain)`."""
    value = part.value
    if isinstance(value, ast.Call):
        return next((k.value for k in value.keywords if k.arg == "default"), value.args[0] if value.args else None)
    return value


def _default_of(c: _Class, init: ast.FunctionDef, name: str) -> Iterator[Part]:
    arguments = [*init.args.posonlyargs, *init.args.args]
    given = dict(zip([a.arg for a in reversed(arguments)], reversed(init.args.defaults)))
    given |= {a.arg: d for a, d in zip(init.args.kwonlyargs, init.args.kw_defaults) if d is not None}
    if name in given:
        yield Part(c.source, c.scope, given[name], name)


def _own_assignments(init: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    own = init.args.args[0].arg if init.args.args else ""
    for n in ast.walk(init):
        targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AnnAssign) else []
        for target in targets:
            if _is_attribute_of(target, own) and n.value is not None:
                yield target.attr, n.value


def _is_attribute_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
