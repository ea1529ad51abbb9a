"""Runs `glia dis` on truncated and changed copies of a program file; each must end with status 1 and a CONTAINER- error."""

import random
import subprocess
import sys

good = open(sys.argv[1], "rb").read()
random.seed(3)
cases = [good[:n] for n in [0, 1, 7, 8, 31, 32, 100, 439, 440, 441, len(good) // 2, len(good) - 1]]
cases += [good + b"\0", good + bytes(8)]
for _ in range(25):
    at = random.randrange(len(good))
    cases.append(good[:at] + bytes([good[at] ^ 1 << random.randrange(8)]) + good[at + 1 :])
for case in cases:
    with open(sys.argv[2], "wb") as f:
        f.write(case)
    r = subprocess.run(["glia", "dis", sys.argv[2]], capture_output=True, text=True)
    assert r.returncode == 1 and "error[CONTAINER-" in r.stderr and r.stdout == "", (len(case), r)
