"""Programs that are wrong in ways that are easy to miss (refused/): the verifier refuses each of them."""

from __future__ import annotations

from pathlib import Path

import glia
import pytest

FILES = sorted((Path(__file__).resolve().parent / "refused").glob("*.gasm"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_refused(path):
    assert not glia.assemble(path.read_text(), file=path.name).verify().ok
