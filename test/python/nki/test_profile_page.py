"""What docs/profile.md shows is what its commands print, and the steps do what the page says."""

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
