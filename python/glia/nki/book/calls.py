"""The calls themselves: their signatures, their sentences, and where they are refused."""

from __future__ import annotations

import enum
import inspect

import glia

from .. import collectives, isa, language
from .. import trace as _t
from ..dtypes import DType
from ..isa.refused import WHY
from ..jit import Kernel
from ..objects import MemoryRegion
from ..ops import Op
from ..tensor import NkiTensor

_RANDOM = "the generator of the hardware is not public"
_SIZES = "the sizes of what is exchanged are written in the program"
REFUSED = {
    **{f"nisa.{name}": why for name, why in WHY.items()},
    **{f"nl.{name}": _RANDOM for name in ("rand", "random_seed", "dropout")},
    **{f"ncc.{name}": _SIZES for name in ("all_gather_v", "all_to_all_v")},
    "nl.prelu": "the machine has no such function",
    "tensor.indirect": "use local_gather or dma_copy",
}
_PLACES = {
    "nki": glia.nki,
    "nl": language,
    "nisa": isa,
    "ncc": collectives,
    "tensor": NkiTensor,
    "Kernel": Kernel,
}


def named(call: str):
    """What nl.add is; None for what is no attribute, as tensor[...]."""
    place, _, name = call.partition(".")
    return getattr(_PLACES[place], name, None) if place in _PLACES else None


def _default(value) -> str:
    if isinstance(value, MemoryRegion | Op):
        return f"nl.{value.name}"
    if isinstance(value, DType):
        return f"nl.{value}"
    if isinstance(value, enum.Enum):
        return f"nisa.{type(value).__name__}.{value.name}"
    return repr(value)


def signature(call: str) -> str:
    value = named(call)
    if value is None or not callable(value) or inspect.isclass(value) or (isinstance(value, Op) and value.fn is None):
        return call
    shown = []
    for p in inspect.signature(value).parameters.values():
        if p.name == "self":
            continue
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown.append(star + p.name + ("" if p.default is p.empty else f"={_default(p.default)}"))
    return f"{call}({', '.join(shown)})"


def sentence(call: str) -> str:
    value = named(call)
    return " ".join((inspect.getdoc(value) or "").split()) if value is not None else ""


def where(call: str) -> str:
    """Engines and targets of a call of nki.isa."""
    place, _, name = call.partition(".")
    found = next((i for i in glia._glia.instructions() if place == "nisa" and i["name"] == name), None)
    if found is None:
        return ""
    engines = "any engine starts it" if len(found["engines"]) > 3 else ", ".join(found["engines"])
    targets = [t for t in ("trn1", "trn2", "trn3") if not found["feature"] or _t.find_target(t).has(found["feature"])]
    only = "" if len(targets) == 3 else f"; {', '.join(targets)}"
    return f"({engines}{only}; [instruction](isa.md#{name}))"
