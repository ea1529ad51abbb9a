"""The names of the vendor's that scripts for PyTorch use, answered by glia: docs/neuron-compat.md lists them. They are importable under
those names only where somebody asks for it: `python -m glia`, glia.install(), the pytest plugin."""
