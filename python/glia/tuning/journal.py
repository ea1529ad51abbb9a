"""What was measured, line by line in a file: a search that is started again goes on where it was."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import types

from .. import _glia
from .measure import Measured

_MARK = "glia-tune"  # the first key of every line: a file of something else is not written to


class Journal:
    """Results by the key of their candidate. Without a path, nothing is kept."""

    def __init__(self, path=None):
        self._path = None if path is None else os.fspath(path)
        self._known: dict[str, Measured] = {}
        self._file = None
        if self._path is not None:
            self._known, cut = _read(self._path)
            try:
                self._file = open(self._path, "a", encoding="utf-8")
            except OSError as e:
                raise _error(self._path, f"it cannot be written: {e.strerror}") from None
            if cut:
                self._file.write("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._file is not None:
            self._file.close()
        return False

    @property
    def kept(self) -> bool:
        return self._file is not None

    def get(self, key: str) -> Measured | None:
        return self._known.get(key)

    def add(self, key: str, about: dict, result: Measured) -> None:
        """`about` is for the reader of the file."""
        if self._file is not None and key not in self._known:
            self._known[key] = result
            self._file.write(json.dumps({_MARK: key, **about, **result._asdict()}, default=repr) + "\n")
            self._file.flush()


def _read(path: str) -> tuple[dict[str, Measured], bool]:
    """The results in a file, and whether its last line is cut off, as by the end of the process that wrote it."""
    try:
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
    except FileNotFoundError:
        return {}, False
    except (OSError, UnicodeDecodeError) as e:
        raise _error(path, f"it cannot be read: {e}") from None
    known, cut = {}, lines.pop()
    for n, line in enumerate(lines, 1):
        if not line or (n > 1 and not line.endswith("}")):
            continue  # cut off when an earlier search ended
        try:
            entry = json.loads(line)
            known[entry[_MARK]] = Measured(**{name: entry[name] for name in Measured._fields})
        except (ValueError, KeyError, TypeError):
            raise _error(path, "this line is none of a journal", n) from None
    if cut and not known:
        raise _error(path, "this line is none of a journal", 1)
    return known, bool(cut)


def _error(path: str, what: str, line: int = 0):
    return _glia.error_of(
        [_glia.Diagnostic("TUNE-JOURNAL", what, "Give a file that glia.tune made, or a new one.", path, line)]
    )


@functools.cache
def build() -> str:
    """Names this build of the compiler: its times are not those of another one."""
    with open(_glia.__file__, "rb") as f:
        return hashlib.blake2b(f.read(), digest_size=8).hexdigest()


def key_of(*parts) -> str:
    return hashlib.blake2b(repr((build(), *parts)).encode(), digest_size=16).hexdigest()


def text_of(function) -> list[str]:
    """What a function is: its source and that of what it calls in its own module, and the numbers and names that they use."""
    seen: dict[str, str] = {}
    _add_text(getattr(function, "func", function), seen)
    return [f"{name}: {text}" for name, text in sorted(seen.items())]


def _add_text(f, seen: dict[str, str]) -> None:
    f = inspect.unwrap(f)
    if not isinstance(f, types.FunctionType) or f.__qualname__ in seen:
        return
    try:
        seen[f.__qualname__] = inspect.getsource(f)
    except (OSError, TypeError):
        seen[f.__qualname__] = f.__code__.co_code.hex() + repr(f.__code__.co_consts)
    used = {name: f.__globals__[name] for name in _names(f.__code__) if name in f.__globals__}
    used |= {name: c.cell_contents for name, c in zip(f.__code__.co_freevars, f.__closure__ or ()) if _filled(c)}
    for name, value in used.items():
        if isinstance(value, (bool, int, float, str, tuple)):
            seen[name] = repr(value)
        elif getattr(value, "__module__", None) == f.__module__ and callable(value):
            _add_text(getattr(value, "func", value), seen)


def _filled(cell) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code) -> set[str]:
    """Names that a code and the functions in it use."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))
