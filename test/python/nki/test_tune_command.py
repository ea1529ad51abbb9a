"""python -m glia tune: a table for people, JSON lines for programs that write kernels."""

import json
import signal
import subprocess
import sys
import time

import glia
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

KERNEL = """import nki, nki.language as nl, numpy as np

print("loaded", flush=True)

@nki.jit
def scaled(x, tile, by=2.0):
    print("traced")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(0, x.shape[1], tile):
        nl.store(out[:, i : i + tile], nl.multiply(nl.load(x[:, i : i + tile]), by))
    return out

def doubled(x):
    return 2 * x

if __name__ == "__main__":
    raise SystemExit("not when it is tuned")
"""
COMMAND = [sys.executable, "-m", "glia", "tune"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)
    return tmp_path


def run(folder, *words, text=None):
    return subprocess.run([*COMMAND, *words], cwd=folder, input=text, capture_output=True, text=True, timeout=300)


def test_a_table(folder):
    words = ("k.py:scaled", "--space", "tile=512,1024,768", "--arg", "f32[128,2048]", "--check", "doubled")
    r = run(folder, *words)
    assert r.returncode == 0, r.stderr
    lines = r.stdout.splitlines()
    assert lines[0] == "loaded" and lines[1] == "scaled on trn2: 3 candidates, 2 good"
    assert lines[-1].split()[0] == "768" and "NKI-SLICE" in lines[-1]
    rows = [json.loads(x) for x in run(folder, *words, "--json", "--journal", "j").stdout.splitlines()[1:]]
    assert [row["code"] for row in rows] == ["", "", "NKI-SLICE"] and rows[0]["time"] <= rows[1]["time"]
    assert run(folder, *words, "--json", "--journal", "j").stdout.splitlines()[1:] == [json.dumps(x) for x in rows]


def test_nothing_good_is_status_1(folder):
    r = run(folder, "k.py:scaled", "--space", "tile=768", "--arg", "f32[128,2048]")
    assert r.returncode == 1 and "1 candidate, 0 good" in r.stdout


def test_a_reader_that_has_seen_enough(folder):
    text = "".join(json.dumps(c) + "\n" for c in candidates(512, 1024, 2048, 256))
    for words in (["k.py:scaled", "--space", "tile=512", "--arg", "f32[128,2048]"], []):
        command = f"{' '.join(COMMAND + words)} | head -c 1 > /dev/null"
        r = subprocess.run(["bash", "-c", command], cwd=folder, input=text, capture_output=True, text=True, timeout=300)
        assert not r.stderr


def test_ctrl_c(folder):
    endless = KERNEL.replace('    print("traced")\n', "    import time\n    open('begun', 'w')\n    time.sleep(3600)\n")
    (folder / "k.py").write_text(endless)
    words = ["k.py:scaled", "--space", "tile=512", "--arg", "f32[128,2048]"]
    p = subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )
    p.stdout.readline()  # the table's head
    while not (folder / "begun").exists():
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=300)
    assert p.returncode == 130 and said == ("", "")


def candidates(*tiles):
    return [
        {"file": "k.py", "function": "scaled", "keywords": {"tile": t}, "args": ["f32[128, 2048]"], "id": n}
        for n, t in enumerate(tiles)
    ]


def test_json_lines_keep_their_order(folder):
    asked = candidates(1024, 768, 512, 2048)
    asked[3]["target"] = "trn1"
    text = "".join(json.dumps(c) + "\n" for c in asked)
    r = run(folder, text=text)
    assert r.returncode == 0, r.stderr
    answers = [json.loads(line) for line in r.stdout.splitlines()]
    assert [a["id"] for a in answers] == [0, 1, 2, 3]
    assert [a["proved"] for a in answers] == [True, False, True, True]
    assert answers[1]["code"] == "NKI-SLICE" and answers[1]["place"].endswith("k.py:10")
    table = run(folder, "k.py:scaled", "--space", "tile=1024,512", "--arg", "f32[128,2048]", "--json").stdout
    times = {row["keywords"]["tile"]: row["time"] for row in map(json.loads, table.splitlines()[1:])}
    assert answers[0]["time"] == times[1024] and answers[2]["time"] == times[512]
    assert run(folder, "--workers", "1", "--journal", "j", text=text).stdout == r.stdout
    assert run(folder, "--journal", "j", text=text).stdout == r.stdout
    assert (folder / "j").read_text().count("\n") == 4


def test_lines_that_are_no_candidates(folder):
    good = candidates(512)[0]
    wrong = [
        "{",
        "[]",
        json.dumps({"function": "scaled"}),
        json.dumps(good | {"wobble": 1}),
        json.dumps(good | {"args": "f32[1]"}),
        json.dumps(good | {"args": [[1, 2]]}),
        json.dumps(good | {"args": ["f32[0]"]}),
        json.dumps(good | {"file": "absent.py"}),
        json.dumps(good | {"function": "absent"}),
        json.dumps(good | {"target": "trn9"}),
        json.dumps(good | {"cores": 99}),
        json.dumps(good | {"keywords": {"tile": 512, "wobble": 1}}),
    ]
    r = run(folder, text="\n".join([*wrong, json.dumps(good)]))  # the last line has no end
    answers = [json.loads(line) for line in r.stdout.splitlines()]
    codes = [a["code"] for a in answers]
    assert codes[:6] == ["TUNE-INPUT"] * 6 and codes[6:9] == ["TUNE-ARGUMENT", "TUNE-FILE", "TUNE-FILE"]
    assert codes[9:] == ["TARGET-UNKNOWN", "NKI-CORES", "GRAPH-ARGUMENT", ""] and r.returncode == 0
    assert all(a["message"] for a in answers[:-1]) and not r.stderr


def test_a_file_that_is_written_again(folder):
    """The one who asks waits for each answer; workers stay alive and see that the file has changed."""
    with subprocess.Popen(COMMAND, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:

        def ask():
            p.stdin.write(json.dumps(candidates(512)[0]) + "\n")
            p.stdin.flush()
            return json.loads(p.stdout.readline())

        first = ask()
        (folder / "k.py").write_text(KERNEL.replace("nl.multiply(", "nl.exp(nl.multiply(").replace(", by))", ", by)))"))
        second = ask()
        (folder / "k.py").write_text("def scaled(:\n")
        third = ask()
        p.stdin.close()
        assert p.wait(timeout=300) == 0
    assert first["proved"] and second["proved"] and second["time"] > first["time"]
    assert third["code"] == "TUNE-FILE" and third["place"].endswith("k.py:1")


@pytest.mark.parametrize(
    "words,code",
    [
        (["k.py", "--space", "tile=1"], "TUNE-OPTION"),
        (["k.py:absent", "--space", "tile=1"], "TUNE-FILE"),
        (["absent.py:scaled", "--space", "tile=1"], "TUNE-FILE"),
        (["k.py:scaled", "--space", "tile"], "TUNE-OPTION"),
        (["k.py:scaled"], "TUNE-SPACE"),
        (["k.py:scaled", "--space", "tile=512", "--arg", "f32[x]"], "TUNE-ARGUMENT"),
        (["k.py:scaled", "--space", "tile=512", "--check", "absent"], "TUNE-FILE"),
        (["--space", "tile=512"], "TUNE-OPTION"),
        (["k.py:scaled", "--space", "tile=512", "--target", "trn9"], "TARGET-UNKNOWN"),
    ],
)
def test_wrong_usage(folder, words, code):
    r = run(folder, *words, text="")
    assert r.returncode == 1 and code in r.stdout + r.stderr and "Traceback" not in r.stderr
