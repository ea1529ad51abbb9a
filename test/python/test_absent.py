"""Packages of the vendor's that glia does not have, under python -m glia."""

import importlib.util
import sys

import glia
import pytest


@pytest.fixture
def installed():
    glia.install()
    yield
    glia.uninstall()


@pytest.mark.parametrize("name", ("neuronx_distributed_inference", "neuronx_distributed", "transformers_neuronx"))
def test_an_import_says_what_to_use(installed, name):
    with pytest.raises(ModuleNotFoundError, match=f"glia does not provide {name}\\. .*docs/neuron-compat.md") as e:
        importlib.import_module(name)
    assert e.value.name == name
    with pytest.raises(ModuleNotFoundError, match=f"glia does not provide {name}"):
        importlib.import_module(f"{name}.models")
    assert importlib.util.find_spec(name) is None  # as packages ask each other


def test_one_that_is_installed_stays(installed, tmp_path, monkeypatch):
    (tmp_path / "transformers_neuronx.py").write_text("here = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("transformers_neuronx").here
    del sys.modules["transformers_neuronx"]


def test_nothing_is_left_behind():
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("neuronx_distributed")
