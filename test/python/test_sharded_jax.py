"""JAX on eight devices of the platform glia: every part of every result is that of JAX on the CPU, and what goes wrong is said."""

import pytest

pytest.importorskip("jax")
import sharded_jax
import sharded_jax_cases  # noqa: F401
import sharded_jax_faults  # noqa: F401


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What went wrong, by case: all of them in one process, which starts the platform."""
    path = tmp_path_factory.mktemp("sharded") / "found.json"
    return sharded_jax.found_by(path, "sharded_jax", "sharded_jax_cases", "sharded_jax_faults")


@pytest.mark.parametrize("name", [*sharded_jax.CASES, *sharded_jax.ALONE])
def test_case(found, name):
    assert not found[name], found[name]
