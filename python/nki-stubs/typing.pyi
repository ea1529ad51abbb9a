# Made by tools/stubs/stubs.py; do not edit.
from ._tensors import NkiTensor as NkiTensor

tensor = NkiTensor
mutable_tensor = NkiTensor
