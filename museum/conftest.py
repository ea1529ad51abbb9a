"""The cases are programs for `python -m glia`; here they are imported, with glia's nki, from their folders."""

import glia

glia.install()
