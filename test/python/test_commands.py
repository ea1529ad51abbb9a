"""Every command that a page, a message, a rule or a docstring prints works when it is typed: whole commands are run, on files of the
names they mention; where only an option is mentioned, the command has it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import glia
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "museum").rglob("*.md"))]
SOURCES = [
    *sorted(
        p for folder in ("lib", "tools/glia", "include", "python") for p in (ROOT / folder).rglob("*") if p.is_file()
    ),
    *sorted((ROOT / "errors").glob("*.toml")),
    *sorted((ROOT / "rules").glob("*.toml")),
]
PROGRAM = r"(?:python -m glia|glia|neuronx-cc)"
# What stands for something in a command, by the command it stands in.
STAND = {
    "isa": {"NAME": "nc_matmul"},
    "targets": {"NAME": "trn2", "A": "trn1", "B": "trn3"},
    "explain": {"CODE": "RACE", "ID": "RACE", "RULE": "RACE"},
    "interpret": {"NAME": "main"},
    "verify": {"FILE": "some.proof"},
    "run": {"FILE": "small.gasm", "N": "1", "NAME": "m"},
    "debug": {"FILE": "some.order"},
    "compare": {"NAME": "reference", "f": "reference"},
}
ANYWHERE = {"PROGRAM": "softmax.glia", "FILE": "model.mlir", "DIR": "stages"}
INPUT = {"small.gasm": ["--input", "x=x.npy"], "model.neff": ["--input", "0=x.npy"]}
THEIR_TEST_RUNS_THEM = ("tutorial.md",)  # test_tutorial.py: one command after the other
NOT_OF_THIS_MACHINE = ("train.py",)  # needs torch_xla: test/pytorch runs such scripts
# test_debug_page.py, test_shown_outputs.py; the first two are wrong, and their commands say so
RUN_ELSEWHERE = ("reuse.gasm", "two.gasm", "roots.mlir")
KERNEL = """
import numpy as np, nki, nki.language as nl

@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    m = nl.add(t, t)
    nl.store(out, m)
    return out

def reference(x):
    return x + x

double(np.ones((128, 8), np.float32))
"""
RANK = """
target trn2
input x : f32[4]
output y : f32[4]
queue q
gpsimd collective dst=y src=x queue=q kind=all_reduce op=add ranks=2 width=2 groups=[0, 1]
"""
SHARDED = """
module attributes {mhlo.num_partitions = 8 : i32} {
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}
}
"""
GRAPH = """
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = stablehlo.add %x, %x : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
"""
NISA = """
nisa.kernel @copy target "trn2" {
  %x = tensor input : f32[128, 16]
  %y = tensor output : f32[128, 16]
  core 0 {
    %t = alloc sbuf : f32[128, 16]
    dma_copy dst=%t src=%x
    dma_copy dst=%y src=%t
  }
}
"""
SMALL = """
target trn2
input x : f32[8, 16]
output y : f32[8, 16]
sbuf t : f32[8, 16] @ 0
queue q
semaphore loaded
sync dma_copy dst=t src=x queue=q then loaded += 16
sync dma_copy dst=y src=t queue=q when loaded >= 16
"""


def _lines(path: Path) -> list[str]:
    """Command lines of a page: of indented or fenced blocks, without prompt and comment."""
    found = re.findall(rf"^(?: {{4,}}|\$ |)(?:\$ )?({PROGRAM} [^\n]*)$", path.read_text(), re.M)
    lines = [part.strip() for text in found for part in re.split(r"\s#\s|\s{3,}", text)[0].split(" ; ")]
    return [
        x for x in lines if not re.search(r"[.;,:)]$|\w [a-z]+ [a-z]+ [a-z]+ [a-z]+", x)
    ]  # a sentence that begins so


def _quoted(path: Path) -> list[str]:
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return []
    return [m for m in re.findall(rf"`({PROGRAM} [^`\n]*)`", text) if not re.search(r'[%"{]|\.\.\.', m)]


def _examples() -> list[str]:
    """Those of `--help`."""
    names = re.findall(r"^  (\w+) ", _run(["glia", "--help"]).stdout.partition("Subcommands:")[2], re.M)
    text = "\n".join(_run(["glia", name, "--help"]).stdout for name in names)
    found = re.findall(r"(?:Example:|^        ) ((?:\w+=\w+ )?glia [^\n]*)", text, re.M)
    return [part.strip() for command in found for part in re.split(r"&&|;", command)]


def _run(words: list[str], folder=None, **environment):
    tool = Path(glia.__file__).parents[2] / "bin" / "glia"
    as_typed = {
        "glia": [str(tool)],
        "python": [sys.executable],
        "neuronx-cc": [sys.executable, "-m", "glia.neuronx_cc"],
    }
    env = {**os.environ, "PYTHONPATH": str(Path(glia.__file__).parents[1]), **environment}
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run([*as_typed[words[0]], *words[1:]], cwd=folder, env=env, **streams, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that commands mention."""
    out = tmp_path_factory.mktemp("commands")
    for name in ("examples", "museum"):
        (out / name).symlink_to(ROOT / name)
    (out / "targets").mkdir()
    for name, text in {
        "model.mlir": GRAPH,
        "f.mlir": GRAPH,
        "step.mlir": SHARDED,
        "kernel.nisa": NISA,
        "small.gasm": SMALL,
        "racy.gasm": re.sub(r"\bt\b", "neg_max", SMALL.replace(" when loaded >= 16", "")),
        "wrong.mlir": GRAPH.replace(
            "stablehlo.add %x, %x :", "stablehlo.custom_call @mine(%x) : (tensor<8x16xf32>) ->"
        ),
        "softmax.gasm": (ROOT / "examples" / "softmax.gasm").read_text(),
        "first.gasm": RANK,
        "second.gasm": re.sub(r"\by\b", "z", RANK),
        "commands.txt": "break vector#0\ncontinue\n",
    }.items():
        (out / name).write_text(text)
    for name in ("kernel.py", "k.py", "script.py", "example.py", "product.py"):
        (out / name).write_text(KERNEL)
    story = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "workbench.md").read_text(), re.S)[1]
    (out / "attention.py").write_text(story.replace("            m = bm\n", "            m = new\n"))
    shutil.copy(out / "small.gasm", out / "kernel.gasm")
    (out / "mine.toml").write_text(_run(["glia", "targets", "trn2", "--toml"]).stdout)
    np.save(out / "x.npy", np.ones((128, 1024), np.float32))
    np.savez(out / "in.npz", arg0=np.ones((8, 16), np.float32))
    for text in (
        "glia asm examples/softmax.gasm --target trn2 -o softmax.glia",
        "glia compile model.mlir -o model.glia",
        "glia compile model.mlir -o f.glia",
        "glia compile step.mlir -o step.glia",
        "glia verify softmax.glia --certificate p.proof",
        "glia verify model.glia --certificate model.proof",
        "glia asm first.gasm -o first.glia",
        "glia asm second.gasm -o second.glia",
        "glia verify first.glia --rank second.glia --certificate first.proof --certificate second.proof",
    ):
        done = _run(shlex.split(text), out)
        assert done.returncode == 0, f"{text}\n{done.stderr}"
    for name in ("p.glia", "faster.glia"):
        shutil.copy(out / "softmax.glia", out / name)
    shutil.copy(out / "model.glia", out / "model.neff")
    shutil.copy(ROOT / "test" / "fuzz" / "corpus" / "hlo" / "dot.pb", out / "model.hlo_module.pb")
    return out


