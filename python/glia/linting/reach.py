"""Which functions and classes are NKI and not Python: the kernels of a file, and what they use, there and in the files that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .names import DEFINITIONS, Definition, Imports, Scope
from .objects import Part, attribute
from .source import Source


class Reached(NamedTuple):
    source: Source
    node: Definition | ast.Lambda
    name: str
    kernel: str  # the first one that leads here


def reached(source: Source) -> list[Reached]:
    """File by file, in the order of each."""
    out: dict[ast.AST, Reached] = {}
    waiting = [Reached(source, node, node.name, node.name) for node in _kernels(source)]
    while waiting:
        at = waiting.pop()
        if at.node in out:
            continue
        out[at.node] = at
        waiting += [Reached(*found, at.kernel) for found in _used(at)]
    inner = {n for node in out for n in ast.walk(node) if n is not node}  # is looked at with what it stands in
    files = list(dict.fromkeys(r.source.path for r in out.values()))
    return sorted(
        (r for r in out.values() if r.node not in inner), key=lambda r: (files.index(r.source.path), r.node.lineno)
    )


def _kernels(source: Source) -> Iterator[Definition]:
    for scope in source.scope.all_scopes():
        for node in scope.definitions.values():
            if any(_is_jit(d, source.imports) for d in node.decorator_list):
                yield node
        for call in scope.calls:  # kernel = nki.jit(function)
            if _is_jit(call.func, source.imports):
                for given in call.args:
                    found = scope.find(given.id) if isinstance(given, ast.Name) else None
                    if found is not None and isinstance(found[1], DEFINITIONS):
                        yield found[1]


def _used(at: Reached) -> Iterator[tuple[Source, Definition | ast.Lambda, str]]:
    """The functions and classes that code names, by whatever name."""
    scope = at.source.scope.of(at.node) if isinstance(at.node, DEFINITIONS) else at.source.scope
    for n in _code(at.node):
        if isinstance(n, (ast.Name, ast.Attribute)):
            yield from _meant(at.source, scope, n, 0)
        if isinstance(n, ast.Attribute):
            for part in attribute(at.source, scope, n):
                yield from _part(part)


def _part(part: Part):
    """The functions that an attribute of an object is or holds."""
    if isinstance(part.what, DEFINITIONS):
        yield part.source, part.what, part.name
        return
    for held in _held(part.what, part.source.imports):
        if isinstance(held, ast.Lambda):
            yield part.source, held, part.name
        else:
            yield from _meant(part.source, part.scope, held, 0)


def _meant(source: Source, scope: Scope, node: ast.expr, depth: int):
    found = source.find(scope, node) if depth < _MOST_NAMES else None
    if found is None:
        return
    source, scope, what = found
    if isinstance(what, DEFINITIONS):
        yield source, what, what.name
        return
    for part in _held(what, source.imports):
        if isinstance(part, ast.Lambda):
            yield source, part, node.attr if isinstance(node, ast.Attribute) else node.id
        else:
            yield from _meant(source, scope, part, depth + 1)


_MOST_NAMES = 20  # one for another


def _held(value: ast.expr, imports: Imports) -> Iterator[ast.expr]:
    """The names and lambdas that a value is, or is made of: an alias, a table, a function with some of its arguments."""
    if isinstance(value, (ast.Name, ast.Attribute, ast.Lambda)):
        yield value
    elif isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        for part in value.elts:
            yield from _held(part, imports)
    elif isinstance(value, ast.Dict):
        for part in value.values:
            yield from _held(part, imports)
    elif isinstance(value, ast.IfExp):
        for part in (value.body, value.orelse):
            yield from _held(part, imports)
    elif isinstance(value, ast.Call) and value.args:
        if imports.path(value.func) == "functools.partial" or _is_jit(value.func, imports):
            yield from _held(value.args[0], imports)


def _is_jit(decorator: ast.expr, imports: Imports) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return imports.path(named) in ("nki.jit", "neuronxcc.nki.jit")


def _code(node: Definition | ast.Lambda) -> Iterator[ast.AST]:
    """The nodes that run when it is used: neither annotations nor decorators."""
    if isinstance(node, ast.ClassDef):
        parts = [*node.bases, *node.body]
    elif isinstance(node, ast.Lambda):
        parts = [node.body]
    else:
        parts = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
    for part in parts:
        if isinstance(part, DEFINITIONS):
            yield from _code(part)
        else:
            yield from ast.walk(part)
