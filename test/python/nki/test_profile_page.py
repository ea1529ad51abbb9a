"""What docs/profile.md and docs/getting-started-nki.md show of profiles is what their commands print, and the steps do what the page says."""

import re
from pathlib import Path

import glia
import pytest
from pages import changed, occurs, output, parts

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

DOCS = Path(__file__).resolve().parents[3] / "docs"
KERNEL = re.search(r"```python\n(.*?)```", (DOCS / "workbench.md").read_text(), re.S)[1].replace(
    "m = bm\n", "m = new\n"
)
STORY = re.search(r"## Five steps\n(.*?)\n## ", (DOCS / "profile.md").read_text(), re.S)[1]


def test_the_story(tmp_path):
    file, text, times = tmp_path / "attention.py", KERNEL, []
    for kind, command, shown in parts(STORY):
        if kind == "diff":
            text = changed(text, shown)
            continue
        file.write_text(text)
        found = output(command, tmp_path)
        assert found[-1] == "right"
        occurs(shown, found)
        times.append(float(found[1].split()[0]))
    assert len(times) == 6 and times == sorted(times, reverse=True) and times[0] / times[-1] > 2.2


def test_the_first_profile(tmp_path):
    page = (DOCS / "getting-started-nki.md").read_text()
    file = tmp_path / "kernel.py"
    file.write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
    part = next(p for p in parts(page) if p.name.startswith("python -m glia profile --html"))
    occurs(part.text, output(part.name, tmp_path))
