"""A Python file that is looked at, and the files beside it that it imports. They are read, never run."""

from __future__ import annotations

import ast
import os

from .names import Definition, Imports, Scope


class Source:
    def __init__(self, path: str, tree: ast.Module, read: dict[str, Source | None]):
        self.path, self.tree = path, tree
        self.imports, self.scope = Imports(tree), Scope(tree)
        self._read = read  # by path, of all files
        read[os.path.realpath(path)] = self

    @classmethod
    def of_file(cls, path: str) -> Source:
        """Throws what open and ast.parse throw."""
        return cls(path, _parsed(path), {})

    def top_names(self) -> set[str]:
        """All names that the file binds."""
        out = self.scope.bound | set(self.imports.names)
        for module in self.imports.stars:
            other, rest = self._imported(module.split("."))
            if other is not None and not rest and other is not self:
                out |= other.scope.bound | set(other.imports.names)
        return out

    def find(self, scope: Scope, name: ast.expr) -> tuple[Source, Scope, Definition | ast.expr] | None:
        """What a name, or a part of a module, stands for: where it is, and the function, the class or the value."""
        if isinstance(name, ast.Name) and name.id in scope.all_bound():
            found = scope.find(name.id)
            return None if found is None else (self, *found)
        path = self.imports.path(name)
        if path:
            return self._part(*self._imported(path.split(".")))
        if isinstance(name, ast.Name):
            for module in self.imports.stars:
                other, rest = self._imported(module.split("."))
                if other is not None and not rest and (found := self._part(other, [name.id])) is not None:
                    return found
        return None

    def _part(self, source: Source | None, rest: list[str]) -> tuple[Source, Scope, Definition | ast.expr] | None:
        if source is None or len(rest) != 1 or source is self:
            return None
        return source.find(source.scope, ast.Name(rest[0], ast.Load()))

    def _imported(self, parts: list[str]) -> tuple[Source | None, list[str]]:
        """The file of a dotted name, with leading dots if it is relative, and the parts that are in the file."""
        level = next((n for n, part in enumerate(parts) if part), len(parts))
        folder = os.path.dirname(self.path)
        bases = [os.path.join(folder, *[".."] * (level - 1))] if level else [folder, _root(folder)]
        parts = parts[level:]
        for count in range(len(parts), 0, -1):
            for base in bases:
                stem = os.path.join(base, *parts[:count])
                for path in (stem + ".py", os.path.join(stem, "__init__.py")):
                    if os.path.isfile(path):
                        return self._file(os.path.normpath(path)), parts[count:]
        return None, parts

    def _file(self, path: str) -> Source | None:
        real = os.path.realpath(path)
        if real not in self._read:
            self._read[real] = None
            try:
                Source(path, _parsed(path), self._read)
            except (OSError, SyntaxError, ValueError):
                pass  # who imports it will hear of it
        return self._read[real]


def _parsed(path: str) -> ast.Module:
    with open(path, "rb") as f:
        return ast.parse(f.read(), path)


def _root(folder: str) -> str:
    """The folder that the package is in."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.join(folder, "..")
    return folder
