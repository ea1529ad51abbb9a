"""The kernel inside of decoders of 4 and 40 layers: right, and every access by an index proved to stay in its table."""

import deltanet_model as case
import numpy as np
import pytest
from table import relative_error


@pytest.mark.parametrize("target,cores", [*case.CORES, ("trn2", 1)])
def test_four_layers(target, cores):
    exe, row = case.measured(target, 4, cores)
    assert row.ok and exe.program.cores == cores, row
    accesses = exe.program.verify(require_proved=True).dynamic_accesses
    assert accesses and all(a["proof"] == "proved" for a in accesses)  # the tokens are data: the table is read by index


def test_forty_layers_are_four_layers_ten_times():
    """Equal layers are equal kernels: depth adds calls. The numbers of forty layers are checked in `make bench`."""
    four, forty = (case.glia.jit(case.model, target="trn2").compile(*case.inputs(n)) for n in (4, 40))
    assert forty.program.verify(require_proved=True).ok
    assert forty.kernels <= four.kernels + 2 and forty.program.instructions < 11 * four.program.instructions


def test_tokens_out_of_range_stay_in_the_table():
    """What JAX makes of them on the CPU, and nothing is read elsewhere: StableHLO clamps an index, and so does the program."""
    (p, tokens), *_ = case.references(4)
    wild = tokens.copy()
    wild[:4] = (-1, -(2**31), case.VOCABULARY, 2**31 - 1)
    got = case.glia.jit(lambda table, t: table[t], target="trn2")(p["embedding"], wild)
    np.testing.assert_array_equal(got, case.jnp.asarray(p["embedding"])[wild])


def test_a_wrong_state_is_seen():
    """The measure of error tells a missing term: states that are not handed on from chunk to chunk."""
    args, twin, want = case.references(4)

    def forgetful(*sequence):
        halves = [case.by_token(*(x[n : n + case.N] for x in sequence)) for n in (0, case.N)]
        return case.jnp.concatenate(halves)

    got = case.decoder(forgetful, *args)
    assert relative_error(got, want) > 100 * relative_error(twin, want)
