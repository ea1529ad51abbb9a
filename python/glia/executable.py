"""What every compiled function has: one program, that is proved, timed and saved."""

from __future__ import annotations

import os

from .profile import Profile
from .program import Program, Verified


class Executable:
    """A compiled function. Call it with arrays of the shapes and types it was compiled for."""

    def __init__(self, program: Program):
        self.program = program
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

    def time(self) -> float:
        """Predicted nanoseconds; no data, no timeline."""
        return self.program.profile(timeline=False).total

    def __repr__(self) -> str:
        return f"<executable of {self.program.instructions} instructions for {self.program.target}>"

    def save(self, path) -> None:
        self.program.save(os.fspath(path))
