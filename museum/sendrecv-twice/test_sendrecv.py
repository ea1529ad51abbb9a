"""Any number of calls of a kernel of two cores in one program; refused where there are no pairs of cores."""

import glia
import numpy as np
import pytest
import sendrecv


@pytest.mark.parametrize("target", sendrecv.TARGETS)
@pytest.mark.parametrize("calls", sendrecv.CALLS)
def test_calls_in_one_program(target, calls):
    x, weight = sendrecv.inputs()
    exe = glia.compile(sendrecv.model(calls), x, weight, target=target)
    assert exe.program.cores == 2 and exe.verify().ok, str(exe.verify())
    want = sendrecv.reference(calls, x, weight)
    np.testing.assert_array_equal(exe.run(x, weight), want)
    names = [name for name, *_ in exe._inputs]
    for seed in (1, 2):  # other legal orders of the two cores
        (got,) = exe.program.run(dict(zip(names, (x, weight))), strict=True, seed=seed).values()
        np.testing.assert_array_equal(got, want)


def test_the_kernel_alone():
    x, _ = sendrecv.inputs()
    np.testing.assert_array_equal(sendrecv.exchange_and_add[2](x), sendrecv.reference(1, x, None))


def test_trn1_has_no_pairs_of_cores():
    (d,) = sendrecv.refusal().diagnostics
    assert d.code == "NKI-CORES" and (d.value, d.limit) == ("2", "1")
    assert (
        "`exchange_and_add`" in d.message
        and "trn1" in d.message
        and d.file == sendrecv.__file__
        and d.line
        and d.advice
    )
