"""A register that is loaded from a tile in SBUF which is nothing but a copy of one element of an input is loaded from the input
itself. The value is the same; but the verifier knows that an input does not change, so that it can prove that the engines agree
about the trip count of a run-time loop, and where an address lies."""

from __future__ import annotations

from . import trace as _t


def forward_loads(t: _t.Trace, writes: dict[str, tuple], changed: set) -> None:
    """`writes`: slots that each instruction writes. `changed`: inputs (storages) that the kernel writes to."""
    loads = [n for n, op in enumerate(t.ops) if op[0] == "reg_load" and _is_tile(op[1][1])]
    if not loads:
        return
    wanted = {t.ops[n][1][1][0] for n in loads}
    writers: dict[_t.Storage, list] = {s: [] for s in wanted}
    nests: dict[int, tuple] = {}
    nest: tuple[int, ...] = ()
    for n, op in enumerate(t.ops):
        what = op[0]
        if type(what) is str:
            for slot in writes.get(what, ()):
                x = op[1][slot] if slot < len(op[1]) else None
                if type(x) is tuple and len(x) == 7 and x[0] in wanted:
                    writers[x[0]].append(n)
                    nests[n] = nest
            if what == "reg_load":
                nests[n] = nest
        elif what in (_t.LOOP, _t.WHILE):
            nest = (*nest, n)
        elif what in (_t.END_LOOP, _t.END_WHILE):
            nest = nest[:-1]
    for n in loads:
        _, slots, engine, loc, name = t.ops[n]
        found = writers[slots[1][0]]
        if len(found) != 1 or found[0] > n or nests[found[0]] != nests[n][: len(nests[found[0]])]:
            continue
        source = _copied(t.ops[found[0]], slots[1], changed)
        if source is not None:
            t.ops[n] = ("reg_load", (slots[0], source, *slots[2:]), engine, loc, name)
            t.forwarded.add(slots[1][0])


def _is_tile(operand) -> bool:
    return type(operand) is tuple and len(operand) == 7 and operand[0].on_chip and operand[0].address is None


def _copied(op: tuple, loaded: tuple, changed: set):
    """The element of an input that `op` copies to what is loaded, or None."""
    if op[0] != "dma_copy" or len(op[1]) < 2 or any(x is not None for x in op[1][2:4]):
        return None
    dst, src = op[1][:2]
    one = src[0].role == "input" and src[0] not in changed and src[5] == (1, 1) and not src[6] and src[1] == dst[1]
    return src if one and dst == loaded else None
