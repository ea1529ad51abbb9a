"""The platform `glia` of JAX, on request under the name `neuron`: every jitted function is compiled by glia and runs on its simulator
(docs/jax.md).

JAX calls `initialize` when it looks for platforms; nobody else has to. What is private in JAX and needed here is touched here only."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.metadata
import inspect
import os
from pathlib import Path

from . import jax_rules
from .nki import environment

LIBRARY = Path(__file__).with_name("libglia_pjrt.so")
_PRIORITY = -100  # JAX takes the platform with the highest one unless JAX_PLATFORMS names another; the CPU has 0

# What runs on the host in the middle of a program.
_CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "debug_print")
_VENDORS = "neuron"  # the name of AWS's own platform, which its package of this name provides:
_VENDORS_PACKAGE = "libneuronxla"


def initialize() -> None:
    """Makes the platform known to JAX; a second call does nothing."""
    from jax._src import xla_bridge

    _take_vendors_name()
    name = environment.platform_name()
    if name in xla_bridge._backend_factories or not LIBRARY.exists():
        return  # without a compiler (GLIA_COMPILER=OFF) there is no library, and so no platform
    xla_bridge._nonexperimental_plugins.add(name)  # no warning to everybody who has glia installed
    xla_bridge.register_plugin(
        name,
        priority=_PRIORITY,
        library_path=str(LIBRARY),
        options=lambda: {"target": environment.target_name()},
    )
    atexit.register(_stop_compiling)
    _allow_donation(name)
    _allow_compilation_cache(name)
    _know_layouts(name)
    jax_rules.register()
    _refuse_by_name(name)


def _stop_compiling() -> None:
    """After Ctrl-C JAX goes on compiling behind the scenes, waits for that at the end, and then uses devices that are gone already."""
    try:
        library = ctypes.CDLL(str(LIBRARY), mode=os.RTLD_NOLOAD)
    except OSError:  # nobody used the platform
        return
    library.GliaStopCompiling()


def _take_vendors_name() -> None:
    """JAX_PLATFORMS=neuron means glia where nobody else has a platform of that name."""
    import jax

    named = (jax.config.jax_platforms or "").split(",")
    if _VENDORS not in named or os.environ.get(environment.PLATFORM):
        return
    try:
        importlib.metadata.distribution(_VENDORS_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        os.environ[environment.PLATFORM] = _VENDORS


def _allow_donation(name: str) -> None:
    from jax._src.interpreters import mlir

    mlir._platforms_with_donation.append(name)


def _allow_compilation_cache(name: str) -> None:
    """JAX keeps compiled programs in files only for platforms of a list that is inside of a function."""
    from jax._src import compilation_cache

    known = compilation_cache.is_cache_used

    @functools.wraps(known)
    def is_cache_used(backend) -> bool:
        if backend.platform == name:
            return compilation_cache._is_cache_enabled()
        return known(backend)

    compilation_cache.is_cache_used = is_cache_used


def _know_layouts(name: str) -> None:
    """How the arrays of an executable lie. JAX would turn its whole module into HLO, twice, to read that they lie row by row."""
    from jax._src import core
    from jax._src.interpreters import pxla
    from jax._src.layout import Layout

    asked = getattr(pxla, "_get_layouts_from_executable", None)
    wanted = ("xla_executable", "in_layouts", "out_layouts", "num_ordered_effects", "in_avals", "out_avals")
    if asked is None or tuple(inspect.signature(asked).parameters) != wanted:
        return  # another JAX, which asks

    def row_by_row(aval):
        return Layout(tuple(range(len(core.physical_aval(aval).shape))), ())

    @functools.wraps(asked)
    def layouts(xla_executable, in_layouts, out_layouts, num_ordered_effects, in_avals, out_avals):
        chosen = any(x is not None for x in (*in_layouts, *out_layouts))
        if chosen or num_ordered_effects or xla_executable.client.platform != name:
            return asked(xla_executable, in_layouts, out_layouts, num_ordered_effects, in_avals, out_avals)
        return [row_by_row(a) for a in in_avals], [row_by_row(a) for a in out_avals]

    pxla._get_layouts_from_executable = layouts


def _refuse_by_name(name: str) -> None:
    """What JAX lowers for other platforms only, or to a call of the host, is refused with advice."""
    from jax._src.interpreters import mlir

    for rules in list(mlir._platform_specific_lowerings.values()):
        for primitive in rules:
            if primitive not in mlir._lowerings:
                _refuse(primitive, name)
    for primitive in list(mlir._lowerings):
        if primitive.name in _CALLBACKS:
            _refuse(primitive, name)


def _refuse(primitive, name: str) -> None:
    from jax._src.interpreters import mlir

    if primitive.name in _CALLBACKS:
        why = "it calls the host while a program runs, and a program on this platform runs without the host"
        advice = "Return the values and look at them afterwards, or run this function on the CPU"
    else:
        why = "JAX has no way to write it in operations of StableHLO"
        advice = "Compute it on the CPU"
    how = f"JAX_PLATFORMS={name},cpu, and arguments with jax.device_put(x, jax.devices('cpu')[0])"
    message = f"`{primitive.name}` cannot be compiled for the platform {name}: {why}. {advice} ({how})."

    def rule(ctx, *args, **kwargs):
        raise NotImplementedError(message)

    mlir.register_lowering(primitive, rule, platform=name)
