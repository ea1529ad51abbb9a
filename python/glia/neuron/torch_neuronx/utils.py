"""`torch_neuronx.utils`"""

from .. import flags as _flags
from ..missing import names_of

__getattr__ = names_of("torch_neuronx.utils")


def get_platform_target() -> str:
    """The target that programs are compiled for."""
    return _flags.from_environment().target


def get_hardware_type(instance_type: str | None = None) -> str:
    return get_platform_target()
