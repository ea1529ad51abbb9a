"""`python -m glia debug`: breakpoints, steps, values, the way back, watches and who wrote what, beside NumPy."""

import re
import subprocess
import sys

import glia
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

BLOCKS = """import nki, nki.language as nl, numpy as np


def scaled(tile, factor):
    doubled = nl.add(tile, tile)
    return nl.multiply(doubled, factor)


@nki.jit
def blocks(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((128, 1), dtype=nl.float32)
    for j in range(4):
        tile = nl.load(x[:, 8 * j : 8 * j + 8])
        y = scaled(tile, j + 1.0)
        total = nl.add(total, nl.sum(y, axis=1, keepdims=True))
        nl.store(out[:, 8 * j : 8 * j + 8], y)
    return out


if __name__ == "__main__":
    x = np.arange(128 * 32, dtype=np.float32).reshape(128, 32)
    expected = x * 2 * np.repeat([1, 2, 3, 4], 8)
    print("right" if (blocks(x) == expected).all() else "wrong")
"""
LOOP = """import nki, nki.language as nl, nki.isa as nisa, numpy as np


@nki.jit
def powers(x):
    out = nl.ndarray((128, 4), x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    for i in nl.dynamic_range(4):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
        nl.store(out[:, i], t[:, 0])
    return out


powers(np.ones((128, 1), np.float32))
"""
CORES = """import nki, nki.language as nl, numpy as np


@nki.jit
def halves(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    tile = nl.load(x[:, 8 * me : 8 * me + 8])
    y = nl.add(tile, 1.0 + me)
    nl.store(out[:, 8 * me : 8 * me + 8], y)
    return out


halves[2](np.zeros((128, 16), np.float32))
"""
WATCHED = """import nki, nki.language as nl, numpy as np


@nki.jit
def logs(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    less = nl.subtract(tile, 3.0)
    large = nl.multiply(tile, 3e38)
    y = nl.add(nl.log(less), large)
    nl.store(out, y)
    return out


logs(np.arange(128 * 4, dtype=np.float32).reshape(128, 4))
"""


OBJECTS = """import nki, nki.language as nl, numpy as np


class State:
    def __init__(self):
        self.acc = nl.zeros((128, 8), dtype=nl.float32)


@nki.jit
def objects(x):
    out = nl.ndarray((128, 8), x.dtype, buffer=nl.shared_hbm)
    state = State()
    tiles = []
    for j in range(3):
        tiles.append(nl.load(x[:, 8 * j : 8 * j + 8]))
    for tile in tiles:
        state.acc = nl.add(state.acc, tile)
    nl.store(out, state.acc)
    return out


objects(np.arange(128 * 24, dtype=np.float32).reshape(128, 24))
"""


def debug(folder, text: str, commands: str, *options: str, status: int = 0) -> str:
    (folder / "kernel.py").write_text(text)
    words = [sys.executable, "-m", "glia", "debug", "--warn=off", *options, "kernel.py"]
    r = subprocess.run(words, cwd=folder, input=commands, capture_output=True, text=True, timeout=300)
    assert r.returncode == status, r.stdout + r.stderr
    assert "Traceback" not in r.stderr
    return r.stdout


def after(out: str, command: str, which: int = 0) -> str:
    """What was printed after a command."""
    parts = re.split(r"^\(\w+ lines\) (.*)\n", out, flags=re.M)
    answers = [answer for c, answer in zip(parts[1::2], parts[2::2]) if c == command]
    return answers[which].strip()


def test_a_breakpoint_with_a_condition_and_values(tmp_path):
    out = debug(tmp_path, BLOCKS, "b 16 if j == 2\nc\np y[0, 0:3]\np j\np total[1, 0]\np tile.shape\nc\nc\n")
    assert "kernel.py:16: total = nl.add" in after(out, "c")
    assert "j = 2" in after(out, "c")
    assert "[ 96. 102. 108.]" in after(out, "p y[0, 0:3]")  # x[0, 16:19] * 2 * 3
    assert after(out, "p j") == "2"
    x = [[128 * 0 + n for n in range(32, 64)]][0]  # row 1
    assert after(out, "p total[1, 0]") == str(float(sum(x[0:8]) * 2 + sum(x[8:16]) * 4))
    assert after(out, "p tile.shape") == "(128, 8)"
    assert "has ended" in after(out, "c", 1)
    assert out.endswith("right\n")


