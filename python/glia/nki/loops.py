"""Loops that the device runs. The body is traced once. `dynamic_range` and `while reg` are ordinary Python loops whose body
Python runs once: a generator that yields one time, and a register whose truth value is asked twice. Both notice when they are
not what they seem: an `if`, or a loop that is left by break or return."""

from __future__ import annotations

import ast
import linecache
import sys

from . import trace as _t
from .registers import VirtualRegister, alu, is_integer, register_move
from .source import user_frame, user_place

_LEFT = "A run-time loop runs to its end: no break, return or exception in its body."


class _Open:
    """A loop that is being traced."""

    __slots__ = ("condition", "frame", "is_while", "key", "place")

    def __init__(self, is_while, place, frame=None, key=None):
        self.is_while, self.place, self.frame, self.key, self.condition = is_while, place, frame, key, None


def _begin(t, is_while: bool, frame=None, key=None) -> _Open:
    if t.chains:
        _t.error("NKI-LOOP", "a run-time loop inside of nl.no_reorder", "Put no_reorder into the body of the loop.")
    t.loops += 1
    entry = _Open(is_while, user_place(2), frame, key)
    t.open_loops.append(entry)
    t.nest = (*t.nest, t.loops)
    return entry


def _end(t, entry: _Open) -> None:
    """Closes `entry`, and the loops inside of it that were left open, each with an error."""
    while t.open_loops:
        top = t.open_loops.pop()
        t.nest = t.nest[:-1]
        t.ops.append((_t.END_WHILE if top.is_while else _t.END_LOOP,))
        if top is entry:
            return
        _left(top)


def _left(entry: _Open) -> None:
    _t.error("NKI-LOOP", "a run-time loop is left before its end", _LEFT, place=entry.place, soft=True)


def close_all(t) -> None:
    """At the end of the kernel: what is still open was left by break or return."""
    while t.open_loops:
        entry = t.open_loops[-1]
        _left(entry)
        _end(t, entry)


# ---- counted loops


def _bound(x, what: str):
    if isinstance(x, VirtualRegister):
        return x
    if is_integer(x):
        return x.__index__()
    raise _t.failure("NKI-LOOP", f"the {what} of a run-time loop is an integer or a register, not a {type(x).__name__}")


def _step(step) -> int:
    if not is_integer(step) or step.__index__() < 1:
        raise _t.failure(
            "NKI-LOOP", "the step of a run-time loop is a positive integer known now", value=repr(step), limit=">= 1"
        )
    return step.__index__()


def _held(x):
    """A bound that cannot change while the loop runs."""
    if isinstance(x, int) or x.frozen:
        return x
    copy = _t.register()
    register_move(copy, x)
    return VirtualRegister.affine(copy.terms, 0)


def _divided(n: VirtualRegister, step: int) -> VirtualRegister:
    """n // step for n >= 0. The sequencer shifts and subtracts; it has no division."""
    if step & (step - 1) == 0:
        return n if step == 1 else alu("shift_right", n, step.bit_length() - 1)
    quotient = _t.register()
    register_move(quotient, 0)
    rest = n
    for bit in range(31 - step.bit_length(), -1, -1):
        part = step << bit
        less = alu("shift_right", alu("subtract", rest, part), 31)  # 1 if rest < part
        fits = alu("xor", less, 1)
        rest = alu("subtract", rest, alu("multiply", fits, part))
        quotient = alu("or", quotient, alu("shift_left", fits, bit))
    return quotient


