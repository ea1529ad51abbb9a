"""python -m glia.nki.book prints docs/nki-api.md."""

import glia

glia.install()

from .page import page

print(page(), end="")
