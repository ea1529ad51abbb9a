"""Which functions and classes of a file are NKI and not Python: the kernels, and what they use in the same file."""

from __future__ import annotations

import ast
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Imports:
    """What the names of a file stand for: `nl` for "nki.language", `load` for "nki.language.load"."""

    def __init__(self, tree: ast.Module):
        self.names: dict[str, str] = {}
        self.of_glia: list[ast.stmt] = []  # where nki is imported from glia
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for a in node.names:
                    self.names[a.asname or a.name.split(".")[0]] = a.name if a.asname else a.name.split(".")[0]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for a in node.names:
                    self.names[a.asname or a.name] = f"{node.module}.{a.name}"
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._take_for_nki(node)

    def _take_for_nki(self, node) -> None:
        """glia.nki has the names of nki: what is imported from it is called so, and the import is remembered."""
        for a in node.names:
            name = a.asname or a.name.split(".")[0]
            path = self.names.get(name, "")
            if path == "glia.nki" or path.startswith("glia.nki."):
                self.names[name] = path.removeprefix("glia.")
                if node not in self.of_glia:
                    self.of_glia.append(node)

    def path(self, node: ast.expr) -> str:
        """The dotted name of what an expression names, with the module it was imported from; "" if it is none."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            inner = self.path(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""


class Reached(NamedTuple):
    node: Definition
    kernel: str  # the first one that leads here


def reached(tree: ast.Module, imports: Imports) -> list[Reached]:
    """In the order of the file."""
    known = _definitions(tree)
    kernels = {node: node.name for node in known.values() if any(_is_jit(d, imports) for d in node.decorator_list)}
    for node in ast.walk(tree):  # kernel = nki.jit(function)
        if isinstance(node, ast.Call) and _is_jit(node.func, imports):
            for argument in node.args:
                if isinstance(argument, ast.Name) and argument.id in known:
                    kernels.setdefault(known[argument.id], argument.id)
    out: dict[Definition, str] = {}
    waiting = list(kernels.items())
    while waiting:
        node, kernel = waiting.pop()
        if node in out:
            continue
        out[node] = kernel
        used = {n.id for n in _code(node) if isinstance(n, ast.Name)}
        waiting += [(known[name], kernel) for name in used if name in known]
    inner = {n for node in out for n in ast.walk(node) if n is not node}  # is looked at with what it stands in
    return sorted((Reached(n, k) for n, k in out.items() if n not in inner), key=lambda r: r.node.lineno)


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    """Functions and classes by name; methods are part of their class."""
    methods = {m for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for m in c.body}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {n.name: n for n in ast.walk(tree) if isinstance(n, kinds) and n not in methods}


def _is_jit(decorator: ast.expr, imports: Imports) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return imports.path(named) in ("nki.jit", "neuronxcc.nki.jit")


def _code(node: Definition):
    """The nodes that run when it is used: neither annotations nor decorators."""
    if isinstance(node, ast.ClassDef):
        parts = [*node.bases, *node.body]
    else:
        parts = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
    for part in parts:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _code(part)
        else:
            yield from ast.walk(part)
