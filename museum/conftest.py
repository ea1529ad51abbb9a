"""The cases are programs for `python -m glia`; here they are imported, with glia's nki, from their folders."""

import os

import glia
import table  # noqa: F401  before JAX is used: it sets how many devices there are

os.environ["GLIA_CACHE"] = "off"  # kernels that earlier runs kept are not what is tested
glia.install()
