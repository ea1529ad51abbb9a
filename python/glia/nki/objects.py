"""NKIObject, the base of the classes that kernels pass around, and MemoryRegion.

A class with no `__init__` of its own (or one that @dataclass made) is built leniently, as kernel authors expect: its fields are
the annotations and the plain class attributes, in order; what is left out is the class's default or None."""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from enum import Enum


class MemoryRegion(Enum):
    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def __repr__(self) -> str:
        return f"nl.{self.value}"


def _fields(cls) -> list[str]:
    """Fields of `cls`, those of its bases first."""
    names: dict[str, None] = {}
    for c in reversed(cls.__mro__):
        if not isinstance(c, NKIObjectMeta) or c.__dict__.get("_nki_root", False):
            continue
        annotations = inspect.get_annotations(c)
        plain = [
            n
            for n, v in c.__dict__.items()
            if not n.startswith("_") and not callable(v) and not isinstance(v, (property, staticmethod, classmethod))
        ]
        names.update(dict.fromkeys(n for n, t in annotations.items() if "ClassVar" not in str(t)))
        names.update(dict.fromkeys(plain))
    return list(names)


def _written_by_hand(cls) -> bool:
    """Whether `cls` has an `__init__` that its author wrote; the one of @dataclass is compiled from "<string>"."""
    init = cls.__init__
    if init is NKIObject.__init__ or init is object.__init__:
        return False
    code = getattr(init, "__code__", None)
    return code is None or code.co_filename != "<string>"


# How each class is built. Kept here and not in the class: a kernel that is the first to build one does not change the class.
_plans: weakref.WeakKeyDictionary[type, tuple] = weakref.WeakKeyDictionary()


class NKIObjectMeta(type):
    def __call__(cls, *args, **kwargs):
        plan = _plans.get(cls)
        if plan is None:
            plan = _plans[cls] = () if _written_by_hand(cls) else (tuple(_fields(cls)),)
        if not plan:
            return type.__call__(cls, *args, **kwargs)
        (names,) = plan
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__} has {len(names)} fields, {len(args)} values are given")
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{cls.__name__} has no field {name!r}; it has {', '.join(names)}")
            if name in values:
                raise TypeError(f"{cls.__name__}: field {name!r} is given twice")
            values[name] = value
        self = cls.__new__(cls)
        factories = {f.name: f for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
        for name in names:
            if name in values:
                value = values[name]
            else:
                field = factories.get(name)
                if field is not None and field.default_factory is not dataclasses.MISSING:
                    value = field.default_factory()
                else:
                    value = getattr(cls, name, None)
                    if isinstance(value, dataclasses.Field):
                        value = value.default_factory() if value.default_factory is not dataclasses.MISSING else None
                    elif type(value).__name__ == "member_descriptor":
                        value = None
            object.__setattr__(self, name, value)  # frozen classes too
        post = getattr(self, "__post_init__", None)
        if post is not None:
            post()
        return self


class NKIObject(metaclass=NKIObjectMeta):
    _nki_root = True
    __slots__ = ()

    def __init__(self, **kwargs):
        pass
