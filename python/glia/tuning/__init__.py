"""Many versions of a kernel, compiled, proved and timed side by side: `glia.tune` and `python -m glia tune` (docs/tune.md)."""
