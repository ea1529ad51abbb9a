"""What docs/profile.md and docs/getting-started-nki.md show of profiles is what their commands print, and the steps do what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import glia
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

DOCS = Path(__file__).resolve().parents[3] / "docs"
KERNEL = re.search(r"```python\n(.*?)```", (DOCS / "workbench.md").read_text(), re.S)[1].replace(
    "m = bm\n", "m = new\n"
)
STORY = re.search(r"## Five steps\n(.*?)\n## ", (DOCS / "profile.md").read_text(), re.S)[1]
# Changes of the kernel, and outputs behind them, in the order of the page.
PARTS = re.findall(
    r"```diff\n(.*?)```|^    \$ python -m glia profile attention.py\n((?:    [^\n]*\n)+)", STORY, re.S | re.M
)


def changed(text: str, diff: str) -> str:
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    assert text.count(old) == 1, old
    return text.replace(old, new)


def occurs(shown: str, found: list[str]) -> None:
    """The lines of a page are lines of the output, in that order; `...` stands for others."""
    at = 0
    for line in re.sub(r"^    ", "", shown, flags=re.M).splitlines():
        if line != "...":
            assert line.rstrip() in found[at:], f"{line}\nin\n" + "\n".join(found[at:])
            at = found.index(line.rstrip(), at) + 1


def profile(file: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "glia", "profile", file.name], cwd=file.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]


def test_the_story(tmp_path):
    file, text, times = tmp_path / "attention.py", KERNEL, []
    for diff, shown in PARTS:
        if diff:
            text = changed(text, diff)
            continue
        file.write_text(text)
        found = profile(file)
        assert found[-1] == "right"
        occurs(shown, found)
        times.append(float(found[1].split()[0]))
    assert len(times) == 6 and times == sorted(times, reverse=True) and times[0] / times[-1] > 2.2


def test_the_first_profile(tmp_path):
    page = (DOCS / "getting-started-nki.md").read_text()
    file = tmp_path / "kernel.py"
    file.write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
    occurs(
        re.search(r"^    \$ python -m glia profile --html [^\n]*\n((?:    [^\n]*\n)+)", page, re.M)[1], profile(file)
    )
