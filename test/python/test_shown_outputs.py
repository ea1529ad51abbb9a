"""Outputs that README.md and pages of docs show are what the commands above them print; of other pages, which test compares them."""

import re
from pathlib import Path

import glia
import numpy as np
import pytest
from pages import occurs, output, parts
from refresh_page import again, refreshed

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
HERE = ("README.md", "docs/every-order.md", "docs/neuron-compat.md")
ELSEWHERE = {
    "docs/codegen.md": "nki/test_codegen_page.py",
    "docs/debug.md": "nki/test_debug_page.py",
    "docs/getting-started-nki.md": "nki/test_getting_started.py",
    "docs/lint.md": "nki/test_tune_pages.py",
    "docs/profile.md": "nki/test_profile_page.py",
    "docs/reduce.md": "test_reduce.py",
    "docs/tune.md": "nki/test_tune_pages.py",
    "docs/tutorial.md": "nki/test_tutorial.py",
    "docs/workbench.md": "nki/test_workbench_page.py",
}
README, ORDERS = (ROOT / "README.md").read_text(), (ROOT / "docs" / "every-order.md").read_text()
FAILS = ("--every-order",)  # several outcomes are an error


def shown(page: str) -> list[tuple[str, str]]:
    """Commands, without what is said of them, and their outputs."""
    found = parts((ROOT / page).read_text())
    return [(re.split(r"\s+#\s", p.name)[0], p.text) for p in found if p.kind == "command"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("shown")
    (out / "examples").symlink_to(ROOT / "examples")
    program = (ROOT / "examples" / "softmax.gasm").read_text()
    (out / "racy.gasm").write_text(program.replace(" when max_found >= 1", ""))
    text = re.search(r"^    ; Two transfers.*?\n(?=\n)", ORDERS, re.S | re.M)[0]
    (out / "two.gasm").write_text(re.sub(r"^    ", "", text, flags=re.M))
    recipe = re.search(r"`x\.npy` is `numpy\.([^`]*)`", README)[1]
    np.save(out / "x.npy", eval(f"np.{recipe}"))
    np.save(out / "a.npy", np.array([[1, 2]], np.float32))
    np.save(out / "b.npy", np.array([[3, 4]], np.float32))
    output("glia asm examples/softmax.gasm --target trn2 -o softmax.glia", out)
    return out


@pytest.mark.parametrize(
    "command,text", [(c, t) for page in HERE for c, t in shown(page) if t], ids=lambda x: x.split("\n")[0]
)
def test_a_command(command, text, folder):
    occurs(text, output(command, folder, status=int(command.endswith(FAILS))))


def test_the_race(folder):
    error = re.search(r"^    error\[RACE\].*?\n(?=\n)", README, re.S | re.M)[0]
    found = output("glia verify racy.gasm --target trn2", folder, status=1)
    occurs("...\n" + re.sub(r"^    ", "", error, flags=re.M) + "...\n", found)


def test_the_kernel_and_the_program_of_the_readme(folder):
    kernel, *_, program = re.findall(r"```python\n(.*?)```", README, re.S)
    (folder / "kernel.py").write_text(kernel)
    assert output("python -m glia kernel.py", folder)[0] == "[[3. 3. 3. ... 3. 3. 3.]"
    (folder / "program.py").write_text(f"import numpy as np\nx = np.load('x.npy')\n{program}print(y.shape)\n")
    assert output("python program.py", folder) == ["(128, 1024)"]


def test_every_page_with_outputs_has_a_test():
    pages = [p.relative_to(ROOT) for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]]
    with_outputs = {str(p) for p in pages if any(text for _, text in shown(str(p)))}
    assert with_outputs == {*HERE, *ELSEWHERE}
    for page, test in ELSEWHERE.items():
        named = (ROOT / "test" / "python" / test).read_text()
        assert Path(page).stem in named, f"{test} says nothing of {page}"


PAGE = """`k.py`:

```python
print("took 12.5 us\\nmore\\nright")
```

    $ python k.py
    took 3 us
    wrong
    ...
"""


def test_a_page_is_refreshed(tmp_path, capsys):
    assert again("a 1\n...\nb 2\n", ["a 3", "c", "b 4"]) == "a 3\n...\nb 4\n"
    assert refreshed(PAGE, tmp_path).endswith("$ python k.py\n    took 12.5 us\n    ...\n")
    assert capsys.readouterr().err == "is not printed any more: wrong\n"
