"""What JAX's platform glia copies and what it lets NumPy read in place: neither may ever be seen to change."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

SIZES = (5, 1 << 10, 3 << 20)  # elements: below and above what is kept of freed memory


@pytest.fixture(scope="module", autouse=True)
def device():
    found = jax.devices("glia")[0]
    with jax.default_device(found):
        yield found


def numbers(n, start=0):
    return np.arange(start, start + n, dtype=np.float32)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("put", [jax.device_put, jnp.asarray, jnp.array])
def test_an_array_does_not_change_with_what_it_was_made_of(put, n):
    given = numbers(n)
    x = put(given)
    given[:] = -1
    np.testing.assert_array_equal(x, numbers(n))


@pytest.mark.parametrize("n", SIZES)
def test_what_is_there_is_read_in_place(n):
    x = jax.device_put(numbers(n)).block_until_ready()
    for view in (np.asarray(x), jax.device_get(x)):
        assert view.ctypes.data == x.unsafe_buffer_pointer()
        assert not view.flags.writeable
        with pytest.raises(ValueError):
            view.flags.writeable = True


@pytest.mark.parametrize("n", SIZES)
def test_views_outlive_deletion_and_donation(device, n):
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    deleted, donated, dropped = (jax.device_put(numbers(n, k)) for k in range(3))
    views = [np.asarray(x.block_until_ready()) for x in (deleted, donated, dropped)]
    deleted.delete()
    result = jax.jit(lambda x: x * 2, donate_argnums=0)(donated)
    del dropped
    others = [jax.device_put(np.full(n, -1, np.float32)) + k for k in range(4)]  # would take what is free
    jax.block_until_ready(others)
    assert donated.is_deleted()
    np.testing.assert_array_equal(result, 2 * numbers(n, 1))
    for k, view in enumerate(views):
        np.testing.assert_array_equal(view, numbers(n, k))
    del view, views, deleted, donated, others, result
    gc.collect()
    assert device.memory_stats()["bytes_in_use"] == before


def test_donated_memory_that_was_read_is_used_again():
    x = jax.device_put(numbers(1000)).block_until_ready()
    np.asarray(x)  # nobody keeps it
    gc.collect()
    place = x.unsafe_buffer_pointer()
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x).block_until_ready()
    assert y.unsafe_buffer_pointer() == place


def test_results_that_are_still_computed_are_copied():
    x = jax.device_put(numbers(1 << 20))
    y = x + 1
    y.copy_to_host_async()
    np.testing.assert_array_equal(jax.device_get(y), numbers(1 << 20, 1))
    np.testing.assert_array_equal(np.asarray(y + 1), numbers(1 << 20, 2))


def test_results_may_come_while_they_are_asked_for():
    code = """
import jax, jax.numpy as jnp, numpy as np
f, x = jax.jit(lambda x: x + 1), jnp.zeros((4, 4))
for k in range(6000):  # some are there at once, some are not
    y = f(x)
    if k % 3 == 0:
        y.copy_to_host_async()
    assert (np.asarray(y) if k % 2 else jax.device_get(y))[0, 0] == 1
"""
    env = {**os.environ, "JAX_PLATFORMS": "glia"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_ends_waiting_for_numbers():
    env = {**os.environ, "JAX_PLATFORMS": "glia", "GLIA_MAX_STEPS": "0"}
    code = """
import jax, os, signal, threading, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
y = jax.jit(lambda n: jax.lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))(2**31 - 1)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
np.asarray(y)
"""
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stderr


def test_an_interrupt_while_compiling_and_the_end_of_the_process():
    """JAX goes on compiling behind the scenes: the end neither waits for that nor dies of it."""
    env = {**os.environ, "JAX_PLATFORMS": "glia"}
    code = """
import jax, os, signal, threading, jax.numpy as jnp
signal.signal(signal.SIGINT, signal.default_int_handler)
def deep(x):
    for i in range(400):
        x = jnp.tanh(x @ x) + jnp.sin(x) * i
    return x.sum()
lowered = jax.jit(jax.grad(deep)).lower(jnp.ones((512, 512)))
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    lowered.compile()
except KeyboardInterrupt:
    print("interrupted, and", jnp.arange(3).sum())
"""
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "interrupted, and 3\n"), done.stderr
