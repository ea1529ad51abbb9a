"""A program that waits for ever is told its cause: who waits for what nobody will do, or the circle of those who wait for each other;
not whoever happens to wait first."""

import glia
import pytest

CASES = {
    "a circle": (
        "semaphore a\nsemaphore b\nsemaphore c\nscalar nop when c >= 1\nvector nop when a >= 1 then b += 1\n"
        "gpsimd nop when b >= 1 then a += 1\n",
        "SYNC-DEADLOCK",
        4,
        "it waits for `c` >= 1, which stays at 0; nothing adds to it",
        2,
    ),
    "a circle alone": (
        "semaphore a\nsemaphore b\nsemaphore c\nscalar nop when b >= 2\nvector nop when a >= 1 then b += 1\n"
        "gpsimd nop when b >= 1 then a += 1\n",
        "SYNC-DEADLOCK",
        5,
        "2 wait for each other, in a circle",
        2,
    ),
    "the end of a chain": (
        "semaphore a\nsemaphore b\nsemaphore c\nvector nop when b >= 1 then c += 1\nscalar nop when a >= 1 then b += 1\n"
        "gpsimd nop when c >= 1\n",
        "SYNC-DEADLOCK",
        5,
        "it waits for `a` >= 1, which stays at 0; nothing adds to it",
        2,
    ),
    "too few": (
        "semaphore a\nvector nop when a >= 2\nscalar nop then a += 1\n",
        "SYNC-DEADLOCK",
        2,
        "it waits for `a` >= 2, which stays at 1; whatever adds to it has done so",
        0,
    ),
    "itself": (
        "semaphore a\nvector nop when a >= 1 then a += 1\n",
        "SYNC-DEADLOCK",
        2,
        "it waits for what only it can do, later",
        1,
    ),
    "before a barrier": (
        'cores 2\nsemaphore a core 1\ncore0 gpsimd core_barrier name="x"\ncore1 gpsimd nop when a >= 1\n'
        'core1 gpsimd core_barrier name="x"\n',
        "SYNC-DEADLOCK",
        4,
        "it waits for `a` >= 1, which stays at 0; nothing adds to it",
        1,
    ),
    "a barrier": (
        'cores 2\nsemaphore a\ncore0 vector nop when a >= 1\ncore0 gpsimd core_barrier name="x"\n'
        "core0 gpsimd nop then a += 1\n",
        "BARRIER-PAIR",
        4,
        "barrier `x` is never met by the other core",
        1,
    ),
    "an exchange": (
        "cores 2\nsbuf a : f32[32, 4] @ 0\nsbuf b : f32[32, 4] @ 16\nsemaphore s\nsemaphore t\n"
        "core0 vector memset dst=a value=0.0 then s += 1\n"
        "core0 gpsimd sendrecv dst=b src=a pipe=0 when s >= 1 then t += 16\ncore0 vector nop when t >= 16\n",
        "SENDRECV-PAIR",
        7,
        "the other core has no matching sendrecv on pipe 0",
        1,
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_the_cause_comes_first(what):
    text, code, line, message, notes = CASES[what]
    found = glia.assemble(text, "trn2").verify().diagnostics
    assert [(d.code, d.line, d.message) for d in found] == [(code, line, message)]
    assert len(found[0].notes) == notes and all("wait" in note for note in found[0].notes)
