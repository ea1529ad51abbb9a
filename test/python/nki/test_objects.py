"""NKIObject: how kernels' own classes are built."""

import dataclasses
from dataclasses import dataclass
from enum import Enum

import nki
import nki.language as nl
import numpy as np
import pytest
from glia.nki import NKIObject


class Plain(NKIObject):
    a: int
    b: str = "b"
    c = 3

    def total(self):
        return self.a + self.c


def test_fields_are_annotations_and_plain_attributes_and_may_be_left_out():
    p = Plain(1)
    assert (p.a, p.b, p.c, p.total()) == (1, "b", 3, 4)
    q = Plain(b="x", c=5)
    assert (q.a, q.b, q.c) == (None, "x", 5)
    assert Plain(1, "y", 2).c == 2 and Plain.c == 3


def test_unknown_and_double_fields():
    with pytest.raises(TypeError, match="no field 'd'"):
        Plain(d=1)
    with pytest.raises(TypeError, match="twice"):
        Plain(1, a=2)
    with pytest.raises(TypeError, match="3 fields, 4 values"):
        Plain(1, 2, 3, 4)


@dataclass
class Data(NKIObject):
    rows: int
    columns: int
    tags: list = dataclasses.field(default_factory=list)
    total: int = 0

    def __post_init__(self):
        self.total = self.rows + (self.columns or 0)


def test_dataclasses():
    d = Data(2, 3)
    assert d.total == 5 and d.tags == [] and Data(1).total == 1 and Data(1).columns is None
    assert Data(2, 3) == Data(2, 3) and Data(1).tags is not Data(1).tags


@dataclass(frozen=True)
class Frozen(NKIObject):
    n: int
    kind: str = "k"


def test_frozen_and_hashable():
    f = Frozen(3)
    assert f.kind == "k" and {f: 1}[Frozen(3)] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        f.n = 4


class ByHand(NKIObject):
    limit: int

    def __init__(self, x):
        self.x = x


class Derived(Plain):
    e: int = 9


def test_own_init_and_inheritance():
    assert ByHand(4).x == 4
    with pytest.raises(TypeError):
        ByHand(4, 5)
    d = Derived(1, e=2)
    assert (d.a, d.b, d.c, d.e) == (1, "b", 3, 2)


def test_other_members_are_no_fields():
    class Mode(Enum):
        on = 1

    class Config(NKIObject):
        mode = Mode.on

        @staticmethod
        def helper():
            return 1

        @property
        def doubled(self):
            return self.mode.value * 2

    assert Config().doubled == 2 and Config().mode is Mode.on and Config.helper() == 1
    with pytest.raises(TypeError):
        Config(helper=3)


class Settings(nl.NKIObject):
    rows: int = 4
    scale = 2.0


def test_a_kernel_may_be_the_first_to_build_one():
    @nki.jit
    def kernel(x):
        settings = Settings(scale=3.0)
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.multiply(nl.load(x), settings.scale))
        return out

    x = np.ones((4, 5), np.float32)
    np.testing.assert_array_equal(kernel(x), 3 * x)
