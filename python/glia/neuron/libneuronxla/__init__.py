"""`libneuronxla`: where torch_xla finds the plugin for PJRT_DEVICE=NEURON, which is glia's (libglia_pjrt.so)."""

from __future__ import annotations

import os

from ...nki import trace as _t
from .. import flags as _flags
from .. import processes as _processes
from ..missing import names_of

__getattr__ = names_of("libneuronxla")


def configure_environment() -> None:
    """Says to torch_xla and to the plugin how to meet. Runs when torch_xla is imported, and once more before the device is first used."""
    _processes.check_launcher()
    os.environ["XLA_STABLEHLO_COMPILE"] = "1"  # programs come as StableHLO
    os.environ.setdefault("PJRT_DEVICE", "NEURON")
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ["GLIA_PLATFORM"] = "neuron"  # what xla_device_hw() answers
    said = _flags.from_environment()
    os.environ["GLIA_TARGET"] = said.target
    if said.lnc is not None:
        os.environ.setdefault("GLIA_LNC", str(said.lnc))
    if said.auto_cast:
        os.environ.setdefault("GLIA_AUTO_CAST", said.auto_cast)
    if os.environ.get("NEURON_RT_NUM_CORES", "").isdigit() and os.environ["NEURON_RT_NUM_CORES"] != "0":
        os.environ.setdefault("GLIA_DEVICES", os.environ["NEURON_RT_NUM_CORES"])


def supported_clients() -> list[str]:
    return ["glia"]


def neuron_xla_compile(
    module_bytes: bytes,
    compiler_flags=None,
    input_format: str = "hlo",
    platform_target: str | None = None,
    **ignored,
) -> bytes:
    """The bytes of the program (glia's file, docs/program-format.md) of an HloModuleProto or of StableHLO."""
    from ..compile import compile_module

    said = _flags.parse(compiler_flags, "compiler_flags")
    if input_format not in ("hlo", "mlir", "stablehlo"):
        raise _t.failure("NEURON-FLAGS", f"neuron_xla_compile has no input format {input_format!r}")
    target = _flags.target_of(platform_target) or said.target
    program, _ = compile_module(
        module_bytes, "<module>", target, said.lnc, auto_cast=said.auto_cast, effort=said.effort
    )
    return program.to_bytes()
