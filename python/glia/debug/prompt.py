"""Where the commands of a debugger come from: a person, a file (`-x`), or what is piped in. Of the latter two the transcript shows
the commands as if they had been typed."""

from __future__ import annotations

import sys

from .breakpoints import failure


class Prompt:
    def __init__(self, script: str | None):
        self.typed = script is None and sys.stdin.isatty()
        self.failed = False  # a command of a script went wrong
        self._last = ""
        if self.typed:
            import contextlib

            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - lines can be edited
            return
        try:
            self._lines = iter(sys.stdin if script is None else list(open(script)))
        except (OSError, UnicodeDecodeError) as e:
            message = f"cannot read {script}: {getattr(e, 'strerror', None) or e}"
            raise failure("FILE-READ", message, "-x takes a file with a command in each line.") from None

    def read(self, prompt: str) -> str | None:
        """The next command; None: there are no more."""
        if self.typed:
            return self._typed(prompt)
        for line in self._lines:
            text = line.split("#", 1)[0].strip() if line.lstrip().startswith("#") else line.strip()
            if text:
                print(f"{prompt}{text}", flush=True)
                return text
        return None

    def _typed(self, prompt: str) -> str | None:
        while True:
            try:
                text = input(prompt).strip()
            except EOFError:
                print()
                return None
            except KeyboardInterrupt:
                print("^C")
                continue
            self._last = text or self._last  # Enter: the same again
            if self._last:
                return self._last

    def rest(self) -> list[str]:
        """Commands up to the next `quit`, for another debugger."""
        out = []
        for line in self._lines:
            out.append(line.rstrip("\n"))
            if out[-1].strip() in ("quit", "q", "exit"):
                break
        return out

    def fail(self, e) -> None:
        self.failed = not self.typed
        print(e, flush=True)
