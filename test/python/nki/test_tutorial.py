"""docs/tutorial.md: its scripts are run and changed as it says, print what it shows, and take the times that it says."""

import re
from pathlib import Path

import glia
import pytest
from pages import changed, occurs, output, parts

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tutorial.md").read_text()
TIME = re.compile(r"^(\d+\.\d+) us on trn2")


def times_of(found: list[str]) -> list[float]:
    return [float(m[1]) for m in map(TIME.match, found) if m]


@pytest.fixture(scope="module")
def times(tmp_path_factory):
    """The predicted times, in the order of the page, of its commands, whose outputs are those of the page."""
    folder, file, found = tmp_path_factory.mktemp("tutorial"), None, []
    for kind, name, text in parts(PAGE):
        if kind == "file":
            file = folder / name
            file.write_text(text)
        elif kind == "diff":
            file.write_text(changed(file.read_text(), text))
        else:
            lines = output(name, folder, status=1 if text.startswith("error[") else 0)
            occurs(text, lines)
            found += times_of(lines)
    return found


def test_the_commands_print_what_is_shown(times):
    assert len(times) == 16


def test_each_section_ends_faster_than_it_began(times):
    table = re.findall(r"^\|.*\| ((?:\d+ to )+\d+) us \|$", PAGE, re.M)
    assert len(table) == 6
    left = [round(t) for t in times]
    for row in table:
        steps = [int(t) for t in row.split(" to ")]
        assert steps == sorted(steps, reverse=True)
        for step in steps:  # each of them was predicted, in this order
            left = left[left.index(step) + 1 :]


def test_the_compiler_would_have_doubled_the_buffers(tmp_path):
    first = next(p for p in parts(PAGE) if p.name == "by_hand.py")
    (tmp_path / "by_hand.py").write_text(first.text.replace('(schedule="as_written")', ""))
    assert times_of(output("python -m glia profile by_hand.py", tmp_path)) == [33.73]
