"""Both kernels in a JAX function on every generation; a third one that only newer generations have is refused by name."""

import inspect

import ml_dtypes
import numpy as np
import pytest
import two_kernels
import two_kernels_graph as case


@pytest.mark.parametrize("target", case.TARGETS)
def test_both_kernels_with_jax_around_and_between_them(target):
    exe, args, row = case.measured(target)
    assert row.ok, row
    assert exe.target == target and exe.groups > 2  # the kernels, and what JAX does
    names = [name for name in ("transform", "pair_energies") if f"kernel @{name}" in exe.text()]
    assert names == ["transform", "pair_energies"]
    np.testing.assert_array_equal(exe.run(*args)[1], exe.run(*args)[1].T)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_a_third_kernel_where_it_can_run(target):
    args = case.inputs()
    x = np.arange(16 * 128, dtype=np.float32).reshape(16, 128).astype(ml_dtypes.bfloat16)
    exe = case.glia.jit(case.correlation_and_transpose, target=target).compile(*args, x)
    assert exe.verify().ok
    (energy, _, _), turned = exe.run(*args, x)
    np.testing.assert_array_equal(turned, (x + x).T)
    assert two_kernels.relative_error(energy, case.float64(case.jax.jit(case.twin), *args)[0]) <= two_kernels.CLOSE


def test_a_kernel_that_needs_a_newer_generation_is_refused_when_it_is_compiled():
    (d,) = case.refusal().diagnostics
    lines, first = inspect.getsourcelines(two_kernels.transpose_by_dma.func)
    line = first + next(n for n, text in enumerate(lines) if "nisa.dma_transpose" in text)
    assert (d.code, d.file, d.line) == ("TARGET-FEATURE", two_kernels.__file__, line)
    assert "kernel transpose_by_dma" in d.context and "`dma_transpose`" in d.message
    assert "trn1" in d.message and "trn2, trn3 have it" in d.message
