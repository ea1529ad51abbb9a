"""Processes that stay alive and do one piece of work at a time, each for itself: one that crashes or does not end costs its own piece
and no other. A process that works has its next piece already, so that it does not wait for it."""

from __future__ import annotations

import contextlib
import gc
import math
import multiprocessing
import os
import pickle
import select
import signal
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple

from .. import _glia

_MESSAGE = 4096  # bytes of a piece that is sent as one message, which can be taken back


class Lost(NamedTuple):
    """A piece of work without a result: its process ended, or was ended."""

    code: str
    message: str


class _Piece(NamedTuple):
    number: int
    data: bytes

    @property
    def small(self) -> bool:
        return len(self.data) <= _MESSAGE


@dataclass(eq=False)
class _Worker:
    """A process. It begins a piece by taking a message from `inbox`: what is still there can be taken back. What is too large for a
    message comes behind it through `pipe`, as do results."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    outbox: socket.socket
    inbox: socket.socket
    piece: _Piece | None = None  # what it does
    over: float = math.inf  # when the time for it is over
    ahead: _Piece | None = None  # what it does next
    answers: int = 0

    def give(self, piece: _Piece) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # its end is found when its result is read
            self.outbox.send(piece.number.to_bytes(8, "little") + (piece.data if piece.small else b""))
            if not piece.small:
                self.pipe.send_bytes(piece.data)

    def take_back(self) -> int | None:
        """The number of the first piece that it has not begun, which is then not done."""
        try:
            return int.from_bytes(self.inbox.recv(8, socket.MSG_DONTWAIT), "little")
        except BlockingIOError:
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        for x in (self.pipe, self.outbox, self.inbox):
            x.close()


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
        self._workers: list[_Worker] = []
        self._waiting: deque[_Piece] = deque()  # given, and with no worker

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self._workers:
            worker.process.kill()  # all of them, before the first is waited for
        for worker in self._workers:
            worker.end()
        return False

    @property
    def free(self) -> bool:
        """Whether a piece that is given now is begun at once, or next by a worker that has none ahead."""
        return not self._waiting and (self._may_begin() or self._ready() is not None)

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or any(w.piece is not None for w in self._workers)

    def give(self, number: int, piece) -> None:
        """Has a piece of work done; only if one is `free`."""
        self._waiting.append(_Piece(number, pickle.dumps(piece)))
        self._hand_out()

    def finished(self, others: tuple = ()) -> tuple[list[tuple[int, object]], list]:
        """Waits until something happens: (number, result or Lost) of what is done, and which of the file descriptors can be read."""
        self._hand_out()
        self._share()
        pipes = {w.pipe.fileno(): w for w in self._workers if w.piece is not None}
        ready = _readable([*pipes, *others], min((w.over for w in pipes.values()), default=math.inf))
        done = [x for pipe in ready if pipe in pipes and (x := self._result(pipes[pipe])) is not None]
        now = time.monotonic()
        for worker in [w for w in self._workers if w.over <= now]:
            done.append((worker.piece.number, Lost("TUNE-TIME", f"it was ended after {self._timeout:g} s")))
            self._forget(worker, worker.ahead)
        return done, [x for x in ready if x not in pipes]

    def _idle(self) -> _Worker | None:
        return next((w for w in self._workers if w.piece is None), None)

    def _may_begin(self) -> bool:
        """Whether a worker has nothing to do, or one more can be started."""
        return len(self._workers) < self._count or self._idle() is not None

    def _ready(self) -> _Worker | None:
        """A worker that can get its next piece: the one that began first what it does."""
        ready = [w for w in self._workers if w.piece is not None and w.piece.small and w.ahead is None]
        return min(ready, key=lambda w: w.over, default=None)

    def _hand_out(self) -> None:
        while self._waiting:
            if self._may_begin():
                worker = self._idle() or self._start()
                piece = self._waiting.popleft()
                self._begin(worker, piece)
            elif self._waiting[0].small and (worker := self._ready()) is not None:
                piece = worker.ahead = self._waiting.popleft()
            else:
                return
            worker.give(piece)

    def _share(self) -> None:
        """No piece waits for a slow one while a worker has nothing to do."""
        for worker in list(self._workers):
            if worker.ahead is None or not self._may_begin() or (number := worker.take_back()) is None:
                continue
            if number == worker.piece.number:  # it has begun neither
                self._waiting.append(worker.piece)
                self._begin(worker, worker.ahead)
            else:
                self._waiting.append(worker.ahead)
                worker.ahead = None
            self._hand_out()

    def _begin(self, worker: _Worker, piece: _Piece | None) -> None:
        worker.piece, worker.ahead = piece, None
        limited = piece is not None and self._timeout is not None
        worker.over = time.monotonic() + self._timeout if limited else math.inf

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        outbox, inbox = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        inherited = [ours, outbox, *(x for w in self._workers for x in (w.pipe, w.outbox, w.inbox))]
        process = self._context.Process(
            target=_serve, args=(theirs, inbox, inherited, self._work, self._count), daemon=True
        )
        with (
            warnings.catch_warnings()
        ):  # of threads that are not in the copy: those of JAX and the like, which no candidate needs
            for kind in (RuntimeWarning, DeprecationWarning):
                warnings.simplefilter("ignore", kind)
            process.start()
        theirs.close()
        worker = _Worker(process, ours, outbox, inbox)
        self._workers.append(worker)
        return worker

    def _result(self, worker: _Worker) -> tuple[int, object] | None:
        """None if there is none, and the piece is given to another one."""
        number = worker.piece.number
        try:
            result = pickle.loads(worker.pipe.recv_bytes())
        except (EOFError, OSError):
            if worker.answers and worker.take_back() == number:  # what it had done before has ended it
                self._forget(worker, worker.piece, worker.ahead)
                return None
            self._forget(worker, worker.ahead)
            return number, Lost("TUNE-CRASH", f"its process ended{_how(worker.process.exitcode)}")
        worker.answers += 1
        self._begin(worker, worker.ahead)
        return number, result

    def _forget(self, worker: _Worker, *again: _Piece | None) -> None:
        """Ends it; what it has not begun is given to another one, before all else."""
        self._workers.remove(worker)
        worker.end()
        self._waiting.extendleft(piece for piece in reversed(again) if piece is not None)


def _readable(files: list[int], until: float) -> list[int]:
    """Which of the file descriptors can be read, as soon as one can; none at that time."""
    poll = select.poll()
    for x in files:
        poll.register(x, select.POLLIN)
    left = None if until == math.inf else math.ceil(1000 * max(0.0, until - time.monotonic()))
    return [x for x, _ in poll.poll(left)]


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return f" by {signal.Signals(-status).name}"
    return f" with status {status}"


def _serve(pipe: Connection, inbox: socket.socket, inherited: list, work: Callable, count: int) -> None:
    """What a process does until nobody asks any more."""
    for other in inherited:
        other.close()  # else the end of the one that asks would not be seen
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that asks, which then ends this one
    gc.freeze()  # what is there is needed until the end: looking for garbage in it would copy its pages
    if count > 1:
        os.environ.setdefault("GLIA_THREADS", "1")
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what kernels print would stand between the results
        os.dup2(silence, stream)
    while message := inbox.recv(8 + _MESSAGE):
        try:
            data = message[8:] or pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send_bytes(pickle.dumps(work(pickle.loads(data))))
