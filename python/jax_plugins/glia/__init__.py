"""How JAX finds the platform `glia` in a tree without installed entry points."""

from glia.jax_plugin import initialize

__all__ = ["initialize"]
