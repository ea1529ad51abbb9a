"""Settings for every Python test."""

import os

# The sanitized module needs its runtime preloaded into Python; programs that tests start bring their own.
os.environ.pop("LD_PRELOAD", None)

# Kernels that earlier runs kept are not what is tested.
os.environ["GLIA_CACHE"] = "off"