def test_a_condition_of_variables_that_are_not_there_yet(tmp_path):
    out = debug(tmp_path, BLOCKS, "b total if j == 2\nc\np j\nc\n")
    assert "total is assigned by kernel.py:16" in after(out, "c") and after(out, "p j") == "2"
    assert "has ended" in after(out, "c", 1)


def test_steps_into_and_past_a_helper(tmp_path):
    out = debug(tmp_path, BLOCKS, "u 15\ns\nwhere\nup\np j\ndown\np factor\nfinish\nback 1\nuntil 15\nn\n")
    assert "kernel.py:5: doubled" in after(out, "s")
    assert re.fullmatch(
        r"-> 0  scaled at kernel.py:5: .*\n   1  blocks at kernel.py:15: .*  \(j = 0\)", after(out, "where")
    )
    assert after(out, "p j") == "0"
    assert after(out, "p factor") == "1.0"
    assert "kernel.py:16:" in after(out, "finish")
    assert "kernel.py:6: return" in after(out, "back 1")
    assert "kernel.py:15:" in after(out, "until 15") and "j = 1" in after(out, "until 15")
    assert "kernel.py:16:" in after(out, "n")


def test_back_shows_what_was_there(tmp_path):
    out = debug(
        tmp_path, BLOCKS, "b 17\nc\nc\np total[2, 0]\nrc\np total[2, 0]\nc\np total[2, 0]\nrun\nback 1\n", status=1
    )
    first, before, again = (after(out, "p total[2, 0]", n) for n in range(3))
    x = list(range(64, 96))
    assert float(before) == sum(x[0:8]) * 2
    assert float(first) == float(again) == sum(x[0:8]) * 2 + sum(x[8:16]) * 4
    assert "kernel.py:11:" in after(out, "run")
    assert "DEBUG-PLACE" in after(out, "back 1")


def test_assignments_of_a_tile(tmp_path):
    out = debug(tmp_path, BLOCKS, "b total\nc\nc\ndelete\nb y if j == 3\nc\n")
    assert "total is assigned by kernel.py:12" in after(out, "c")
    assert "total is assigned by kernel.py:16" in after(out, "c", 1)
    assert "y is assigned by kernel.py:15" in after(out, "c", 2) and "j = 3" in after(out, "c", 2)


def test_who_wrote_and_reads(tmp_path):
    out = debug(
        tmp_path,
        BLOCKS,
        "b 17 if j == 1\nc\nwho wrote y[3, 0]\nwho reads y[3, 0]\nwho wrote x[0, 0]\nwho wrote out[0, 9]\nwho reads tile[0, 0]\n",
    )
    assert "kernel.py:6:" in after(out, "who wrote y[3, 0]")
    assert "kernel.py:17: nl.store" in after(out, "who reads y[3, 0]")
    assert "given by the caller" in after(out, "who wrote x[0, 0]")
    assert "nothing has written it" in after(out, "who wrote out[0, 9]")
    assert "nobody reads it any more" in after(out, "who reads tile[0, 0]")


def test_a_loop_of_the_device(tmp_path):
    out = debug(tmp_path, LOOP, "b 9\nc\nc\nc\np t[5, 0]\np i\nback 3\np t[5, 0]\ndelete\nc\np out[7]\n")
    assert "i = 2" in after(out, "c", 2)
    assert after(out, "p t[5, 0]") == "4.0"
    assert after(out, "p i") == "2"
    assert after(out, "p t[5, 0]", 1) == "2.0"
    assert "[ 2.  4.  8. 16.]" in after(out, "p out[7]")


def test_two_cores(tmp_path):
    out = debug(tmp_path, CORES, "b 10 if me == 1\nc\np y[0, 0]\np me\n")
    assert "core 1" in after(out, "c")
    assert after(out, "p y[0, 0]") == "2.0"


