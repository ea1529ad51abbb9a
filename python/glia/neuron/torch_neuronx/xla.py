"""`torch_neuronx.xla`: torch_xla calls init() when it is imported."""

from ..libneuronxla import configure_environment
from ..missing import names_of

__getattr__ = names_of("torch_neuronx.xla")


def init() -> None:
    configure_environment()
