"""The pipeline of two ranks gives the gradients of the whole transformer; one stage without the other does not."""

import pytest

pytest.importorskip("jax")

import jax
import pipeline
from table import against_twin


@pytest.mark.parametrize("topology", ("trn1.32xlarge", "trn2.48xlarge", "trn3-ultraserver-gen1"))
def test_two_stages(topology):
    row = pipeline.measure(topology)
    assert row.verified
    assert row.error <= row.allowed


def test_stages_in_the_wrong_order_are_seen():
    twin, want = pipeline.on_host()
    value, gradient = twin
    turned = {**gradient, "blocks": jax.tree.map(lambda a: a[::-1], gradient["blocks"])}
    error, allowed = against_twin((value, turned), twin, want)
    assert error > allowed
