"""Candidates as JSON, one on each line of the standard input; answers on the standard output, in the order of the input, each as soon
as it and those before it are known. The one who asks may wait for an answer before it asks again."""

from __future__ import annotations

import json
import os
import sys

from .. import _glia
from .files import function_in
from .journal import Journal, key_of
from .measure import Described, Measured, arrays_of, described, failed, measure
from .search import quiet
from .workers import Lost, Workers

_FIELDS = ("file", "function", "keywords", "args", "target", "cores", "id")


def answer(workers: int, timeout: float | None, target: str | None, journal) -> int:
    """Until the input ends; returns 0."""
    with Journal(journal) as kept, Workers(_work, workers, timeout) as running:
        _Answers(running, kept, target).serve()
    return 0


class _Answers:
    def __init__(self, running: Workers, kept: Journal, target: str | None):
        self.running, self.kept, self.target = running, kept, target
        self.asked: list[dict] = []  # every candidate so far
        self.keys: dict[int, str] = {}
        self.waiting: list[int] = []
        self.done: dict[int, Measured] = {}
        self.written = 0

    def serve(self) -> None:
        rest, end = b"", False
        source = sys.stdin.fileno()
        while not end or self.running.busy or self.waiting:
            while self.waiting and self.running.free:
                n = self.waiting.pop(0)
                self.running.give(n, self.asked[n])
            finished, readable = self.running.finished(() if end else (source,))
            for n, result in finished:
                self._finish(n, result)
            if readable:
                data = os.read(source, 1 << 16)
                end = not data
                *lines, rest = (rest + (data or b"\n")).split(b"\n")
                for line in filter(bytes.strip, lines):
                    self._ask(line)
            self._write()

    def _ask(self, line: bytes) -> None:
        n = len(self.asked)
        try:
            candidate = _checked(line, self.target)
        except _glia.Error as e:
            self.asked.append({})
            self.done[n] = failed(e)
            return
        self.asked.append(candidate)
        key = self._key(candidate)
        known = self.kept.get(key) if key else None
        if known is not None:
            self.done[n] = known
        else:
            self.keys[n] = key
            self.waiting.append(n)

    def _key(self, candidate: dict) -> str:
        if not self.kept.kept:
            return ""
        try:
            with open(candidate["file"], "rb") as f:
                text = f.read()
        except OSError:
            return ""
        return key_of(text, json.dumps({k: x for k, x in candidate.items() if k != "id"}, sort_keys=True))

    def _finish(self, n: int, result) -> None:
        if isinstance(result, Lost):
            result = Measured(code=result.code, message=result.message)
        elif self.keys[n]:
            self.kept.add(self.keys[n], {"candidate": self.asked[n]}, result)
        self.done[n] = result

    def _write(self) -> None:
        while self.written in self.done:
            asked = self.asked[self.written]
            name = {"id": asked["id"]} if "id" in asked else {}
            print(json.dumps({**name, **self.done.pop(self.written)._asdict()}), flush=True)
            self.asked[self.written] = {}
            self.written += 1


def _checked(line: bytes, target: str | None) -> dict:
    try:
        candidate = json.loads(line)
    except ValueError as e:
        raise _refused(f"no JSON: {e}") from None
    if not isinstance(candidate, dict):
        raise _refused("no JSON object")
    unknown = set(candidate) - set(_FIELDS)
    if unknown:
        raise _refused(f"there is no field `{min(unknown)}`")
    kinds = {"file": str, "function": str, "keywords": dict, "args": list, "target": str, "cores": int}
    for name, kind in kinds.items():
        if name in candidate and not isinstance(candidate[name], kind):
            raise _refused(f"`{name}` is {candidate[name]!r}")
        if name in ("file", "function") and name not in candidate:
            raise _refused(f"there is no `{name}`")
    return candidate if target is None else {"target": target} | candidate


def _refused(what: str):
    return _glia.make_error("TUNE-INPUT", what, f"A candidate has the fields {', '.join(_FIELDS)}.")


def _work(candidate: dict) -> Measured:
    quiet()
    try:
        function = function_in(candidate["file"], candidate["function"])
        if "cores" in candidate:
            function = function[candidate["cores"]]
        given = [described(x) for x in candidate.get("args", [])]
        for x in given:
            if isinstance(x, list):
                raise _refused(f'the argument {x!r} is a list: an array is written "f32[512, 128]"')
        data = not any(isinstance(x, Described) for x in given)
        return measure(
            function, arrays_of(given, False), candidate.get("keywords", {}), candidate.get("target"), data=data
        )
    except Exception as e:
        return failed(e)
