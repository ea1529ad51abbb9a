"""docs/README.md lists every page, and no link of a page leads nowhere: neither to a file that is not there nor to a heading."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS, *sorted((ROOT / "museum").rglob("*.md"))]


def prose(page: Path) -> str:
    """Without code, in which brackets mean something else."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return re.sub(r"^    .*$|`[^`\n]*`", "", text, flags=re.M)


def links(page: Path) -> list[str]:
    return [x for x in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in x]


def anchors(page: Path) -> list[str]:
    """What links to the headings of a page say, as GitHub makes them: the second of a name gets -1."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    found: list[str] = []
    names: list[str] = []
    for title in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.append(f"{name}-{names.count(name)}" if name in names else name)
        names.append(name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_links(page):
    for link in links(page):
        path, _, heading = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{link}: there is no such file"
        assert not heading or heading in anchors(there), f"{link}: there is no such heading"


def test_every_page_is_listed():
    listed = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in links(ROOT / "docs" / "README.md")}
    missing = [str(page.relative_to(ROOT)) for page in DOCS if page.name != "README.md" and page not in listed]
    assert not missing
    assert "docs/README.md" in links(ROOT / "README.md")


def test_links_are_found():
    assert len([link for page in PAGES for link in links(page)]) > 400
    assert "read-errors" in anchors(ROOT / "docs" / "getting-started-nki.md")
