"""The kernel of two cores in a JAX function: the models of the report compile, are proved and give what JAX gives on the CPU."""

import numpy as np
import pytest
import sendrecv_model as case


@pytest.mark.parametrize("target", case.TARGETS)
@pytest.mark.parametrize("layers,outputs", [r[:2] for r in case.REPORTED])
def test_the_models_of_the_report(target, layers, outputs):
    exe, args, row = case.measured(target, layers, outputs)
    assert row.ok, row
    assert exe.program.cores == 2
    # However many layers: one kernel that copies, the exchange, the products of a layer and of the head.
    assert row.groups == 3 * layers + 1 and row.kernels <= 4
    if layers == 2 and outputs == 128:  # other legal orders of the two cores
        want = np.asarray(exe.run(*args))
        (got,) = exe.program.run(exe.inputs(*args), strict=True, seed=1).values()
        np.testing.assert_array_equal(got.reshape(want.shape), want)


def test_forty_layers_compile_and_are_proved():
    args = case.inputs(1, 128)
    args = (args[0], args[1] * 40, args[2])
    exe = case.glia.jit(case.model, target="trn2").compile(*args)
    assert exe.program.verify(require_proved=True).ok and exe.groups == 121 and exe.kernels == 4


def test_trn1_has_no_pairs_of_cores():
    (d,) = case.refusal().diagnostics
    assert d.code == "NKI-CORES" and (d.value, d.limit) == ("2", "1")
    assert "`exchange_and_add`" in d.message and "trn1" in d.message and d.file == case.__file__ and d.line and d.advice
