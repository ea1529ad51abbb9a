"""Runs public NKI kernels, their sources unmodified, on every target against independent references, and prints a table.

    python test/external/run_public_kernels.py [--target trn2] [--filter TEXT] [--markdown]

Where the checkouts are is said by environment variables: GLIA_NEURON_SDK (github aws-neuron/aws-neuron-sdk), GLIA_NXDI
(aws-neuron/neuronx-distributed-inference), GLIA_TRNTENSOR (trnsci/trntensor), GLIA_NKI_LIBRARY (aws-neuron/nki-library). What has
no checkout is left out."""

from __future__ import annotations

import argparse
import sys

import glia
from public_kernels import CHECKOUTS, TARGETS, checkout, run


def all_cases() -> list:
    import nki_library
    import nxdi_kernels
    import sdk_examples
    import trntensor_kernels

    return [case for m in (sdk_examples, nxdi_kernels, trntensor_kernels, nki_library) for case in m.cases()]


def _cell(outcome) -> str:
    if outcome.failure:
        return "FAILS"
    if outcome.refused:
        return "refused"
    return ("{:.1e}" if outcome.error else "exact").format(outcome.error) + ("" if outcome.good else " TOO LARGE")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--filter", default="", help="only kernels with this in their name or origin")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    glia.install()
    for name, (variable, _) in CHECKOUTS.items():
        if checkout(name) is None:
            print(f"{name}: no checkout ({variable} is not set to one), left out")
    targets = options.target or TARGETS
    cases = [c for c in all_cases() if options.filter in f"{c.origin} {c.name}"]
    row = "| {} | {} | {} | {} | {} |" if options.markdown else "{:<58} {:>14} {:>14} {:>14}  {}"
    print(row.format("kernel", *TARGETS, "reference"))
    if options.markdown:
        print("|---|---|---|---|---|")
    bad, origin = [], ""
    for case in cases:
        if case.origin != origin:
            origin = case.origin
            print(row.format(f"**{origin}**" if options.markdown else origin, "", "", "", ""))
        outcomes = {t: run(case, t) for t in targets if t in case.targets}
        bad += [o for o in outcomes.values() if not o.good]
        cells = [_cell(outcomes[t]) if t in outcomes else "-" for t in TARGETS]
        print(row.format(case.name, *cells, case.compared), flush=True)
    for o in bad:
        print(f"\n{o.case.name} on {o.target}: {o.failure or f'error {o.error}'}")
    print(
        f"\n{len(cases)} kernels, {len(bad)} bad results. A number is the largest difference over the largest magnitude."
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
