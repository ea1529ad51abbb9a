"""`python -m glia debug`: break in a kernel and look, line by line, on its sequential meaning."""
