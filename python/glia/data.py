"""The data that glia is driven by: targets, instructions, rules."""

from . import _glia


def targets() -> list[str]:
    """Names of the built-in targets."""
    return list(_glia.builtin_targets())


def target(name_or_path: str) -> dict:
    """A built-in target or a target file: its values, each with origin, source and unit, and its activation sets."""
    return _glia.target(str(name_or_path))


def isa() -> list[dict]:
    """Every instruction: operands, engines, features and rules."""
    return _glia.instructions()


def rules() -> list[dict]:
    """Every rule: sentence, source, advice, and a smallest program that breaks it and one that keeps it."""
    return _glia.rules()
