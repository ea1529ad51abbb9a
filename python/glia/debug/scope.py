"""The variables of a call at a moment of the run, as NumPy arrays and numbers: what `print` evaluates its expressions in."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

import numpy as np

from ..nki.registers import VirtualRegister
from ..nki.tensor import NkiTensor
from ..nki.watch import array_of
from .breakpoints import failure
from .record import Snapshot
from .timeline import Stop, Timeline, register_value
from .touch import of_view


class Located(np.ndarray):
    """Where the elements of a view begin, in bytes of its storage; so are parts of it."""

    def __array_finalize__(self, other):
        self.storage, self.size_of = getattr(other, "storage", None), getattr(other, "size_of", 0)

    def __getitem__(self, key):
        out = super().__getitem__(key)
        if isinstance(out, np.ndarray):
            return out
        return _located(np.asarray(out), self.storage, self.size_of)


def _located(at: np.ndarray, storage, size: int) -> Located:
    out = at.view(Located)
    out.storage, out.size_of = storage, size
    return out


class _Object:
    """An object as it was: its tiles are arrays, too."""

    def __init__(self, scope: Scope, kept: Snapshot):
        self._scope, self._kept = scope, kept

    def __getattr__(self, name: str):
        kept = self._kept
        return self._scope.value(kept.attributes[name] if name in kept.attributes else getattr(kept.of, name))

    def __repr__(self) -> str:
        return f"<{type(self._kept.of).__name__} with {', '.join(self._kept.attributes) or 'nothing'}>"


class Scope(Mapping):
    """`places`: tiles as where they lie, instead of what they hold."""

    def __init__(self, timeline: Timeline, stop: Stop, variables: dict, places: bool = False):
        self.timeline, self.stop, self.variables, self.places = timeline, stop, variables, places

    def __getitem__(self, name):
        return self.value(self.variables[name])

    def __iter__(self):
        return iter(self.variables)

    def __len__(self):
        return len(self.variables)

    def value(self, x):
        if type(x) is NkiTensor:
            return self._place(x) if self.places else self._array(x)
        if type(x) is VirtualRegister:
            return x.const + sum(self.register(r) * k for r, k in x.terms)
        if type(x) in (list, tuple):
            return type(x)(self.value(v) for v in x)
        if type(x) is dict:
            return {k: self.value(v) for k, v in x.items()}
        return _Object(self, x) if type(x) is Snapshot else x

    def register(self, r) -> int:
        return register_value(self.timeline.at(self.stop.step), r, self.stop.core, self.stop.rounds)

    def _start(self, view: NkiTensor) -> int | None:
        """The byte that a view begins at; None if that is not one place."""
        if view.scalars or view.index is not None:
            return None
        row, moved = view.storage.row_bytes, 0
        for r, scale, is_partition in zip(view.terms[::3], view.terms[1::3], view.terms[2::3]):
            moved += self.register(r) * scale * (row if is_partition else 1)
        return view.offset * view.dtype.itemsize + moved

    def _array(self, view: NkiTensor) -> np.ndarray:
        start = self._start(view)
        data = self.timeline.at(self.stop.step).read(view.storage.handle, self.stop.core)
        size = view.dtype.itemsize
        if start is not None:
            end = start + (sum(s * (n - 1) for s, n in zip(view.strides, view.shape)) + 1) * size
            start = start if start >= 0 and end <= data.size else None  # registers that do not hold their values yet
        return array_of(view, data, start)

    def _place(self, view: NkiTensor) -> Located:
        start = self._start(view)
        if start is None:
            raise failure("DEBUG-VALUE", f"which rows of `{view.storage.name}` are meant is decided when it is used")
        at = of_view(view) - view.offset * view.dtype.itemsize + start
        return _located(at, view.storage, view.dtype.itemsize)

    def evaluate(self, text: str, names: dict):
        """An expression of the variables and of `names`, those of the module."""
        try:
            with np.errstate(all="ignore"):
                return eval(compile(text, "<expression>", "eval"), {"np": np, **names}, self)
        except SyntaxError as e:
            raise failure("DEBUG-VALUE", f"`{text}` is no expression: {e.msg}") from None
        except KeyboardInterrupt:
            raise
        except Exception as e:
            known = ", ".join(sorted(self.variables)) or "none"
            advice = f"Variables here: {known}." if isinstance(e, NameError) else ""
            raise failure("DEBUG-VALUE", f"`{text}`: {e}", advice) from None

    def holds(self, condition: str, names: dict) -> bool:
        """Whether a condition is true of some element; one of variables that are not there yet is not."""
        used = {x.id for x in ast.walk(ast.parse(condition, mode="eval")) if isinstance(x, ast.Name)}
        if not all(x in self.variables or x in names or x == "np" or hasattr(builtins, x) for x in used):
            return False
        return bool(np.any(self.evaluate(condition, names)))


def text_of(value) -> str:
    """A value as the prompt shows it."""
    if not isinstance(value, np.ndarray):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if value.ndim == 0:
        return str(value[()])
    return f"{summary(value)}\n{np.array2string(value, threshold=48, edgeitems=3, precision=7, max_line_width=110)}"


def summary(value: np.ndarray) -> str:
    """Type, shape and extremes in one line."""
    head = f"{value.dtype}{list(value.shape)}"
    if not value.size or value.dtype.kind not in "fiubV":
        return head
    wide = value if value.dtype.kind in "iub" else value.astype(np.float64)
    nans = int(np.isnan(wide).sum()) if wide.dtype.kind == "f" else 0
    if nans == wide.size:
        return f"{head} all NaN"
    with np.errstate(all="ignore"):
        extremes = f"min {np.nanmin(wide):.7g} max {np.nanmax(wide):.7g} mean {np.nanmean(wide):.7g}"
    return f"{head} {extremes}" + (f", {nans} NaN" if nans else "")
