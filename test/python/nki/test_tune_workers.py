"""The processes of glia.tune: each has its next piece while it works. A piece that waits is neither lost nor blamed, and no worker is without
work while one waits."""

import os
import signal
import types

import pytest
from glia.tuning import workers
from glia.tuning.workers import Lost, Workers


@pytest.fixture
def gate():
    """What a piece waits at until the test opens it: one call, one piece."""
    inside, outside = os.pipe()
    yield types.SimpleNamespace(pass_=lambda: os.read(inside, 1), open=lambda: os.write(outside, b"."))
    os.close(inside)
    os.close(outside)


def all_of(running: Workers, pieces: list) -> dict:
    """What becomes of the pieces, by number."""
    waiting, done = list(enumerate(pieces)), {}
    while len(done) < len(pieces):
        while waiting and running.free:
            running.give(*waiting.pop(0))
        assert running.busy  # none is lost
        done |= dict(running.finished()[0])
    assert not running.busy
    return done


def codes(done: dict) -> list:
    return [x.code if isinstance(x := done[n], Lost) else x for n in range(len(done))]


def perilous(piece):
    if piece == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if piece == "endless":
        signal.pause()
    return piece


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_waits_behind_one_that_crashes(count):
    pieces = ["crash", "a", "crash", "crash", "b", "c", "crash", "d"]
    with Workers(perilous, count, 60) as running:
        assert codes(all_of(running, pieces)) == ["TUNE-CRASH" if x == "crash" else x for x in pieces]


@pytest.mark.parametrize("count", [1, 2])
def test_what_waits_behind_one_that_does_not_end(count, monkeypatch):
    def fast_clock():  # an hour for each look at it, as soon as nothing but endless pieces is left
        clock.now += 3600 if all(w.piece is None or b"endless" in w.piece.data for w in running._workers) else 0
        return clock.now

    clock = types.SimpleNamespace(now=0.0, monotonic=fast_clock)
    pieces = ["endless", "a", "endless", "b", "c"]
    with Workers(perilous, count, 1800) as running:
        monkeypatch.setattr(workers, "time", clock)
        assert codes(all_of(running, pieces)) == ["TUNE-TIME" if x == "endless" else x for x in pieces]


def test_the_time_of_a_piece_starts_when_it_is_begun(gate, monkeypatch):
    clock = types.SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(workers, "time", clock)
    with Workers(lambda n: (gate.pass_(), n)[1], 1, 10) as running:
        running.give(0, "first")
        running.give(1, "second")
        for n, (now, piece) in enumerate([(8.0, "first"), (15.0, "second")]):
            clock.now = now
            gate.open()
            assert running.finished()[0] == [(n, piece)]


def test_nothing_waits_behind_a_slow_one_while_a_worker_has_nothing_to_do(gate):
    with Workers(lambda piece: gate.pass_() and piece if piece == "slow" else piece, 2, 60) as running:
        waiting, done = list(enumerate(["slow", *range(20)])), {}
        while len(done) < 20:
            while waiting and running.free:
                running.give(*waiting.pop(0))
            done |= dict(running.finished()[0])
        assert done == {n + 1: n for n in range(20)} and running.busy
        gate.open()
        assert running.finished()[0] == [(0, "slow")]
        assert codes(all_of(running, ["x", "y", "z"])) == ["x", "y", "z"]  # what was taken back is not done here


def test_a_worker_that_works_has_its_next_piece(gate):
    with Workers(lambda piece: (gate.pass_(), os.getpid())[1], 1, None) as running:
        running.give(0, "first")
        assert running.free
        running.give(1, "second")
        assert not running.free
        gate.open()
        gate.open()  # before the first answer is read
        assert [n for _ in range(2) for n, _ in running.finished()[0]] == [0, 1] and not running.busy


@pytest.mark.parametrize("sizes", [[1 << 20] * 4, [10_000] * 6, [1, 10_000, 1, 1 << 20, 1, 5_000, 1, 1]], ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_large_pieces(sizes, count):
    pieces = [bytes([n]) * size for n, size in enumerate(sizes)]
    with Workers(lambda piece: (piece[0], len(piece)), count, 60) as running:
        assert all_of(running, pieces) == {n: (n, size) for n, size in enumerate(sizes)}


def test_a_worker_that_ends_without_work_is_replaced():
    with Workers(lambda piece: os.getpid(), 1, 60) as running:
        first = all_of(running, ["a"])[0]
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        other = all_of(running, ["b"])[0]
        assert isinstance(other, int) and other != first
