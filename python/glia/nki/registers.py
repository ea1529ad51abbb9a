"""Registers as kernels see them. Python never knows a register's value. A loop variable is affine in the registers of its
loops, so that it, and sums and multiples of it, become terms of an address and need no instructions."""

from __future__ import annotations

from . import trace as _t
from .objects import NKIObject

_ADVICE = "A register's value is known when the kernel runs: use nl.fori_loop, nl.while_loop, or pass it as an offset."


class VirtualRegister(NKIObject):
    """`const` + sum of register * factor over `terms`. A frozen one does not change (a loop variable)."""

    __slots__ = ("const", "frozen", "terms")

    def __init__(self, state=None, frozen=False):
        fresh = _t.register()
        self.terms, self.const, self.frozen = fresh.terms, 0, frozen
        if state is not None:
            register_move(self, state)

    @staticmethod
    def affine(terms: tuple, const: int) -> VirtualRegister:
        """A frozen value."""
        self = object.__new__(VirtualRegister)
        self.terms, self.const, self.frozen = terms, const, True
        return self

    @staticmethod
    def plain(register: _t.Register) -> VirtualRegister:
        self = object.__new__(VirtualRegister)
        self.terms, self.const, self.frozen = ((register, 1),), 0, False
        return self

    def is_plain(self) -> bool:
        return self.const == 0 and len(self.terms) == 1 and self.terms[0][1] == 1

    def operand(self) -> tuple:
        """The slot tuple; a value that is no register itself is computed into one."""
        return (self.terms[0][0],) if self.is_plain() else (materialize(self).terms[0][0],)

    # ---- arithmetic of values that do not change

    def _combine(self, other, sign: int):
        if isinstance(other, int) and not isinstance(other, bool):
            _require_frozen(self)
            return VirtualRegister.affine(self.terms, self.const + sign * other)
        if isinstance(other, VirtualRegister):
            _require_frozen(self)
            _require_frozen(other)
            sums = dict(self.terms)
            for r, k in other.terms:
                sums[r] = sums.get(r, 0) + sign * k
            terms = tuple((r, k) for r, k in sums.items() if k)
            const = self.const + sign * other.const
            return VirtualRegister.affine(terms, const) if terms else const
        return NotImplemented

    def __add__(self, other):
        return self._combine(other, 1)

    __radd__ = __add__

    def __sub__(self, other):
        return self._combine(other, -1)

    def __rsub__(self, other):
        return (self * -1)._combine(other, 1)

    def __mul__(self, factor):
        if not isinstance(factor, int) or isinstance(factor, bool):
            return NotImplemented
        _require_frozen(self)
        if factor == 0:
            return 0
        return VirtualRegister.affine(tuple((r, k * factor) for r, k in self.terms), self.const * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    # ---- what needs the value

    def __bool__(self) -> bool:
        from .loops import test_of_while

        return test_of_while(self)

    def _unknown(self, *_):
        raise _t.failure(
            "NKI-REGISTER", "Python needs the value of a register, which is known only when the kernel runs", _ADVICE
        )

    __int__ = __index__ = __float__ = __len__ = __iter__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = __floordiv__ = __mod__ = __truediv__ = _unknown

    def __eq__(self, other):
        if isinstance(other, (int, float)) or (isinstance(other, VirtualRegister) and other is not self):
            self._unknown()
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "<register>"


def _require_frozen(r: VirtualRegister) -> None:
    if not r.frozen:
        raise _t.failure(
            "NKI-REGISTER",
            "arithmetic on a register that may change",
            "Only loop variables take part in Python arithmetic. Compute in SBUF and use nisa.register_load.",
        )


def is_integer(x) -> bool:
    return hasattr(x, "__index__") and not isinstance(x, (bool, VirtualRegister))


def materialize(v: VirtualRegister) -> VirtualRegister:
    """A register of its own that gets the value of `v` here."""
    out = _t.register()
    dst = (out.terms[0][0],)
    partial = None
    for r, k in v.terms:
        source = (r,)
        if k != 1:
            scaled = dst if partial is None else (_t.Register(_t.required()),)
            _t.emit("reg_alu", (scaled, "multiply", source, k))
            source = scaled
        if partial is not None:
            _t.emit("reg_alu", (dst, "add", partial, source))
            source = dst
        partial = source
    if v.const:
        _t.emit("reg_alu", (dst, "add", partial, v.const))
    elif partial != dst:
        _t.emit("reg_move", (dst, partial))
    return out


def alu(op: str, a: VirtualRegister, b) -> VirtualRegister:
    """A new register with a `op` b; b may be an integer."""
    out = _t.register()
    _t.emit("reg_alu", (out.operand(), op, a.operand(), b.operand() if isinstance(b, VirtualRegister) else int(b)))
    return out


def _destination(r) -> bool:
    if not isinstance(r, VirtualRegister):
        _t.error(
            "NKI-REGISTER",
            f"the destination is a {type(r).__name__}, not a register",
            "Make one with nisa.register_alloc.",
        )
        return False
    if r.frozen:
        _t.error("NKI-REGISTER", "a loop variable is written", "The loop sets it. Copy it into a register of your own.")
        return False
    return True


def _number(x) -> int:
    x = x.__index__()
    if not -(2**31) <= x < 2**32:
        _t.error("NKI-REGISTER", "a register holds 32 bits", value=x)
        return 0
    return x - 2**32 if x >= 2**31 else x


def register_alloc(x=None) -> VirtualRegister:
    """A new register; with an initial value if `x` is a number, a register or a tensor of one element."""
    out = _t.register()
    if x is None:
        return out
    if isinstance(x, VirtualRegister) or is_integer(x):
        register_move(out, x)
    else:
        register_load(out, x)
    return out


def register_move(dst, src) -> None:
    """dst = a 32-bit number, or the value of another register."""
    if not _destination(dst):
        return
    if isinstance(src, VirtualRegister):
        _t.emit("reg_move", (dst.operand(), src.operand()))
    elif is_integer(src):
        _t.emit("reg_move", (dst.operand(), _number(src)))
    else:
        _t.error("NKI-REGISTER", f"register_move takes a number or a register, not a {type(src).__name__}")


def _one_element(tensor, what: str) -> bool:
    from .tensor import NkiTensor

    if not isinstance(tensor, NkiTensor):
        _t.error("NKI-REGISTER", f"{what} takes a tensor of one element, not a {type(tensor).__name__}")
        return False
    if tensor.size != 1:
        _t.error("NKI-REGISTER", f"{what} takes a tensor of one element", value=tensor.shape, limit="1 element")
        return False
    return True


def register_load(dst, src) -> None:
    """dst = the one element of a tensor in SBUF or HBM."""
    if _destination(dst) and _one_element(src, "register_load"):
        _t.emit("reg_load", (dst.operand(), src.operand()))


def register_store(dst, src) -> None:
    """The one element of a tensor in SBUF or HBM = a register."""
    if not _one_element(dst, "register_store"):
        return
    if not isinstance(src, VirtualRegister):
        _t.error("NKI-REGISTER", f"register_store takes a register, not a {type(src).__name__}")
        return
    _t.emit("reg_store", (dst.operand(), src.operand()))
