"""From a module of a framework's to a proved program."""

from __future__ import annotations

from .. import _glia
from ..nki import environment
from ..nki import trace as _t
from ..nki.runtime import merged
from ..program import Program

_KERNEL = b"glia.nki"  # the name of a call that brings a kernel along


def compile_module(
    module: bytes | str,
    name: str,
    target: str | None,
    lnc: int | None,
    ranks: int = 1,
    topology: str = "",
    auto_cast: str | None = None,
    effort: int | None = None,
) -> tuple[Program, dict]:
    """A module of any form (docs/graph.md), and what it cost. With more than one, `ranks` have arguments and results of their own.
    auto_cast: bf16 or f16, to which operands of f32 products are rounded. Raises one Error with everything that is wrong."""
    if not hasattr(_glia, "compile_graph"):
        raise _t.failure("NKI-COMPILER", "this build of glia has no compiler", "Build it with GLIA_COMPILER=ON.")
    found = _t.find_target(target or environment.target_name())
    try:
        handle, counts = _glia.compile_graph(
            module,
            name,
            found.reference,
            cores=lnc or 1,
            effort=1 if effort is None else effort,
            topology=topology,
            replicas=ranks,
            auto_cast=auto_cast or "",
        )
        handle.require_verified(
            "kernel" if _KERNEL in (module if isinstance(module, bytes) else module.encode()) else "graph"
        )
    except _glia.Error as e:
        raise _glia.error_of(merged(e.diagnostics)) from None
    return Program(handle), counts
