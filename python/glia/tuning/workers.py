"""Processes that stay alive and do one piece of work at a time, each for itself: one that crashes or does not end costs its own piece
and no other."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from .. import _glia


class Lost(NamedTuple):
    """A piece of work without a result: its process ended, or was ended."""

    code: str
    message: str


class _Worker(NamedTuple):
    process: multiprocessing.process.BaseProcess
    pipe: Connection


def default_count() -> int:
    """One for each processor that this process may use."""
    return len(os.sched_getaffinity(0))


def checked_count(workers: int | None) -> int:
    if workers is None:
        return default_count()
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise _glia.make_error("TUNE-OPTION", f"workers is {workers!r}", "Give 1 or more, or leave it out.")
    return workers


class Workers:
    """`work` is called with what is given, in a copy of this process; what it returns comes back through `finished`."""

    def __init__(self, work: Callable, count: int, timeout: float | None):
        if timeout is not None and not timeout > 0:
            raise _glia.make_error("TUNE-OPTION", f"timeout is {timeout!r}", "Give seconds, or None for no limit.")
        self._work, self._count, self._timeout = work, count, timeout
        self._context = multiprocessing.get_context("fork")
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, tuple[int, float]] = {}  # the number of its piece, and when its time is over

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in [*self._idle, *self._busy]:
            self._end(worker)
        return False

    @property
    def free(self) -> bool:
        return len(self._busy) < self._count

    @property
    def busy(self) -> bool:
        return bool(self._busy)

    def give(self, number: int, piece) -> None:
        """Has a piece of work done; only if one is `free`."""
        worker = self._idle.pop() if self._idle else self._start()
        over = time.monotonic() + (math.inf if self._timeout is None else self._timeout)
        self._busy[worker] = (number, over)
        with contextlib.suppress(BrokenPipeError):  # `finished` finds that it has ended
            worker.pipe.send(piece)

    def finished(self, others: tuple = ()) -> tuple[list[tuple[int, object]], list]:
        """Waits until something happens: (number, result or Lost) of what is done, and which of the file descriptors can be read."""
        pipes = {worker.pipe: worker for worker in self._busy}
        nearest = min((over for _, over in self._busy.values()), default=math.inf)
        left = None if nearest == math.inf else max(0.0, nearest - time.monotonic())
        ready = wait([*pipes, *others], left)
        done = [self._result(pipes[x]) for x in ready if x in pipes]
        now = time.monotonic()
        for worker, (number, over) in list(self._busy.items()):
            if over <= now:
                self._forget(worker)
                done.append((number, Lost("TUNE-TIME", f"it was ended after {self._timeout:g} s")))
        return done, [x for x in ready if x not in pipes]

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        others = [worker.pipe for worker in [*self._idle, *self._busy]]
        process = self._context.Process(
            target=_serve, args=(theirs, [ours, *others], self._work, self._count), daemon=True
        )
        with (
            warnings.catch_warnings()
        ):  # of threads that are not in the copy: those of JAX and the like, which no candidate needs
            for kind in (RuntimeWarning, DeprecationWarning):
                warnings.simplefilter("ignore", kind)
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _result(self, worker: _Worker) -> tuple[int, object]:
        number = self._busy[worker][0]
        try:
            result = worker.pipe.recv()
        except (EOFError, OSError):
            self._forget(worker)
            return number, Lost("TUNE-CRASH", f"its process ended{_how(worker.process.exitcode)}")
        del self._busy[worker]
        self._idle.append(worker)
        return number, result

    def _forget(self, worker: _Worker) -> None:
        del self._busy[worker]
        self._end(worker)

    def _end(self, worker: _Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return f" by {signal.Signals(-status).name}"
    return f" with status {status}"


def _serve(pipe: Connection, inherited: list[Connection], work: Callable, count: int) -> None:
    """What a process does until nobody asks any more."""
    for other in inherited:
        other.close()  # else the end of the one that asks would not be seen
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that asks, which then ends this one
    if count > 1:
        os.environ.setdefault("GLIA_THREADS", "1")
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what kernels print would stand between the results
        os.dup2(silence, stream)
    while True:
        try:
            piece = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(work(piece))
