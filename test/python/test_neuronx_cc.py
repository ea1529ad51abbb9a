"""neuronx-cc: options, messages and exit statuses, on modules that JAX writes."""

import subprocess
import sys

import glia
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from glia import neuronx_cc
from glia.neuron import flags
from glia.neuron.libneuronxla import neuron_xla_compile


def proto(function, *arguments) -> bytes:
    lowered = jax.jit(function).lower(*arguments)
    return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = jnp.zeros((8, 16), jnp.float32)
    (tmp_path / "model.hlo_module.pb").write_bytes(proto(lambda x, w: jnp.tanh(x @ w), x, x.T))
    return tmp_path


def test_a_module_becomes_a_program_under_the_name_that_was_asked_for(folder, capfd):
    line = "compile --framework=XLA model.hlo_module.pb --target trn1 --model-type transformer -O1 --auto-cast=none"
    assert neuronx_cc.main([*line.split(), "--verbose=35", "--output", "model.neff"]) == 0
    out, err = capfd.readouterr()
    assert out.endswith("Compiler status PASS\n") and err == ""
    program = glia.load("model.neff")
    assert program.target == "trn1" and program.verify().ok
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((8, 16), (16, 8)))
    got = program.run({"arg0": x, "arg1": w})["result0"]
    np.testing.assert_allclose(got, np.tanh(x @ w), rtol=1e-5, atol=1e-6)
    log = (folder / "log-neuron-cc.txt").read_text()
    assert "Compiler status PASS" in log and "for trn1" in log


def test_the_command_may_come_after_options_and_the_last_option_wins(folder, capfd):
    line = "--target=trn1 compile --framework XLA model.hlo_module.pb --target trn3 --tensorizer-options --skip-pass=A"
    assert neuronx_cc.main([*line.split(), "--logfile", "here.log", "--pipeline", "compile", "SaveTemps"]) == 0
    assert glia.load("file.neff").target == "trn3" and (folder / "here.log").exists()
    capfd.readouterr()


def test_two_cores(folder, capfd):
    for i, option in enumerate(["--lnc=2", "-lnc", "--logical-nc-config"]):
        value = [] if "=" in option else ["2"]
        line = ["compile", "--framework", "XLA", "model.hlo_module.pb", option, *value, "--output", f"{i}.neff"]
        assert neuronx_cc.main(line) == 0
        assert glia.load(f"{i}.neff").cores == 2


def test_a_refused_module_is_status_70_with_its_errors(folder, capfd):
    (folder / "bad.pb").write_bytes(proto(lambda x: jax.ffi.ffi_call("nobodys", x)(x), jnp.zeros(4)))
    assert (
        neuronx_cc.main(["compile", "--framework", "XLA", "bad.pb", "--output", "bad.neff", "--verbose", "info"]) == 70
    )
    out, err = capfd.readouterr()
    assert "error[" in err and "PASS" not in out and "exitcode=70" in out
    assert not (folder / "bad.neff").exists()
    (folder / "noise.pb").write_bytes(b"\x00\x01 nothing")
    assert neuronx_cc.main(["compile", "--framework", "XLA", "noise.pb"]) == 70


def test_wrong_usage_is_status_2(folder, capfd):
    for line, part in (
        ("compile --framework XLA model.hlo_module.pb --nonsense", "unrecognized arguments: --nonsense"),
        ("compile --framework TENSORFLOW model.hlo_module.pb", "invalid choice"),
        ("compile model.hlo_module.pb", "--framework"),
        ("compile --framework XLA a b", "one module"),
        ("compile --framework XLA model.hlo_module.pb --verbose loud", "is no level"),
        ("", "required"),
    ):
        with pytest.raises(SystemExit) as e:
            neuronx_cc.main(line.split())
        assert e.value.code == 2 and part in capfd.readouterr().err, line
    assert neuronx_cc.main(["compile", "--framework", "XLA", "missing.pb"]) == 2
    assert "missing.pb" in capfd.readouterr().err


