"""What a kernel is warned of. What it computes for nobody: results that reach no output; a line is named if nothing that it computes, in
any iteration and on any core, is used; of a chain of such lines the last one. Copies that look like transposes, and are none."""

from __future__ import annotations

from .. import _glia
from ..warn import warning
from . import trace as _t

_SLOTS = {i["name"]: [s["kind"] for s in i["slots"]] for i in _glia.instructions()}
_COMMAND = {i["name"]: [s["name"] for s in i["slots"]] for i in _glia.instructions()}
_COMMAND = {name: slots.index("reduce_cmd") for name, slots in _COMMAND.items() if "reduce_cmd" in slots}
_OUT = ("out", "opt_out")
_WRITTEN = (*_OUT, "inout")


def warnings_of(traces: list, tensors, function: str, place) -> list:
    """`tensors` are the _Tensors of lower.py."""
    if not tensors.outputs and not tensors.written:
        text = f"the kernel `{function}` returns nothing and writes to no argument: whatever it computes is lost"
        return [warning("NKI-NOTHING", text, "Return a tensor in nl.shared_hbm.", place, f"kernel {function}")]
    dead = _dead(traces, tensors)
    return [
        warning(
            "NKI-UNUSED",
            f"nothing uses what this line computes: `{name}` reaches no output",
            "Store it or use it; or leave the line out.",
            at,
            f"kernel {function}",
        )
        for at, name in dead
    ] + _turned(traces, function)


def _turned(traces: list, function: str) -> list:
    """Copies of [a, b] to [b, a], once for each line: they keep the order of the elements."""
    found: dict = {}
    for t in traces:
        places = list(t.locations)
        for entry, shapes in t.turned.items():
            found.setdefault(places[t.ops[entry][3]], shapes)
    return [
        warning(
            "NKI-TURNED",
            f"{list(src)} is copied to {list(dst)} in the order of its elements, and is not transposed",
            "nl.transpose, nl.load_transpose2d and nisa.dma_transpose transpose. If the order is meant, say so: "
            f"dst.reshape({tuple(src)}).",
            at,
            f"kernel {function}",
        )
        for at, (src, dst) in found.items()
    ]


class _Step:
    __slots__ = ("place", "reads", "writes")

    def __init__(self, place, reads, writes):
        self.place, self.reads, self.writes = place, reads, writes


def _dead(traces, tensors) -> list[tuple]:
    """Lines whose results reach no output, with the name of one."""
    steps: list[_Step] = []
    names: dict = {}
    for t in traces:
        places = list(t.locations)
        kept = any(
            _command(op) == "reduce" for op in t.ops
        )  # accumulators are carried from one instruction to the next
        for op in t.ops:
            if type(op[0]) is str:
                steps.append(_step(op, places, tensors, names))
                if kept and _command(op) not in (None, "idle"):
                    steps[-1].writes = []
    writers: dict = {}
    for n, s in enumerate(steps):
        for key in s.writes:
            writers.setdefault(key, []).append(n)
    live: set[int] = set()
    wanted = [*tensors.outputs, *tensors.written, *(s for t in traces for s in t.forwarded)]
    for n, s in enumerate(steps):
        if not s.writes:  # it acts on something else: a register, a barrier, the other core, the standard output
            live.add(n)
            wanted += s.reads
    seen = set(wanted)
    while wanted:
        for n in writers.get(wanted.pop(), ()):
            if n not in live:
                live.add(n)
                new = [key for key in steps[n].reads if key not in seen]
                seen.update(new)
                wanted += new
    used = {steps[n].place for n in live}
    lines: dict = {}  # dead line -> what it reads, what it writes
    for n, s in enumerate(steps):
        if n not in live and s.place not in used and s.place[1]:
            reads, writes = lines.setdefault(s.place, (set(), {}))
            reads.update(s.reads)
            writes.update(dict.fromkeys(s.writes))
    ends = [p for p, (_, w) in lines.items() if not any(w.keys() & r for q, (r, _) in lines.items() if q != p)] or list(
        lines
    )[-1:]
    return [(p, names[next(iter(lines[p][1]))]) for p in ends]


def _step(op: tuple, places: list, tensors, names: dict) -> _Step:
    mnemonic, slots, _, loc, _ = op
    kinds = _SLOTS[mnemonic]
    reads, writes = [], []
    for kind, x in zip(kinds, slots):
        if type(x) is not tuple or len(x) != 7:
            continue
        key = _key(x[0], tensors)
        names[key] = x[0].name
        if kind in _WRITTEN and mnemonic != "sendrecv":
            writes.append(key)
        if kind not in _OUT:
            reads.append(key)
    return _Step(places[loc], reads, writes)


def _command(op: tuple) -> str | None:
    """What an instruction does with the accumulators of its engine."""
    slot = _COMMAND.get(op[0]) if type(op[0]) is str else None
    return None if slot is None or slot >= len(op[1]) else op[1][slot]


def _key(s: _t.Storage, tensors):
    if not s.on_chip:
        return tensors.keys[s]
    return s if s.address is None else ("placed", s.trace.core, s.region)  # tensors at addresses may share memory
