"""Run-time loops and registers: what is recorded, and what is refused."""

import pytest
from glia.nki import trace as _t
from glia.nki.loops import close_all, dynamic_range, fori_loop, no_reorder, while_loop
from glia.nki.registers import VirtualRegister, register_alloc, register_load, register_move, register_store


def kinds(trace):
    names = {_t.LOOP: "loop", _t.END_LOOP: "end", _t.WHILE: "while", _t.END_WHILE: "end while", _t.CHAIN: "chain"}
    return [op[0] if isinstance(op[0], str) else names[op[0]] for op in trace.ops if op[0] != _t.ALLOC]


def run_registers(trace, registers, counts=None):
    """Interprets the register instructions of a trace; returns the values, and the trip counts of loops."""
    values = {r: 0 for r in trace.registers}
    values.update({r.terms[0][0]: v for r, v in registers.items()})
    wrap = lambda x: (x + 2**31) % 2**32 - 2**31  # noqa: E731
    ops = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "max": max,
        "shift_left": lambda a, b: (a << b) if b < 32 else 0,
        "shift_right": lambda a, b: (a % 2**32) >> b if b < 32 else 0,
    }
    read = lambda x: values[x[0]] if isinstance(x, tuple) else x  # noqa: E731
    trips = []
    for op in trace.ops:
        if op[0] == "reg_move":
            values[op[1][0][0]] = read(op[1][1])
        elif op[0] == "reg_alu":
            dst, what, a, b = op[1]
            values[dst[0]] = wrap(ops[what](read(a), read(b)))
        elif op[0] == _t.LOOP:
            trips.append(read(op[1]))
            values[op[3]] = 0
    return values, trips


def test_dynamic_range_is_one_loop(trace):
    seen = []
    for i in dynamic_range(2, 11, 3):
        _t.emit("nop", ())
        seen.append(i)
    assert len(seen) == 1 and kinds(trace) == ["loop", "nop", "end"]
    assert trace.ops[0][1] == 3
    assert seen[0].const == 2 and seen[0].terms == ((trace.ops[0][3], 3),)


@pytest.mark.parametrize(
    "start,stop,step",
    [(0, 5, 1), (0, 10, 4), (3, 17, 5), (0, 1000, 7), (5, 5, 1), (9, 2, 3), (-4, 9, 6), (0, 2**31 - 8, 3)],
)
@pytest.mark.parametrize("dynamic", ["stop", "start", "both"])
def test_trip_counts_agree_with_range(trace, start, stop, step, dynamic):
    a = register_alloc() if dynamic != "stop" else start
    b = register_alloc() if dynamic != "start" else stop
    for _ in dynamic_range(a, b, step):
        pass
    given = {r: v for r, v in ((a, start), (b, stop)) if isinstance(r, VirtualRegister)}
    assert run_registers(trace, given)[1][0] == len(range(start, stop, step)) or (
        step == 1 and len(range(start, stop)) == 0 and run_registers(trace, given)[1][0] <= 0
    )


def test_loop_variables_fold_into_addresses(trace):
    a = _t.ndarray((128, 64), "float32", "sbuf")
    table = _t.ndarray((10, 4, 8), "bfloat16", "hbm")
    for i in dynamic_range(1, 4):
        for j in dynamic_range(2):
            assert kinds(trace) == ["loop", "loop"]  # no instructions for addresses
            ri, rj = i.terms[0][0], j.terms[0][0]
            v = a[:, i * 16 + j : i * 16 + j + 8]
            assert v.shape == (128, 8) and v.operand()[3] == 16 * 4 and v.operand()[6] == (ri, 64, 0, rj, 4, 0)
            p = a[i * 32, 0:4]
            assert p.operand()[2:5] == (32, 0, 1) and p.operand()[6] == (ri, 32, 1)
            t = table[i, j]
            assert t.shape == (8,) and t.operand()[3] == 64 and t.operand()[6] == (ri, 64, 0, rj, 16, 0)
    assert (i - i) == 0 and (2 + i - 1).const == 2 and (5 - i).terms == ((ri, -1),)


def test_values_of_affine_registers(trace):
    out = _t.ndarray((1, 1), "int32", "sbuf")
    for i in dynamic_range(10):
        for j in dynamic_range(10):
            register_store(out, i * 3 + j * -2 + 7)
    values, _ = run_registers(trace, {})
    stored = trace.ops[[op[0] for op in trace.ops].index("reg_store")][1][1][0]
    assert values[stored] == 7
    iv = [op[3] for op in trace.ops if op[0] == _t.LOOP]
    full = {iv[0]: 4, iv[1]: 5}
    total = 0
    for op in trace.ops:  # the same instructions with other counts
        if op[0] == "reg_alu":
            dst, what, a, b = op[1]
            read = lambda x: full[x[0]] if isinstance(x, tuple) else x  # noqa: E731
            full[dst[0]] = read(a) * read(b) if what == "multiply" else read(a) + read(b)
            total = full[dst[0]]
    assert total == 4 * 3 - 10 + 7


