"""Programs on several devices at random, on the platform glia: bit for bit what JAX computes on the CPU."""

import pytest

pytest.importorskip("jax")
import sharded_jax

COUNT = 50  # of each of two processes


@pytest.mark.parametrize("first", [0, COUNT])
def test_programs(tmp_path, first):
    found = sharded_jax.found_by(tmp_path / "found.json", "random_sharded_cases", first, COUNT)
    assert len(found) == COUNT
    assert not any(found.values()), "\n\n".join(f"seed {seed}: {what}" for seed, what in found.items() if what)