def _commands() -> list[str]:
    found: dict[str, None] = {}
    for page in PAGES:
        found.update(dict.fromkeys([*([] if page.name in THEIR_TEST_RUNS_THEM else _lines(page)), *_quoted(page)]))
    for source in SOURCES:
        found.update(dict.fromkeys(_quoted(source)))
    return sorted(found)


COMMANDS = [c for c in _commands() if not any(word in c for word in NOT_OF_THIS_MACHINE + RUN_ELSEWHERE)]


def test_commands_are_found():
    assert len(COMMANDS) > 60 and "glia asm examples/softmax.gasm --target trn2 -o softmax.glia" in COMMANDS
    assert len(_examples()) > 12


def _is_whole(command: str, words: list[str]) -> bool:
    """Whether it can be run: it names a file, or needs none."""
    if words[0] == "glia" and words[1] in ("isa", "rules", "targets", "explain", "devices"):
        return not (words[1] == "explain" and len(words) == 2) and words[-1] != "--diff"
    return any(re.search(r"\.\w+$", w) and not w.startswith("-") and "=" not in w for w in words)


def _check(command: str, folder: Path) -> None:
    command, _, written = command.partition(" > ")
    words = shlex.split(command.replace("[", "").replace("]", ""))
    environment = dict(words.pop(0).split("=") for _ in range(1) if "=" in words[0])
    sub = next((w for w in words[1:] if not w.startswith("-") and w not in ("-m", "glia")), "")
    stand = {**ANYWHERE, **STAND.get(sub, {})}
    words = [stand.get(w, w) for w in words]
    words = [re.sub(r"=(DIR)$", "=stages", w) for w in words]
    if not _is_whole(command, words):
        start = words[: words.index(sub) + 1] if sub else words[:1] if words[0] == "glia" else words[:3]
        shown = _run([*start, "--help"], folder)
        assert shown.returncode == 0, f"`{command}`: there is no such command\n{shown.stderr}"
        for option in [w.partition("=")[0] for w in words if w.startswith("--")]:
            assert option in shown.stdout, f"`{command}`: {sub} has no option {option}"
        return
    size = (8, 16) if re.search(r"model|f\.mlir|small|racy|kernel\.gasm", " ".join(words)) else (128, 1024)
    np.save(folder / "x.npy", np.ones(size, np.float32))
    if sub in ("run", "debug") and "--input" not in words:
        words += ["--input", "arg0=x.npy" if "model" in command else "x=x.npy"]
    if sub == "compile" and "-o" not in words and words[0] == "glia":
        words += ["-o", "made.glia"]
    done = _run(words, folder, **environment)
    assert done.returncode == 0, f"`{command}` as {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    if written:
        (folder / written).write_text(done.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_printed(command, folder):
    _check(command, folder)


def test_the_examples_of_help(folder):
    for command in _examples():
        _check(command, folder)


def test_the_note_of_a_race(folder):
    """It names the file and its inputs, and shows the other order."""
    refused = _run(["glia", "verify", "racy.gasm"], folder)
    note = re.search(r"to see the other order: (glia run .*)", refused.stderr)
    assert refused.returncode == 1 and note, refused.stderr
    assert note[1].startswith("glia run racy.gasm --input x=x.npy --strict --hold core0.sync#")
    np.save(folder / "x.npy", np.ones((8, 16), np.float32))
    done = _run(shlex.split(note[1]), folder)
    assert "error[RACE]: the " in done.stderr and "is not ordered after" in done.stderr, done.stderr
