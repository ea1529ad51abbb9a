"""A pytest plugin (`pytest -p glia.pytest`): tests that import nki get glia's."""


def pytest_addoption(parser):
    parser.getgroup("glia").addoption("--glia-target", default=None, help="the target of kernels which do not say one")


def pytest_configure(config):
    from .hook import install

    install(config.getoption("--glia-target"))


def pytest_unconfigure(config):
    from .hook import uninstall

    uninstall()
