"""Executables that are kept, and what goes wrong on several devices, for test_sharded_jax.py."""

import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import serialize_executable
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from sharded_jax import alone, counted, grid, refused, same


@alone
def kept_from_one_start_to_the_next(devices):
    mesh = grid(devices, 8)
    a = jax.device_put(counted(16, 3), NamedSharding(mesh, P("x")))
    f = lambda a: (a * 5 - a.sum(0)) * 2  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "jax_compilation_cache_dir": folder,
            "jax_persistent_cache_min_compile_time_secs": 0,
            "jax_persistent_cache_min_entry_size_bytes": -1,
        }
        before = {k: getattr(jax.config, k) for k in settings}
        for k, v in settings.items():
            jax.config.update(k, v)
        jax._src.compilation_cache.reset_cache()
        hits = []
        jax.monitoring.register_event_listener(lambda e, **_: hits.append(e) if e.endswith("cache_hits") else None)
        try:
            for _ in range(2):
                jax.clear_caches()
                same(jax.jit(f)(a), f(np.asarray(a)))
            assert hits, os.listdir(folder)
        finally:
            for k, v in before.items():
                jax.config.update(k, v)
            jax._src.compilation_cache.reset_cache()


@alone
def damaged_bytes_are_refused(devices):
    mesh = grid(devices, 4)
    a = jax.device_put(counted(8, 8), NamedSharding(mesh, P("x")))
    bytes_, ins, outs = serialize_executable.serialize(jax.jit(lambda a: a.sum(0)).lower(a).compile())
    at = bytes_.index(b"GLIAEXE4")
    for damaged in (
        bytes_[: at + 200] + bytes([bytes_[at + 200] ^ 1]) + bytes_[at + 201 :],
        bytes_[: at + 8] + b"12345678" + bytes_[at + 16 :],
    ):
        refused(
            "PJRT-SERIALIZED", lambda d=damaged: serialize_executable.deserialize_and_load(d, ins, outs, backend="glia")
        )


@alone
def nans_are_found(devices):
    mesh = grid(devices, 8)
    a = counted(8, 4) + 3
    a[5, 1] = -1
    placed = jax.device_put(a, NamedSharding(mesh, P("x")))
    with jax.debug_nans(True):
        refused("nan", lambda: jax.jit(jnp.sqrt)(placed).block_until_ready())
    same(jax.jit(lambda a: a + 1)(placed), a + 1)


@alone
def a_failed_argument_reaches_every_rank(devices):
    """One device gets what a run that never ends should have made: the others are told."""
    one, all_ = devices[3], grid(devices, 8)
    endless = jax.jit(lambda n: lax.while_loop(lambda n: n > 0, lambda n: n + 1 - 1, n))
    parts = [jax.device_put(counted(1, 4), d) for d in devices]
    parts[3] = endless(jax.device_put(np.ones((1, 4), np.float32).sum(), one)) * parts[3]
    a = jax.make_array_from_single_device_arrays((8, 4), NamedSharding(all_, P("x")), parts)
    b = jax.jit(lambda a: a + a.sum(0))(a)
    refused("STEP", lambda: np.asarray(b))
    good = jax.device_put(counted(8, 4), NamedSharding(all_, P("x")))
    same(jax.jit(lambda a: a + a.sum(0))(good), counted(8, 4) + counted(8, 4).sum(0))


@alone
def deleted_arrays_are_refused(devices):
    mesh = grid(devices, 8)
    a = jax.device_put(counted(8, 4), NamedSharding(mesh, P("x")))
    f = jax.jit(lambda a: a * 2)
    f(a)
    a.delete()
    refused("deleted", lambda: f(a))
    b = jax.device_put(counted(8, 4), NamedSharding(mesh, P("x")))
    b.addressable_shards[2].data.delete()
    refused("deleted", lambda: f(b).block_until_ready())


@alone
def other_devices_are_refused(devices):
    mesh = grid(devices, 4)
    a = jax.device_put(counted(8, 4), NamedSharding(mesh, P("x")))
    b = jax.device_put(counted(8, 4), NamedSharding(Mesh(np.array(devices[4:]), ("x",)), P("x")))
    refused("incompatible devices", lambda: jax.jit(lambda a, b: a + b)(a, b))
    compiled = jax.jit(lambda a: a + 1).lower(a).compile()
    refused("", lambda: compiled(b))
    same(compiled(a), counted(8, 4) + 1)


@alone
def reductions_start_once(devices):
    """XLA itself counts the start on each device, or refuses: compared with NumPy."""
    mesh = grid(devices, 8)
    x = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    divided = jax.device_put(x, NamedSharding(mesh, P("x")))
    half = np.float32(0.5)
    for body, want in (
        (lax.add, half + x.sum(0)),
        (lax.sub, half - x.sum(0)),
        (jnp.logaddexp, np.logaddexp(half, np.logaddexp.reduce(x))),
        (lambda a, b: b, x[-1]),
    ):
        got = jax.jit(lambda x, body=body: lax.reduce(x, half, body, (0,)))(divided)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-5)
