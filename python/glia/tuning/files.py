"""Kernels in files that `python -m glia tune` is told of."""

from __future__ import annotations

import os
import sys
import types
from collections import OrderedDict

from .. import _glia

_KEPT = 64
_modules: OrderedDict[tuple[str, bytes], types.ModuleType] = OrderedDict()


def load(file: str) -> types.ModuleType:
    """The module in a file. It is run again only if the file has changed."""
    try:
        with open(file, "rb") as f:
            text = f.read()
    except OSError as e:
        raise _glia.make_error("TUNE-FILE", f"{file} cannot be read: {e.strerror}", "") from None
    found = _modules.get((file, text))
    if found is None:
        found = _modules[file, text] = _run(file, text)
        while len(_modules) > _KEPT:
            _modules.popitem(last=False)
    return found


def _run(path: str, text: bytes) -> types.ModuleType:
    """Errors name the file as it was given."""
    module = types.ModuleType(os.path.splitext(os.path.basename(path))[0])
    module.__file__ = path
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[module.__name__] = module  # dataclasses and inspect look there
    try:
        exec(compile(text, path, "exec"), vars(module))
    except SyntaxError as e:
        d = _glia.Diagnostic("TUNE-FILE", f"{e.msg}", "Mend the file.", e.filename or path, e.lineno or 0)
        raise _glia.error_of([d]) from None
    except SystemExit as e:
        raise _glia.make_error("TUNE-FILE", f"{path} ends with sys.exit({e.code!r})", "") from None
    return module


def function_in(file: str, name: str):
    """A function or kernel of a file, also one in a class: Block.forward."""
    found = load(file)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        known = [n for n, x in vars(load(file)).items() if hasattr(x, "func") and callable(x)]
        advice = f"Its kernels: {', '.join(known)}." if known else "It has no kernels: functions with @nki.jit."
        raise _glia.make_error("TUNE-FILE", f"{file} has no function `{name}`", advice)
    return found
