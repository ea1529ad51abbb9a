"""The meeting of two cores, and what the target is."""

from __future__ import annotations

from .. import trace as _t
from ._args import NkiTensor, emit, engine_code, refuse, text
from .enums import engine, nc_version

_GENERATIONS = {"trn1": nc_version.gen2, "trn2": nc_version.gen3, "trn3": nc_version.gen4}


def get_nc_version():
    """The generation that the kernel is traced for."""
    t = _t.target()
    if t.name not in _GENERATIONS:
        raise _t.failure(
            "NKI-TARGET",
            f"the kernel asks for its generation, and the target {t} is none that NKI names",
            "Call the target of the file trn1, trn2 or trn3, after the one it is like.",
        )
    return _GENERATIONS[t.name]


def get_nc_sub_version():
    """The revision of the silicon: 0, the first; later ones have no public differences."""
    return 0


def core_barrier(data, cores, engine=engine.gpsimd, name=None):
    """The chosen engine waits until the other core is here too. The barrier is named after `data`."""
    if not isinstance(data, NkiTensor):
        return refuse(f"data of core_barrier is {text(data)}", "give the tensor that both cores work on")
    both = list(cores) if isinstance(cores, (tuple, list)) else [cores]
    if any(c not in (0, 1) for c in both) or len(set(both)) != len(both) or not both:
        return refuse(f"cores of core_barrier are {cores!r}", "give (0, 1)")
    if _t.required("core_barrier").cores == 1:
        return None  # one core has nobody to wait for, whatever the author wrote for two
    if len(both) == 1:
        return refuse(f"cores of core_barrier are {cores!r} in a kernel of two cores", "give (0, 1)")
    return emit("core_barrier", (data.storage.name,), engine_code(engine), name)
