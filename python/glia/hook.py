"""Makes glia.nki importable as `nki`, and as `neuronxcc.nki` for the names that still exist, and glia.neuron's modules under the names of
the vendor's for PyTorch. Nothing happens until install() is
called (by the user, by `python -m glia` or by the pytest plugin), so that the vendor's package is never shadowed by accident."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

from . import _glia, tracebacks

_MODULES = {
    "nki": "glia.nki",
    "nki.isa": "glia.nki.isa",
    "nki.isa.constants": "glia.nki.isa.constants",
    "nki.language": "glia.nki.language",
    "nki.dtype": "glia.nki.dtypes",
    "nki.tensor": "glia.nki.tensor",
    "nki.typing": "glia.nki.typing",
    "nki.collectives": "glia.nki.collectives",
    "nki.simulator": "glia.nki.simulator",
    "nki.compiler": "glia.nki.compiler",
    "neuronxcc": None,  # a package with nothing else in it
    "neuronxcc.nki": "glia.nki",
    "neuronxcc.nki.isa": "glia.nki.isa",
    "neuronxcc.nki.language": "glia.nki.language",
    "neuronxcc.nki.typing": "glia.nki.typing",
    "neuronxcc.nki.compiler": "glia.nki.compiler",
    "libneuronxla": "glia.neuron.libneuronxla",
    "libneuronxla.libneuronpjrt_path": "glia.neuron.libneuronxla.libneuronpjrt_path",
    "torch_neuronx": "glia.neuron.torch_neuronx",
    "torch_neuronx.initialization": "glia.neuron.torch_neuronx.initialization",
    "torch_neuronx.utils": "glia.neuron.torch_neuronx.utils",
    "torch_neuronx.xla": "glia.neuron.torch_neuronx.xla",
}
# Modules of others, and what changes them when they are imported.
_CHANGED = {"torch_xla._internal.pjrt": ("glia.neuron.processes", "change_pjrt")}
_PACKAGES = tuple(dict.fromkeys(name.split(".")[0] for name in _MODULES))
_VENDORS = ("nki.compiler.", "neuronxcc.nki.compiler.")  # any module in these is nki.compiler, which knows every name


def _module_of(name: str) -> str | None:
    return "glia.nki.compiler" if name.startswith(_VENDORS) else _MODULES[name]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for the names above with our modules themselves, not with copies."""

    def find_spec(self, name, path=None, target=None):
        if name in _CHANGED:
            return _changed(importlib.machinery.PathFinder.find_spec(name, path, target))
        if name not in _MODULES and not name.startswith(_VENDORS):
            if name.split(".")[0] in _PACKAGES:
                raise ModuleNotFoundError(f"glia has no module {name!r}", name=name)
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        ours = _module_of(spec.name)
        if ours is None:
            return types.ModuleType(spec.name)
        module = importlib.import_module(ours)
        self._spec = (module, module.__spec__)
        return module

    def exec_module(self, module):
        if getattr(self, "_spec", (None,))[0] is module:
            module.__spec__ = self._spec[1]  # it keeps its own name
            self._spec = (None,)


def _changed(spec):
    """A spec whose module is changed once it is there."""
    if spec is not None:
        where, function = _CHANGED[spec.name]
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            getattr(importlib.import_module(where), function)(module)

        spec.loader.exec_module = exec_module
    return spec


# Packages of the vendor's that are not here, and what to use.
_RANKS = "Write the parallel layers in torch.distributed: docs/pytorch.md, Several ranks"
_ABSENT = {
    "neuronx_distributed": _RANKS,
    "neuronx_distributed_inference": f"Its kernels run by themselves, as NKI kernels. {_RANKS}",
    "neuronx_distributed_training": _RANKS,
    "transformers_neuronx": 'Use the model of transformers, with torch.compile(backend="glia") or torch_neuronx.trace',
    "torch_neuron": "It is for Inferentia 1: use torch_neuronx.trace",
    "tensorflow_neuronx": "Use JAX or PyTorch",
}


class _LastFinder(importlib.abc.MetaPathFinder):
    """Asked for what nobody else has: an import of such a package is refused with what to use. A question whether it is there gets a plain no."""

    def find_spec(self, name, path=None, target=None):
        instead = _ABSENT.get(name)
        if instead is not None and sys._getframe(2).f_code.co_name != "find_spec":  # importlib.util's
            raise ModuleNotFoundError(f"glia does not provide {name}. {instead} (docs/neuron-compat.md)", name=name)
        return None


_finder, _last_finder = _Finder(), _LastFinder()


def _ours(module) -> bool:
    return (
        getattr(module, "__name__", "").startswith("glia.")
        or module.__spec__ is None
        or module.__spec__.loader is _finder
    )


def install(target: str | None = None) -> None:
    """From now on `import nki` gives glia's. `target` is that of kernels which do not say one."""
    from .nki import environment
    from .nki.trace import find_target

    for name in _PACKAGES:
        module = sys.modules.get(name)
        if module is not None and not _ours(module):
            where = getattr(module, "__file__", None) or "a built-in module"
            raise _glia.make_error(
                "NKI-HOOK", f"`{name}` is imported already, from {where}", "Call glia.install() first."
            )
    environment.choose_target(None if target is None else find_target(target).reference)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        sys.meta_path.append(_last_finder)
    tracebacks.install()


def uninstall() -> None:
    """Undoes install(). Modules that imported `nki` keep glia's."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        sys.meta_path.remove(_last_finder)
        for name in [n for n in sys.modules if n in _MODULES or n.startswith(_VENDORS)]:
            del sys.modules[name]
    tracebacks.uninstall()
    from .nki import environment

    environment.choose_target(None)
