"""What the names of a file stand for: modules and their parts that it imports, and, scope by scope, functions, classes and values."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator

from .. import hook

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Imports:
    """What the names of a file stand for: `nl` for "nki.language", `load` for "nki.language.load", `tiles` for ".helpers.tiles"."""

    def __init__(self, tree: ast.Module):
        self.names: dict[str, str] = {}
        self.of_glia: list[ast.stmt] = []  # where nki is imported from glia
        self.stars: list[str] = []  # modules all of whose names are imported
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for a in node.names:
                    self.names[a.asname or a.name.split(".")[0]] = a.name if a.asname else a.name.split(".")[0]
            elif isinstance(node, ast.ImportFrom):
                self._take_from(node)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._take_for_nki(node)
        self._take_other_names(tree)

    def _take_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for a in node.names:
            if a.name == "*":
                self.stars.append(module)
                self.names |= {name: f"{module}.{name}" for name in _names_of(module)}
            else:
                self.names[a.asname or a.name] = f"{module}{'' if module.endswith('.') else '.'}{a.name}"

    def _take_for_nki(self, node) -> None:
        """glia.nki has the names of nki: what is imported from it is called so, and the import is remembered."""
        for a in node.names:
            name = a.asname or a.name.split(".")[0]
            path = self.names.get(name, "")
            if path == "glia.nki" or path.startswith("glia.nki."):
                self.names[name] = path.removeprefix("glia.")
                if node not in self.of_glia:
                    self.of_glia.append(node)

    def _take_other_names(self, tree: ast.Module) -> None:
        """lang = nki.language, at the top of the file."""
        for name, value in Scope(tree).values.items():
            if name not in self.names and (path := self.path(value)):
                self.names[name] = path

    def path(self, node: ast.expr) -> str:
        """The dotted name of what an expression names, with the module it was imported from; "" if it is none."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            inner = self.path(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""

    def last(self, node: ast.expr) -> str:
        """The last part of a name: jit of nki.jit, whatever it is called here."""
        if path := self.path(node):
            return path.rpartition(".")[2]
        return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names_of(module: str) -> list[str]:
    """What `from module import *` binds, of modules of nki."""
    ours = hook._MODULES.get(module)
    return list(getattr(importlib.import_module(ours), "__all__", ())) if ours else []


class Scope:
    """The names of a file or a function: those that are defined, those that hold one value throughout, and all that are bound."""

    def __init__(self, node: ast.Module | Definition, outer: Scope | None = None):
        self.outer = outer
        self.inner: dict[Definition, Scope] = {}
        self.definitions: dict[str, Definition] = {}
        self.values: dict[str, ast.expr] = {}
        self.bound: set[str] = set()
        self.calls: list[ast.Call] = []
        if not isinstance(node, ast.Module):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            self.bound |= {a.arg for a in every if a is not None}
        for part in node.body:
            self._look(part)

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, DEFINITIONS):
            self.bound.add(node.name)
            self.definitions[node.name] = node
            for f in [m for m in node.body if isinstance(m, DEFINITIONS)] if isinstance(node, ast.ClassDef) else [node]:
                if not isinstance(f, ast.ClassDef):
                    self.inner[f] = Scope(f, self)
            return
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return  # their names are their own
        if isinstance(node, ast.Call):
            self.calls.append(node)
        target, value = _assigned(node)
        if target is not None and target not in self.bound:
            self.values[target] = value
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if node.id in self.bound:
                self.values.pop(node.id, None)  # bound twice
            self.bound.add(node.id)
        for part in ast.iter_child_nodes(node):
            self._look(part)

    def of(self, node: Definition) -> Scope:
        """The scope that names in a definition of this file are looked for in first."""
        for f, scope in self.inner.items():
            if f is node:
                return scope
            if (found := scope.of(node)) is not scope:
                return found
        return self

    def find(self, name: str) -> tuple[Scope, Definition | ast.expr] | None:
        """What a name stands for, and the scope that it is a name of."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                what = scope.definitions.get(name) or scope.values.get(name)
                return None if what is None else (scope, what)
            scope = scope.outer
        return None

    def all_scopes(self) -> Iterator[Scope]:
        yield self
        for scope in self.inner.values():
            yield from scope.all_scopes()

    def all_bound(self) -> set[str]:
        return self.bound | (self.outer.all_bound() if self.outer is not None else set())


def _assigned(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    return None, None
