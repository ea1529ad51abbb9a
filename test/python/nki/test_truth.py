"""What Python asks of a tile that only the device knows is refused at its line; what it asks of arguments is not."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

X = np.arange(128 * 4, dtype=np.float32).reshape(128, 4)


def kernel(body):
    """A kernel that does something to its loaded argument first."""

    def run(x, bias=None):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        body(t, x, bias)
        nl.store(out, t)
        return out

    return nki.jit(run)


def if_greater(t, *_):
    if nl.greater(t, 3.0):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)


def while_tile(t, *_):
    while t:
        pass


def negated(t, *_):
    assert not nl.exp(t)


def both(t, *_):
    return t and 1


def either(t, *_):
    return t or 1


def boolean(t, *_):
    return bool(t)


@pytest.mark.parametrize("body", [if_greater, while_tile, negated, both, either, boolean])
def test_a_truth_value_is_refused(body, fails):
    (d,) = fails(kernel(body), X)
    assert d.code == "NKI-TRUTH" and "nl.where" in d.advice and "dynamic_range" in d.advice
    assert (d.file, d.line) == (__file__, body.__code__.co_firstlineno + 1)


def equal_number(t, *_):
    if t == 0:
        pass


def equal_number_from_the_left(t, *_):
    if 0.0 == t:
        pass


def unequal_tile(t, *_):
    return t != nl.exp(t)


def equal_scalar(t, *_):
    return t == np.float32(1)


@pytest.mark.parametrize("body", [equal_number, equal_number_from_the_left, unequal_tile, equal_scalar])
def test_a_comparison_is_refused(body, fails):
    (d,) = fails(kernel(body), X)
    assert d.code == "NKI-OPERATOR" and "nl.equal" in d.advice
    assert (d.file, d.line) == (__file__, body.__code__.co_firstlineno + 1)


def test_whether_there_is_an_argument():
    def body(t, x, bias):
        if bias:
            nisa.tensor_tensor(dst=t, data1=t, data2=nl.load(bias), op=nl.add)
        if bias is not None and bias.shape == x.shape:
            nisa.tensor_tensor(dst=t, data1=t, data2=nl.load(bias), op=nl.add)
        assert x and not (bias and bias.shape[0] != 128)

    np.testing.assert_array_equal(kernel(body)(X), X)
    np.testing.assert_array_equal(kernel(body)(X, X), 3 * X)


def test_tiles_in_containers():
    def body(t, x, bias):
        u = nl.exp(t)
        tiles = [t, u, 0, None]
        assert u in tiles and tiles.index(u) == 1 and tiles.count(t) == 1 and 0 in tiles and nl.exp(t) not in tiles
        assert u in {t: 1, u: 2} and u not in {t} and (t, 1) == (t, 1)
        assert t is not u and (t == None) is False and (t != None) is True and t != "t"  # noqa: E711
        tiles.remove(u)
        assert len(tiles) == 3

    np.testing.assert_array_equal(kernel(body)(X), X)


def test_where_and_registers_do_it():
    def body(t, *_):
        nisa.tensor_copy(dst=t, src=nl.where(nl.greater(t, 3.0), nl.multiply(t, 2.0), t))

    np.testing.assert_array_equal(kernel(body)(X), np.where(X > 3, 2 * X, X))
