"""What the scripts that run models share: how results are judged, and the command line."""

import argparse
import re
import time

import numpy as np

TOLERANCE = 1e-3  # of the norm of a tensor, in fp32, after all layers


def failure(error, also=r"(?!)"):
    """What an exception says: refused, with the code or what `also` finds; else wrong."""
    text = str(error)
    if found := re.search(r"error\[([A-Z0-9-]+)\]:?\s*([^\n]*)", text):
        return "refused", f"{found[1]}: {found[2]}"
    if found := re.search(also, text):
        return "refused", found[0]
    return "wrong", f"{type(error).__name__}: {text.strip()[:400]}"


def judged(got, want, exact):
    """Arrays by name, each against double: off by TOLERANCE of its norm, or a few times what the framework on the CPU (want) is off."""
    if different := sorted(got.keys() ^ exact.keys()):
        return "wrong", f"no {different[0]}"
    norm = np.linalg.norm
    # A gradient that is zero but for rounding (a bias before a norm) is compared with all of them.
    floor = 1e-4 * max(norm(x.ravel()) for x in exact.values())
    for what, x in exact.items():
        if got[what].shape != x.shape:
            return "wrong", f"{what} is {got[what].shape}"
        off, own = (norm((y[what] - x).ravel()) / max(norm(x.ravel()), floor) for y in (got, want))
        if not off <= max(TOLERANCE, 8 * own):
            return "wrong", f"{what} is off by {off:.1e} of its norm"
    return "passed", ""


def run(description, models, check):
    """`check(name, train)` for each model that is named; True if one is wrong."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(models))
    parser.add_argument("--forward", action="store_true", help="no training step")
    given = parser.parse_args()
    counts = {"passed": 0, "refused": 0, "wrong": 0}
    for name in given.names or models:
        for train in (False,) if given.forward else (False, True):
            begin = time.monotonic()
            kind, why = check(name, train)
            counts[kind] += 1
            what = "training step" if train else "forward"
            print(
                f"{name}, {what}: {kind} in {time.monotonic() - begin:.0f} s" + (f": {why}" if why else ""), flush=True
            )
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    return bool(counts["wrong"])