def test_while_register(trace):
    cond = _t.ndarray((1, 1), "int32", "sbuf")
    r = register_alloc(1)
    n = 0
    while r:
        n += 1
        for _ in range(2):
            _t.emit("nop", ())
        register_load(r, cond)
    _t.emit("nop", ())
    assert n == 1
    assert kinds(trace) == ["reg_move", "while", "nop", "nop", "reg_load", "end while", "nop"]
    assert not trace.errors and not trace.nest


def test_while_in_while_and_twice(trace):
    for _ in range(2):
        a, b = register_alloc(1), register_alloc(2)
        while a:
            while b:
                register_move(b, 0)
            register_move(a, 0)
    body = ["reg_move", "reg_move", "while", "while", "reg_move", "end while", "reg_move", "end while"]
    assert kinds(trace) == body * 2


def test_fori_and_while_loop(trace):
    fori_loop(0, 8, lambda i: _t.emit("nop", ()) and None, step=2)
    r = register_alloc(4)

    def body(x):
        assert x.frozen
        return register_alloc(0)

    while_loop(r, body)
    assert kinds(trace) == [
        "loop",
        "nop",
        "end",
        "reg_move",
        "reg_move",
        "while",
        "reg_move",
        "reg_move",
        "reg_move",
        "end while",
    ]
    assert trace.ops[0][1] == 4


def test_no_reorder(trace):
    with no_reorder():
        _t.emit("nop", ())
        with no_reorder():
            _t.emit("nop", ())
    assert kinds(trace) == ["chain", "nop", "nop", "chain"]
    with no_reorder():
        for _ in dynamic_range(3):
            pass
    assert [d.code for d in trace.diagnostics()] == ["NKI-LOOP"]


def test_depends_on(trace):
    a = _t.emit("nop", ())
    for _ in dynamic_range(3):
        b = _t.emit("nop", ())
        assert b.depends_on(a) is b
    c = _t.emit("nop", ())
    assert not trace.errors
    c.depends_on(b)
    a.depends_on(c)
    c.depends_on(3)
    assert [d.code for d in trace.diagnostics()] == ["NKI-DEPENDS"] * 3


def leave_by_break():
    for _ in dynamic_range(5):
        _t.emit("nop", ())
        break


def leave_by_return():
    for _ in dynamic_range(5):
        return


def leave_while():
    r = register_alloc(1)
    while r:
        break


def leave_inner_while():
    a, b = register_alloc(1), register_alloc(1)
    while a:
        while b:
            break
        register_move(a, 0)


@pytest.mark.parametrize("kernel", [leave_by_break, leave_by_return, leave_while, leave_inner_while])
def test_leaving_a_loop_is_refused(trace, kernel):
    kernel()
    close_all(trace)
    (d,) = trace.diagnostics()
    assert d.code == "NKI-LOOP" and d.file == __file__
    with open(__file__) as f:
        assert "for _ in" in (line := f.readlines()[d.line - 1]) or "while" in line


def use_if(r):
    if r:
        pass


def use_and(r):
    return r and 3


def use_while_not(r):
    while not r:
        pass


def use_while_and(r):
    while r and True:
        pass


def use_range(r):
    for _ in range(r):
        pass


def use_compare(r):
    return r < 3


def use_equal(r):
    return r == 0


def use_arithmetic(r):
    return r + 1


@pytest.mark.parametrize(
    "use", [use_if, use_and, use_while_not, use_while_and, use_range, use_compare, use_equal, use_arithmetic, bool, int]
)
def test_python_never_knows_a_register(trace, fails, use):
    (d,) = fails(use, register_alloc(1))
    assert d.code == "NKI-REGISTER" and d.advice
    if hasattr(use, "__code__"):
        assert d.line == use.__code__.co_firstlineno + 1


def test_registers_are_checked(trace):
    t = _t.ndarray((1, 2), "int32", "sbuf")
    register_load(register_alloc(), t)
    register_store(t[0:1, 0:1], 3)
    register_move(register_alloc(), 2**40)
    register_move(3, 4)
    for i in dynamic_range(3):
        register_move(i, 0)
    assert [d.code for d in trace.diagnostics()] == ["NKI-REGISTER"] * 5


@pytest.mark.parametrize(
    "bad", [lambda: dynamic_range(3, 4, 0), lambda: list(dynamic_range("x")), lambda: fori_loop(0, 3, 5)]
)
def test_bad_loops(trace, fails, bad):
    assert fails(bad)[0].code == "NKI-LOOP"
