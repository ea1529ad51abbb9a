"""glia.nki: kernels in the NKI language. `glia.install()` makes it importable as `nki`."""
