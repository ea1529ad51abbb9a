"""nki.compiler and the modules in it: the vendor's compiler as Python objects. glia's compiler is reached by calling a kernel, or by
glia.compile. Programs that import a name for their annotations or defaults can be read: a class can be made, and whatever is asked
of it is refused, as is every call of a function."""

from . import trace as _t


def _failure(name: str):
    return _t.failure(
        "NKI-UNSUPPORTED", f"nki.compiler.{name} is not supported", "Call the kernel, or use glia.compile."
    )


class _OfTheVendor:
    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise _failure(f"{type(self).__name__}.{name}")


class _ClassOfTheVendor(type):
    def __getattr__(cls, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise _failure(f"{cls.__name__}.{name}")


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    if name[0].isupper():
        return _ClassOfTheVendor(name, (_OfTheVendor,), {})

    def refused(*args, **kwargs):
        raise _failure(name)

    refused.__name__ = refused.__qualname__ = name
    return refused
