"""What docs/tune.md and docs/lint.md show is what their commands print."""

import re
import subprocess
import sys
from pathlib import Path

import glia
import pytest
from pages import parts

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

DOCS = Path(__file__).resolve().parents[3] / "docs"


def untimed(text: str) -> str:
    """Without the predicted times, which are tested elsewhere."""
    return re.sub(r"\d+\.\d+( us|(?=, \"instructions))", "T", text)


@pytest.mark.parametrize("name", ["tune", "lint"])
def test_the_commands(name, tmp_path):
    page = (DOCS / f"{name}.md").read_text()
    (tmp_path / "k.py").write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
    commands = [(p.name, p.text) for p in parts(page) if p.kind == "command"]
    assert any(command.startswith("python -m glia") for command, _ in commands)
    for command, output in commands:
        source, pipe, words = command.rpartition(" | ")
        if words.startswith("cat "):
            (tmp_path / words.split()[1]).write_text(output)
            continue
        stdin = (tmp_path / source.split()[1]).read_text() if pipe else ""
        r = subprocess.run(
            [sys.executable, *words.split()[1:]], cwd=tmp_path, input=stdin, capture_output=True, text=True, timeout=300
        )
        assert untimed(r.stdout) == untimed(output), r.stderr
