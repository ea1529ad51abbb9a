"""The names that the author's source gives to tiles and loops: `acc = nl.ndarray(...)` makes a tile that messages call `acc`. Found
in the syntax tree of the file, from the place in the code that is being run; each place is looked up once."""

from __future__ import annotations

import ast
import functools
import linecache
from typing import NamedTuple


class _Loop(NamedTuple):
    first: int  # lines of its body
    last: int
    names: tuple[str, ...]


class _File(NamedTuple):
    calls: dict[tuple, str]  # by line, last line, column and last column of a call: what its result is called
    loops: list[_Loop]  # outermost first


_RETURNED = "^"  # before the name of a function whose result is returned at once: its caller has a better name
_files: dict[str, _File] = {}
_known: dict[tuple, str] = {}


def named_result(frame, kernel=None) -> tuple[str, object]:
    """What the result of the call that a frame is in is called: the variable it is assigned to, else the function; and the frame that
    calls it so: a helper (not the kernel, whose code is given) that only returns what it makes leaves that to its caller."""
    code, at = frame.f_code, frame.f_lasti
    found = _known.get((code, at))
    if found is None:
        found = _known[code, at] = _file(code.co_filename).calls.get(_position(code, at), "")
    if not found.startswith(_RETURNED):
        return found, frame
    if code is not kernel and frame.f_back is not None:
        name, caller = named_result(frame.f_back, kernel)
        if name:
            return name, caller
    return found[1:], frame


def loop_indices(frame) -> list[tuple[str, object]]:
    """Variables of the `for` loops around the line that a frame is at, outermost first, with their values."""
    code = frame.f_code
    names = _loop_names(code.co_filename, code.co_firstlineno, frame.f_lineno)
    if not names:
        return []
    values = frame.f_locals  # made anew for each look
    return [(n, values[n]) for n in names if n in values]


@functools.cache
def _loop_names(file: str, first: int, line: int) -> tuple[str, ...]:
    """Of the loops around a line, in the function that begins at another."""
    return tuple(n for x in _file(file).loops if x.first <= line <= x.last and first <= x.first for n in x.names)


def _position(code, at: int):
    if hasattr(code, "co_positions"):
        for i, place in enumerate(code.co_positions()):
            if 2 * i == at:
                return place
    return None


def _file(name: str) -> _File:
    if name not in _files:
        try:
            tree = ast.parse("".join(linecache.getlines(name)))
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        found = _File({}, [])
        for node in ast.walk(tree):
            _look(node, found)
        found.loops.sort(key=lambda x: (x.first, -x.last))
        _files[name] = found
    return _files[name]


def _look(node, found: _File) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            _assigned(target, node.value, found.calls)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        _assigned(node.target, node.value, found.calls)
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
        found.calls[_span(node.value)] = _RETURNED + _word(node.value.func)
    elif isinstance(node, ast.For):
        names = tuple(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
        found.loops.append(_Loop(node.body[0].lineno, node.body[-1].end_lineno, names))
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "append" and len(node.args) == 1:
            _assigned(node.func.value, node.args[0], found.calls)
        found.calls.setdefault(_span(node), _word(node.func))


def _assigned(target, value, calls: dict) -> None:
    """`target = value`: the calls whose results the target holds are called like it."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        if len(target.elts) == len(value.elts):
            for t, v in zip(target.elts, value.elts):
                _assigned(t, v, calls)
        return
    name = _word(target)
    if not name:
        return
    if isinstance(value, ast.Call):
        calls[_span(value)] = name
    elif isinstance(value, (ast.List, ast.Tuple)):
        for v in value.elts:
            _assigned(target, v, calls)
    elif isinstance(value, ast.ListComp):
        _assigned(target, value.elt, calls)
    elif isinstance(value, ast.IfExp):
        _assigned(target, value.body, calls)
        _assigned(target, value.orelse, calls)


def _word(node) -> str:
    """The name of a variable or attribute; of `a[i]` that of a."""
    while isinstance(node, (ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _span(node) -> tuple:
    return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
