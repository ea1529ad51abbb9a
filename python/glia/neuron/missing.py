"""What a module does not have, says so by name."""

from __future__ import annotations


def names_of(module: str):
    """A `__getattr__` for the module with this name of the vendor's."""

    def __getattr__(name: str):
        raise AttributeError(
            f"glia does not provide {module}.{name}; docs/neuron-compat.md lists what it does", name=name
        )

    return __getattr__
