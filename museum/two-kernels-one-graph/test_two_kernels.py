"""Two kernels alone and together on every generation; a third one that only newer generations have is refused by name."""

import inspect

import glia
import numpy as np
import pytest
import two_kernels as case


@pytest.mark.parametrize("target", case.TARGETS)
def test_against_numpy(target):
    names = []
    for name, exe, given, want in case.programs(target):
        assert exe.verify().ok and case.relative_error(exe.run(*given), want) <= case.CLOSE
        names.append(name)
    assert names == ["transform alone", "pair_energies alone", "both, nothing between them"]


@pytest.mark.parametrize("target", case.TARGETS)
def test_the_program_is_for_its_target_and_gives_what_the_calls_give(target):
    args = case.inputs()
    exe = glia.compile(case.energy, *args, target=target)
    assert exe.target == target and {c["target"] for c in exe.contracts()} == {target}
    assert [c["kernel"] for c in exe.contracts()] == ["transform", "pair_energies"]
    b = case.transform.on(target)(*args[:3])
    np.testing.assert_array_equal(exe.run(*args), case.pair_energies.on(target)(b, *args[3:]))


def test_a_kernel_that_needs_a_newer_generation_is_refused_when_it_is_compiled():
    (d,) = case.refusal().diagnostics
    lines, first = inspect.getsourcelines(case.transpose_by_dma.func)
    line = first + next(n for n, text in enumerate(lines) if "nisa.dma_transpose" in text)
    assert (d.code, d.file, d.line) == ("TARGET-FEATURE", case.__file__, line)
    assert "kernel transpose_by_dma" in d.context and "`dma_transpose`" in d.message
    assert "trn1" in d.message and "trn2, trn3 have it" in d.message


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_the_same_composition_where_it_can_run(target):
    args = case.inputs()
    x = np.arange(16 * 128, dtype=np.uint16).reshape(16, 128).view("bfloat16")
    energies, turned = glia.compile(case.energy_and_transpose, *args, x, target=target).run(*args, x)
    np.testing.assert_array_equal(turned, x.T)
    want = case.reference_energies(case.reference_transform(*args[:3]), *args[3:])
    assert case.relative_error(energies, want) <= case.CLOSE


@pytest.mark.parametrize("target", case.TARGETS)
def test_the_kernels_of_the_package(target):
    pytest.importorskip("torch", exc_type=ImportError)
    kernels = pytest.importorskip("trntensor.nki._kernels", exc_type=ImportError)

    def energy(eri, occupied, virtual, occupied_levels, virtual_levels):
        b = kernels.ao_to_mo_transform_kernel(eri, occupied, virtual)
        return b, kernels.mp2_energy_kernel(b, occupied_levels, virtual_levels)

    args = case.inputs()
    exe = glia.compile(energy, *args, target=target)
    assert exe.verify().ok
    b, energies = exe.run(*args)
    want = case.reference_transform(*args[:3])
    assert case.relative_error(b, want) <= case.CLOSE
    assert case.relative_error(energies, case.reference_energies(want, *args[3:])) <= case.CLOSE