def test_lists_and_attributes(tmp_path):
    commands = "b tiles[1]\nb state.acc\nc\nc\np len(tiles)\np tiles[1][2, 0]\nc\nc\np state.acc[1, 0]\nwho wrote state.acc[1, 0]\n"
    out = debug(tmp_path, OBJECTS, commands + "info locals\nback 2\np state.acc[1, 0]\n")
    assert "state.acc is assigned by kernel.py:12" in after(out, "c")
    assert "tiles[1] is assigned by kernel.py:15" in after(out, "c", 1)
    assert after(out, "p len(tiles)") == "2"
    assert after(out, "p tiles[1][2, 0]") == "56.0"
    assert "state.acc is assigned by kernel.py:17" in after(out, "c", 2)
    assert after(out, "p state.acc[1, 0]") == str(24.0 + 32.0)
    assert "kernel.py:17" in after(out, "who wrote state.acc[1, 0]")
    assert "state: <State with acc>" in after(out, "info locals")
    assert after(out, "p state.acc[1, 0]", 1) == "24.0"


@pytest.mark.parametrize(
    "watch,where",
    [
        ("nan", r"`\w+` \[0, 0\] is nan \(3 of 512 elements\), kernel.py:10: .*log|`\w+` \[0, 0\] is nan"),
        ("inf", r"`large` \[0, 2\] is inf"),
        ("range -2 1000", r"`less` \[0, 0\] is -3.0 \(1 of 512 elements\), kernel.py:8:"),
    ],
)
def test_watches(watch, where, tmp_path):
    out = debug(tmp_path, WATCHED, f"watch {watch}\nc\n")
    assert re.search(where, after(out, "c")), out


def test_bad_commands_and_the_end_of_input(tmp_path):
    commands = "frobnicate\nbreak 900\nbreak nowhere\nprint q\nprint x[\nwho\nwatch\ninfo\ndelete 7\nstep x\nup\nu\nb 15 if (\n"
    out = debug(tmp_path, BLOCKS, commands, status=1)
    codes = re.findall(r"error\[DEBUG-([A-Z]+)\]", out)
    expected = "COMMAND PLACE PLACE VALUE VALUE COMMAND COMMAND COMMAND PLACE COMMAND PLACE COMMAND VALUE"
    assert codes == expected.split()
    assert "right" not in out  # the end of the commands is the end of the run


def test_commands_from_a_file(tmp_path):
    (tmp_path / "commands").write_text("# the second block\nb 16 if j == 1\n\ncontinue\nprint j\nquit\n")
    out = debug(tmp_path, BLOCKS, "", "-x", "commands")
    assert after(out, "print j") == "1"
    r = subprocess.run(
        [sys.executable, "-m", "glia", "debug", "-x", "missing", "kernel.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert r.returncode == 1 and "FILE-READ" in r.stderr


def test_the_compiled_program(tmp_path):
    out = debug(tmp_path, BLOCKS, "b 16\nc\ninstr\nbreak 14\ncontinue\nprint x[0, 0:4]\nquit\np j\nsave k\n")
    assert "(glia instructions) break 14" in out
    assert re.search(r"print x\[0, 0:4\]\n.*\n  0 1 2 3\n", out)
    assert after(out, "p j") == "0"
    assert (tmp_path / "k.glia").exists() and after(out, "save k") == "glia debug k.glia --input k.npz"


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "float8_e5m2", "int8", "uint16"])
def test_what_watches_look_for(name):
    import ml_dtypes
    import numpy as np
    from glia.debug.touch import Watch
    from glia.nki import dtypes

    dtype = dtypes.of(name)
    if dtype.is_float:
        limits = ml_dtypes.finfo(dtype.numpy)
        small = float(limits.smallest_normal)
        values = [0, 1, -small, small / 2, -float(limits.max), float(limits.max), np.inf, np.nan]
        expected = {"denormal": [3], "saturation": [4, 5], "inf": [6], "nan": [7]}
    else:
        limits = np.iinfo(dtype.numpy)
        values = [0, 1, limits.max, max(limits.min, -limits.max - 1), limits.max - 1]
        lowest = [3] if limits.min else []
        expected = {"denormal": [], "saturation": [2, *lowest], "inf": [], "nan": []}
    array = np.array(values, np.float64).astype(dtype.numpy)
    for kind, where in expected.items():
        assert np.flatnonzero(Watch(kind).find(array, dtype)).tolist() == where, kind
    inside = np.flatnonzero(Watch("range", 0, 1).find(array, dtype)).tolist()
    assert inside == [n for n, v in enumerate(array.astype(np.float64)) if v < 0 or v > 1]
