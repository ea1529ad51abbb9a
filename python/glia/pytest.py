"""The pytest plugin of glia. It is there wherever glia is installed, and takes the place of `nki` only if it is asked to, by
`-p glia.pytest`, `--glia-target` or `glia_target` in the configuration. Fixtures: `glia_target` and `glia_profile`; the times that tests
predicted are listed at the end, with `--glia-times` those of every kernel that any test called."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

_TIMES = pytest.StashKey[list]()
_NAME = "glia.pytest"


class Predicted(NamedTuple):
    """One call of a kernel."""

    kernel: str
    target: str
    time: float  # nanoseconds


class Profiles(list):
    """The predicted times of the kernels that a test has called so far."""

    @property
    def total(self) -> float:
        """Nanoseconds."""
        return sum(p.time for p in self)

    def _look(self, kernel, args, kwargs, traced, program, inputs) -> None:
        time = program.profile(inputs, timeline=False).total
        self.append(Predicted(traced.name, str(traced.target), time))


def pytest_addoption(parser):
    group = parser.getgroup("glia")
    group.addoption("--glia-target", default=None, help="the target of kernels which do not say one; nki is glia's")
    group.addoption("--glia-times", action="store_true", help="list the predicted times of every test's kernels")
    parser.addini("glia_target", "as --glia-target", default=None)


def _target(config) -> str | None:
    return config.getoption("--glia-target") or config.getini("glia_target") or None


def pytest_configure(config):
    config.stash[_TIMES] = []
    if _target(config) or _NAME in (config.getoption("plugins", None) or ()):
        from .hook import install

        install(_target(config))


def pytest_unconfigure(config):
    from .hook import uninstall

    uninstall()


@pytest.fixture
def glia_target() -> str:
    """The target of kernels which do not say one."""
    from .nki.environment import target_name

    return target_name()


@pytest.fixture
def glia_profile(request):
    """The predicted times of the kernels that the test calls: a list of (kernel, target, time), with a `total`."""
    from .nki import runtime

    profiles = Profiles()
    runtime.observers.append(profiles._look)
    yield profiles
    runtime.observers.remove(profiles._look)
    request.config.stash[_TIMES].append((request.node.nodeid, profiles))


@pytest.fixture(autouse=True)
def _glia_times(request):
    if request.config.getoption("--glia-times"):
        request.getfixturevalue("glia_profile")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    if call.excinfo is not None and not item.config.getoption("--full-trace"):
        for name, module in list(sys.modules.items()):
            if name == "glia" or name.startswith("glia."):
                module.__tracebackhide__ = True  # pytest leaves its frames out
    yield


def pytest_terminal_summary(terminalreporter, config):
    listed = [(node, profiles) for node, profiles in config.stash[_TIMES] if profiles]
    if not listed:
        return
    terminalreporter.section("predicted times")
    for node, profiles in listed:
        terminalreporter.line(f"{profiles.total / 1000:10.2f} us  {node}")
        counted = {}
        for p in profiles:
            counted.setdefault(p, []).append(p)
        for p, calls in counted.items() if len(profiles) > 1 else ():
            times = f" x {len(calls)}" if len(calls) > 1 else ""
            terminalreporter.line(f"{p.time / 1000:14.2f} us  {p.kernel} on {p.target}{times}")
