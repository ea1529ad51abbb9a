"""NkiValidationError, the name under which kernels catch broken hardware rules. What is raised here is glia.Error, which says
more; so the name stands for it."""

from ..._glia import Error as NkiValidationError

__all__ = ["NkiValidationError"]
