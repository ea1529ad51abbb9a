"""The rows of `make bench` about `glia reduce`: random graphs of 60 operations or more, each with a fault planted in the emitters that
matters to it (tools/graphs/Plant.cpp), and how small they become, and how soon.

python bench/reduce.py        these rows alone
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GRAPHS = 12
LINE = re.compile(
    r"^graph (\d+) on (\w+), (.*): (\S+), (\d+) operations became (\d+) after (\d+) tries in ([\d.]+) s(.*)$", re.M
)


def measure(report):
    done = subprocess.run(
        [ROOT / "build/bin/glia-graphs", "--reduce", str(GRAPHS), "1", "60"], capture_output=True, text=True
    )
    rows = [
        {"fault": m[3], "keeps": m[4], "before": int(m[5]), "after": int(m[6]), "tries": int(m[7]), "s": float(m[8])}
        for m in LINE.finditer(done.stdout)
    ]
    if len(rows) != GRAPHS:
        raise subprocess.CalledProcessError(done.returncode, "glia-graphs --reduce", done.stdout, done.stderr)
    largest, slowest = max(r["after"] for r in rows), max(r["s"] for r in rows)
    title = f"glia reduce, {GRAPHS} random graphs of {min(r['before'] for r in rows)} and more"
    report(f"{title}: largest result", largest, "<= 8", largest <= 8 and done.returncode == 0, "operations", rows)
    report("    slowest of them", slowest, "<= 60", slowest <= 60, "s")


if __name__ == "__main__":
    measure(lambda name, value, target, ok, unit="x", details=None: print(name, value, unit, target, ok))
