"""docs/compiler.md shows what the compiler does with its example: the groups, and the table of what was tried."""

import re
from pathlib import Path

import pytest

pytest.importorskip("jax")

import glia
import jax
import jax.numpy as jnp

PAGE = (Path(__file__).parents[2] / "docs" / "compiler.md").read_text()


def test_the_example_is_what_the_page_says(tmp_path):
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1].partition("open(")[0]
    scope = {"jax": jax, "jnp": jnp}
    exec(code, scope)
    f32 = scope["f32"]
    exe = glia.jit(scope["f"], target="trn2").compile(f32(256, 512), f32(512), f32(512, 256), dump=str(tmp_path))
    (choice,) = exe.choices()
    lines = [f"{time / 1000:.2f} us  {way}" for way, time in choice["tried"].items()]
    assert re.findall(r"^ +(\d+\.\d+ us  [a-z ]*[a-z])", PAGE, re.MULTILINE) == lines
    assert f"{choice['taken']}  (taken)" in PAGE
    assert f"{choice['kernel']}, {choice['groups']} groups" in PAGE
    groups = re.split(r"^ group \d+\n", (tmp_path / "groups.txt").read_text(), flags=re.MULTILINE)[1:]
    made = [[o for o in re.findall(r"stablehlo\.(\w+)", g) if o != "broadcast_in_dim"] for g in groups]
    said = [re.split(r", ", g) for g in re.findall(r"^    group \d+ +([a-z_, ]*[a-z_])  ", PAGE, re.MULTILINE)]
    assert said == made
