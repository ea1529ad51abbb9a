"""What every compiled function has: one program, that is proved, timed and saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from . import _glia
from .notebook import titled
from .profile import Profile, WhatIf, changes_text
from .program import Program, Verified

_SHOWN = ("input", "output")  # what the caller of a program sees of its tensors


class Executable:
    """A compiled function. Call it with arrays of the shapes and types it was compiled for."""

    def __init__(self, program: Program, reference: str):
        self.program = program
        self._reference = reference  # of its target
        self._about = object()  # what warnings are about

    target = property(lambda self: self.program.target)

    def run(self, *args, **kwargs):
        raise NotImplementedError

    def inputs(self, *args, **kwargs) -> dict:
        """The program's inputs by name, from the function's arguments."""
        raise NotImplementedError

    def __call__(self, *args, **kwargs):
        return self.run(*args, **kwargs)

    def verify(self) -> Verified:
        return self.program.verify()

    def profile(self, *args, **kwargs) -> Profile:
        """The predicted run. Arguments are needed only where the control flow depends on data."""
        return self.program.profile(self.inputs(*args, **kwargs) if args or kwargs else None)

    _again: Callable[[str], Executable]  # the same function for another target

    def what_if(self, changes: str | Mapping[str, float | str], *args, **kwargs) -> WhatIf:
        """The predicted time on another machine, of this program as it is and compiled again: `{"memory.psum_bytes": "2x"}`, or
        that as text. Arguments as of `profile`."""
        changes = changes_text(changes)
        again = lambda: self._again(f"{self._reference},{changes}").profile(*args, **kwargs)  # noqa: E731
        return self.profile(*args, **kwargs)._what_if(changes, again)[0]

    def time(self) -> float:
        """Predicted nanoseconds; no data, no timeline."""
        return self.program.profile(timeline=False).total

    def __repr__(self) -> str:
        return f"<executable of {self.program.instructions} instructions for {self.program.target}>"

    def _repr_html_(self) -> str:
        try:
            time = f"{self.time() / 1000:.2f} us"
        except _glia.Error as e:
            time = e.diagnostics[0].message
        tensors = [(t.kind, f"{t.name} : {t.dtype}{list(t.shape)}") for t in self.program.tensors if t.kind in _SHOWN]
        proved = ("verified", "proved" if self.verify().ok else "not proved")
        return titled(repr(self).strip("<>"), [*tensors, proved, ("predicted time", time)])

    def save(self, path) -> None:
        self.program.save(os.fspath(path))
