"""The rows of `make bench` about graphs: every program of the museum, also the large ones that the demo leaves out."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "museum"))
import table


def museum(report):
    for case, rows in table.cases():
        found = []

        def kept(rows=rows, found=found):
            for r in rows(everything=True):
                found.append(r)
                yield r

        wrong = table.show(kept(), f"museum/{case}")
        right = len(found) - wrong
        details = [r._asdict() for r in found]
        report(f"museum/{case}: programs right and proved", right, f">= {len(found)}", found and not wrong, "", details)


PARTS = (museum,)
