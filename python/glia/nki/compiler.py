"""nki.compiler: the vendor's compiler as Python objects. glia's compiler is reached by calling a kernel, or by glia.compile; a
name of the vendor's is refused when it is used."""

from . import trace as _t


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)

    def refused(*args, **kwargs):
        raise _t.failure(
            "NKI-UNSUPPORTED", f"nki.compiler.{name} is not supported", "Call the kernel, or use glia.compile."
        )

    refused.__name__ = refused.__qualname__ = name
    return refused
