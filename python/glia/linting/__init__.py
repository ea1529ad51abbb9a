"""python -m glia lint: what the vendor's own front end would not take, so that a kernel written here also runs there."""
