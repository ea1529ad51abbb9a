"""The decoder on four ranks, tensor parallel, as right as on one device; a part that is missing from a sum is seen."""

import pytest

pytest.importorskip("jax")

import deltanet_model as dm
import deltanet_ranks as case
from table import against_twin


@pytest.mark.parametrize("cores", (1, 2))
def test_four_layers_on_four_ranks(cores):
    row = case.measure(4, cores)
    assert row.verified
    assert row.error <= row.allowed


def test_a_missing_part_is_seen():
    """Without the last expert, which one rank has."""
    (p, tokens), *twins = case.references(4)
    layers = [(a, {**b, "number": b["number"] % (dm.EXPERTS - 1)}) for a, b in p["layers"]]
    error, allowed = against_twin(dm.twin({**p, "layers": layers}, tokens), *twins)
    assert error > allowed
