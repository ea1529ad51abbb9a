"""Programs that are wrong in ways that are easy to miss (refused/): the verifier refuses each of them."""

from __future__ import annotations

from pathlib import Path

import glia
import pytest
from litmus_programs import head

FILES = sorted((Path(__file__).resolve().parent / "refused").glob("*.gasm"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_refused(path):
    text = path.read_text()
    program = glia.assemble(text, file=path.name)
    assert not program.verify(require_proved="--require-proved" in head(text, "flags")).ok