def test_operators_are_listed(capfd):
    assert neuronx_cc.main(["list-operators", "--framework", "XLA"]) == 0
    assert {"Add", "DotGeneral", "ConvGeneralDilated"} <= set(capfd.readouterr().out.split("\n"))


def test_it_is_a_command(folder):
    done = subprocess.run([sys.executable, "-m", "glia.neuronx_cc", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "list-operators" in done.stdout


def test_flags_of_the_environment(monkeypatch):
    for name in ("GLIA_TARGET", "NEURON_PLATFORM_TARGET_OVERRIDE", "NKI_NC_VERSION", "NEURON_LOGICAL_NC_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(
        "NEURON_CC_FLAGS", "--auto-cast=none --target=inf2 --internal-hlo2tensorizer-options='--verify-hlo=true'"
    )
    assert flags.from_environment() == flags.Flags("trn1", None, auto_cast="")
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "gen4")
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "2")
    assert flags.from_environment() == flags.Flags("trn3", 2, auto_cast="")
    monkeypatch.setenv("NEURON_CC_FLAGS", "--auto-cst=none")
    with pytest.raises(glia.Error, match="NEURON-FLAGS"):
        flags.from_environment()


def test_what_would_change_numbers_and_does_not_is_said(folder, capfd, monkeypatch):
    line = "compile --framework=XLA model.hlo_module.pb --target trn1 --auto-cast=all --enable-saturate-infinity"
    assert neuronx_cc.main([*line.split(), "--output", "model.neff"]) == 0
    said = capfd.readouterr().err
    assert "--auto-cast=all is matmult here" in said and "--enable-saturate-infinity has no effect" in said
    monkeypatch.setenv("NEURON_CC_FLAGS", "--auto-cast=matmult --auto-cast-type=tf32")
    with pytest.warns(UserWarning, match="NEURON_CC_FLAGS: --auto-cast-type=tf32 has no effect"):
        assert flags.from_environment().auto_cast == ""
    # What is said, be it `none`, differs from nothing: it comes before what is said around it.
    assert flags.parse("--auto-cast=none -O1", "test") == flags.Flags(auto_cast="", effort=1)
    assert flags.parse("", "test") == flags.Flags() and flags.Flags().auto_cast is None


@pytest.mark.parametrize(
    "options, rounded",
    [
        ("--auto-cast=matmult", "bfloat16"),
        ("--auto-cast all --auto-cast-type fp16", "float16"),
        ("--auto-cast=none", "float32"),
    ],
)
def test_products_are_narrowed_where_that_is_allowed(folder, options, rounded):
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((5, 40), dtype=np.float32), rng.standard_normal((40, 6), dtype=np.float32)
    (folder / "product.pb").write_bytes(proto(lambda x, w: x @ w + x[:, :1], x, w))
    line = f"compile --framework=XLA product.pb --target trn2 -O3 {options} --output product.neff"
    assert neuronx_cc.main(line.split()) == 0
    narrow = ml_dtypes.bfloat16 if rounded == "bfloat16" else np.dtype(rounded)
    a, b = (v.astype(narrow).astype(np.float64) for v in (x, w))
    got = glia.load("product.neff").run({"arg0": x, "arg1": w})["result0"]
    np.testing.assert_allclose(got, a @ b + x[:, :1], rtol=2e-6, atol=2e-6)
    assert (np.abs(got - (x.astype(np.float64) @ w + x[:, :1])).max() > 1e-4) == (rounded != "float32")


def test_the_library_compiles_bytes():
    x = np.arange(6, dtype=np.float32)
    made = neuron_xla_compile(proto(lambda x: x * 2, x), ["--verbose=35", "-O1"], platform_target="trn1")
    from glia.program import from_bytes

    program = from_bytes(made)
    assert program.target == "trn1"
    np.testing.assert_array_equal(program.run({"arg0": x})["result0"], x * 2)
