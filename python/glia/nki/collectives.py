"""nki.collectives: transfers between many devices. None of them is supported; each says so where it is called."""

from . import trace as _t
from .objects import NKIObject

_NAMES = [
    "all_gather",
    "all_gather_v",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "collective_permute",
    "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce",
    "rank_id",
    "reduce_scatter",
]


class ReplicaGroup(NKIObject):
    """Which ranks take part."""

    groups: list = None


def _refused(name: str):
    def call(*args, **kwargs):
        raise _t.failure("NKI-UNSUPPORTED", f"nki.collectives.{name} is not supported: a program runs on one device")

    call.__name__ = call.__qualname__ = name
    return call


globals().update({name: _refused(name) for name in _NAMES})
__all__ = ["ReplicaGroup", *_NAMES]