def _count(start, stop, step: int):
    """The number of iterations, an int or a slot tuple."""
    if isinstance(start, int) and isinstance(stop, int):
        return max(0, -(-(stop - start) // step))
    if isinstance(stop, int):
        length = materialized(VirtualRegister.affine(tuple((r, -k) for r, k in start.terms), stop - start.const))
    elif isinstance(start, int):
        length = stop if start == 0 else materialized(VirtualRegister.affine(stop.terms, stop.const - start))
    else:
        difference = stop - start
        if isinstance(difference, int):
            return max(0, -(-difference // step))
        length = materialized(difference)
    if step > 1:  # negative lengths stay no iterations
        length = _divided(alu("add", alu("max", length, 0), step - 1), step)
    elif not (isinstance(start, int) and start == 0 and length is stop and length.is_plain()):
        length = alu("max", length, 0)
    return length.operand()


def materialized(v: VirtualRegister) -> VirtualRegister:
    from .registers import materialize

    return v if v.is_plain() else materialize(v)


def _open_counted(t, start, stop, step: int):
    """Begins a loop; returns its entry and its variable."""
    start, stop = _held(_bound(start, "start")), _bound(stop, "end")
    stop = stop if isinstance(stop, int) else _held(stop)
    count = _count(start, stop, step)
    loc = t.location()
    entry = _begin(t, False)
    iv = _t.Register(t, t.nest)
    t.ops.append((_t.LOOP, count, loc, iv))
    if isinstance(start, int):
        return entry, VirtualRegister.affine(((iv, step),), start)
    return entry, VirtualRegister.affine((*start.terms, (iv, step)), start.const)


def dynamic_range(start, stop=None, step=1):
    """A loop that the device runs: `for i in nl.dynamic_range(n)`. Bounds may be registers, the step may not."""
    if stop is None:
        start, stop = 0, start
    return _once(_t.required("nl.dynamic_range"), start, stop, _step(step))


def _once(t, start, stop, step):
    entry, variable = _open_counted(t, start, stop, step)
    try:
        yield variable
    except GeneratorExit:
        if entry in t.open_loops:
            _end(t, entry)
            _left(entry)
        raise
    if entry in t.open_loops:
        _end(t, entry)


def fori_loop(lower, upper, body_fun, step=1) -> None:
    """body_fun(i) for i from `lower` to `upper` (exclusive), run by the device."""
    t = _t.required("nl.fori_loop")
    if not callable(body_fun):
        raise _t.failure(
            "NKI-LOOP", f"the body of fori_loop is a function of the loop variable, not a {type(body_fun).__name__}"
        )
    entry, variable = _open_counted(t, lower, upper, _step(step))
    result = body_fun(variable)
    if result is not None:
        _t.error("NKI-LOOP", "the body of fori_loop returns a value", "What a loop computes goes through SBUF or HBM.")
    _end(t, entry)


# ---- loops with a condition


def _open_while(t, register: VirtualRegister, frame=None, key=None) -> _Open:
    condition = register.operand()
    loc = t.location()
    entry = _begin(t, True, frame, key)
    entry.condition = register
    t.ops.append((_t.WHILE, condition, loc))
    return entry


def while_loop(init, body_fun) -> None:
    """body_fun(r) while r is not 0; it returns the next r."""
    t = _t.required("nl.while_loop")
    if not isinstance(init, VirtualRegister) or not callable(body_fun):
        raise _t.failure(
            "NKI-LOOP", "while_loop takes a register and a function", "Make the register with nisa.register_alloc."
        )
    condition = _t.register()
    register_move(condition, init)
    entry = _open_while(t, condition)
    value = _t.register()
    register_move(value, condition)
    result = body_fun(VirtualRegister.affine(value.terms, 0))
    if isinstance(result, VirtualRegister):
        register_move(condition, result)
    else:
        _t.error(
            "NKI-LOOP",
            f"the body of while_loop returns a {type(result).__name__}",
            "It returns the next condition register.",
        )
    _end(t, entry)


_whiles: dict[str, set | None] = {}  # file -> places of its while loops


def _places(filename: str):
    """Places of the while loops of a file whose test is one value, of the test and of the statement (interpreters differ in
    which one they keep); None if the source is not there."""
    if filename not in _whiles:
        lines = linecache.getlines(filename)
        try:
            tree = ast.parse("".join(lines)) if lines else None
        except SyntaxError:
            tree = None
        _whiles[filename] = (
            None
            if tree is None
            else {
                (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset)
                for loop in ast.walk(tree)
                if isinstance(loop, ast.While)
                and isinstance(loop.test, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
                for n in (loop, loop.test)
            }
        )
    return _whiles[filename]


def _place_in_code(frame):
    """Line, last line, column and last column of the expression whose truth is asked."""
    code = frame.f_code
    if hasattr(code, "co_positions"):
        for i, place in enumerate(code.co_positions()):
            if 2 * i == frame.f_lasti:
                return place
    return (frame.f_lineno, None, None, None)


def _is_while(frame, place) -> bool:
    places = _places(frame.f_code.co_filename)
    if places is None:
        return False
    if None in place:  # no columns: the line must do
        return any(p[0] == place[0] for p in places)
    return tuple(place) in places


def test_of_while(register: VirtualRegister) -> bool:
    """The truth value of a register: that of a `while` opens the loop the first time and closes it the second time."""
    t = _t.required("the value of a register")
    frame = user_frame(2)
    place = _place_in_code(frame)
    if sys._getframe(2) is not frame or not _is_while(frame, place):
        raise _t.failure(
            "NKI-REGISTER",
            "Python asks for the value of a register, which is known only when the kernel runs",
            "Only `while reg:` may do that. For a choice, compute both and select, or use a loop of 0 or 1 iterations.",
        )
    for entry in t.open_loops:
        if entry.frame is frame and entry.key == place:
            if register.terms != entry.condition.terms:  # the test made a new register: it is what decides
                register_move(entry.condition, register)
            _end(t, entry)
            return False
    _open_while(t, register, frame, place)
    return True


# ---- order


class no_reorder:
    """`with nl.no_reorder():` instructions in the block run in the order of the program."""

    def __enter__(self):
        t = _t.required("nl.no_reorder")
        t.chains += 1
        if t.chains == 1:
            t.ops.append((_t.CHAIN, True))
        return self

    def __exit__(self, *_):
        t = _t.required("nl.no_reorder")
        t.chains -= 1
        if t.chains == 0:
            t.ops.append((_t.CHAIN, False))
        return False
