"""python -m glia [profile|check] [--target T] [--schedule S] FILE [arguments]: runs a script that imports nki, unmodified.

profile also prints the predicted time of each kernel (--html FILE writes a timeline); check also compares each compiled kernel
with its sequential meaning, bit for bit."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

import numpy as np

from . import _glia, hook


def _arguments(argv: list[str]):
    parser = argparse.ArgumentParser(prog="python -m glia", description=__doc__, add_help=True)
    parser.add_argument("--target", help="trn1, trn2, trn3 or a target file")
    parser.add_argument("--schedule", help="best or as_written: of kernels that do not say one (nki.jit(schedule=...))")
    parser.add_argument("--html", metavar="FILE", help="profile: write a timeline of each kernel")
    parser.add_argument("file", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return parser.parse_args(argv)


def _profile(html: str | None):
    counts: dict[str, int] = {}

    def look(traced, program, inputs):
        n = counts[traced.name] = counts.get(traced.name, 0) + 1
        profile = program.profile(inputs)
        print(f"kernel {traced.name}, call {n}, {traced.target}")
        print(profile.summary())
        if html:
            stem, ending = os.path.splitext(html)
            path = html if len(counts) == 1 and n == 1 else f"{stem}-{traced.name}-{n}{ending}"
            with open(path, "w", encoding="utf-8") as f:
                f.write(profile.html())
            print(f"timeline: {path}")

    return look


def _check(state: dict):
    from .nki import runtime

    def look(traced, program, inputs):
        compiled = program.run(inputs, verify=False)
        expected = runtime.sequential(traced, inputs)
        for o in traced.lowered.outputs:
            a, b = compiled[o.name], expected[o.name]
            different = np.flatnonzero(
                (np.ascontiguousarray(a).view(np.uint8) != np.ascontiguousarray(b).view(np.uint8))
                .reshape(a.size, -1)
                .any(1)
            )
            if different.size:
                at = np.unravel_index(different[0], a.shape)
                state["bad"] += 1
                print(
                    f"kernel {traced.name}: `{o.name}` differs in {different.size} of {a.size} elements, first at "
                    f"{tuple(int(i) for i in at)}: compiled {a[at]}, sequential {b[at]}"
                )
                return
        state["good"] += 1
        print(f"kernel {traced.name}: the compiled program agrees with its sequential meaning, bit for bit")

    return look


def main(argv: list[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    command = argv.pop(0) if argv and argv[0] in ("profile", "check", "run") else "run"
    options = _arguments(argv)
    try:
        hook.install(options.target)
        from .nki import environment, runtime
        from .nki.jit import check_schedule

        if options.schedule is not None:
            check_schedule(options.schedule)
            environment.choose_schedule(options.schedule)

        state = {"good": 0, "bad": 0}
        if command == "profile":
            runtime.observers.append(_profile(options.html))
        elif command == "check":
            runtime.observers.append(_check(state))
        if not os.path.exists(options.file):
            print(f"error: there is no file {options.file}", file=sys.stderr)
            return 2
        sys.argv = [options.file, *options.arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)))
        runpy.run_path(options.file, run_name="__main__")
    except _glia.Error as e:
        print(e, file=sys.stderr)
        return 1
    return 1 if state["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
