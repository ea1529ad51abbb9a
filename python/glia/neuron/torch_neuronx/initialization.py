"""`torch_neuronx.initialization`: torch_xla calls initialize() when it is told to divide programs among devices."""

from ..libneuronxla import configure_environment
from ..missing import names_of

__getattr__ = names_of("torch_neuronx.initialization")


def initialize() -> None:
    configure_environment()
