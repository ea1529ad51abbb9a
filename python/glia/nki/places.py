"""Words for places: elements of a tensor from the bytes that the machine knows, and lines of the user's files."""

from __future__ import annotations

import linecache
import os

import numpy as np


def index_of(storage, partition: int, byte: int) -> list[int]:
    """The index of the element at a byte of a tensor."""
    element = byte // storage.dtype.itemsize
    if storage.on_chip:
        return [partition, *(int(i) for i in np.unravel_index(element, storage.shape[1:] or (1,)))]
    return [int(i) for i in np.unravel_index(element, storage.shape)]


def element_text(storage, partition: int, byte: int) -> str:
    return str(index_of(storage, partition, byte))


def range_text(storage, partitions, bytes_) -> str:
    """The elements between two bytes of each of the partitions."""
    size = storage.dtype.itemsize
    if storage.on_chip and len(storage.shape) == 2:
        first, last = bytes_[0] // size, bytes_[1] // size
        return f"[{partitions[0]}:{partitions[1] + 1}, {first}:{last + 1}]"
    first, last = index_of(storage, partitions[0], bytes_[0]), index_of(storage, partitions[1], bytes_[1])
    if first[1:] == [0] * (len(first) - 1) and last[1:] == [n - 1 for n in storage.shape[1:]]:
        return f"[{first[0]}:{last[0] + 1}{', :' * (len(first) - 1)}]"  # whole rows
    return f"{first} to {last}"


def source_text(place: tuple[str, int], source: str = "") -> str:
    """file:line, with what is written there."""
    file, line = place
    source = source or linecache.getline(file, line).strip()
    return f"{os.path.basename(file)}:{line}" + (f": {source}" if source else "")
