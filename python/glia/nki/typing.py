"""nki.typing: names that are used in annotations only."""

from .tensor import NkiTensor


class _Annotation:
    def __class_getitem__(cls, _):
        return cls


class tensor(_Annotation):
    pass


class mutable_tensor(_Annotation):
    pass


__all__ = ["NkiTensor", "mutable_tensor", "tensor"]
