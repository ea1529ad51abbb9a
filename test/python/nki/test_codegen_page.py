"""The timelines of docs/codegen.md are those of its kernel, and its steps are those that the compiler takes."""

import re
from pathlib import Path

import glia
import pytest
from pages import occurs, output, parts

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "codegen.md").read_text()
STORY = re.search(r"## The way of one product\n(.*?)\n## ", PAGE, re.S)[1]


def test_the_way_of_one_product(tmp_path):
    (file, *commands) = parts(STORY)
    (tmp_path / file.name).write_text(file.text)
    times = []
    for _, command, shown in commands:
        found = output(command, tmp_path)
        occurs(shown, found)
        times.append(float(found[1].split()[0]))
    assert len(times) == 2 and times[1] < 0.6 * times[0]


def test_tiles_made_once_become_as_many(tmp_path):
    """What the page says of tiles that are made before the loops."""
    file = parts(STORY)[0]
    lines = file.text.splitlines()
    made = [line for line in lines if re.search(r"(left|right|sums) = nl.ndarray", line)]
    rest = [line for line in lines if line not in made]
    at = next(i for i, line in enumerate(rest) if "shared_hbm" in line)
    once = rest[: at + 1] + ["    " + line.strip() for line in made] + rest[at + 1 :]
    times = []
    for name, text in (("each.py", lines), ("once.py", once)):
        (tmp_path / name).write_text("\n".join(text))
        times.append(float(output(f"python -m glia profile --target trn2 {name}", tmp_path)[1].split()[0]))
    assert len(made) == 3 and times[1] == pytest.approx(times[0], rel=0.02)


def test_a_timeline_is_no_json(tmp_path):
    (tmp_path / "empty.py").write_text("")
    found = output("python -m glia profile --timeline --json empty.py", tmp_path, status=2)
    assert "not allowed with argument --json" in found[-1]
