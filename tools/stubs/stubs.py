"""Writes python/nki-stubs, by which mypy and pyright check files that import nki: python tools/stubs/stubs.py python/nki-stubs

Everything comes from the modules themselves; only the types of parameters are told, in types.py. A parameter without one is an error."""

from __future__ import annotations

import enum
import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import glia.nki as nki
from glia.nki import collectives, isa, language
from glia.nki.dtypes import DType
from glia.nki.objects import MemoryRegion
from glia.nki.ops import Op
from glia.nki.registers import VirtualRegister
from glia.nki.tensor import NkiTensor
from glia.nki.trace import NkiInstruction
from types_of_nki import BY_NAME, EXCEPTIONS, RETURNS

HEAD = "# Made by tools/stubs/stubs.py; do not edit.\n"
COMMON = """from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

"""
TENSORS = """from enum import Enum

class NKIObject:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class DType(str):
    itemsize: int

DTypeLike: TypeAlias = DType | str | type[Any]
Shape: TypeAlias = Sequence[int]
Value: TypeAlias = NkiTensor | float
Flag: TypeAlias = bool  # nki.language has a bool of its own
"""
KERNEL = """
class Kernel:
    func: Callable[..., Any]
    lnc: int
    target: str | None
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getitem__(self, cores: int) -> Kernel: ...
    def with_schedule(self, edges: Any) -> Kernel: ...
    def on(self, target: str) -> Kernel: ...
    def trace(self, *args: Any, **kwargs: Any) -> Any: ...

@overload
def jit(fn: Callable[..., Any]) -> Kernel: ...
@overload
def jit(fn: None = ..., **kwargs: Any) -> Callable[[Callable[..., Any]], Kernel]: ...
def simulate(kernel: Callable[..., Any], ranks: int | None = ...) -> Kernel: ...
def simulate_kernel(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
def assume(tensor: NkiTensor, range: tuple[int, int] | None = ..., unique: bool = ...) -> NkiTensor: ...

cpu_simulate = simulate
dtype = DType
"""
OPERATIONS = """
class Op:
    name: str

class UnaryOp(Op):
    def __call__(self, x: Value, dtype: DTypeLike | None = ...) -> NkiTensor: ...

class BinaryOp(Op):
    def __call__(self, x: Value, y: Value, dtype: DTypeLike | None = ...) -> NkiTensor: ...

class ReduceOp(Op):
    def __call__(
        self, x: NkiTensor, axis: int | Sequence[int], dtype: DTypeLike | None = ..., keepdims: bool = ...
    ) -> NkiTensor: ...
"""
_OPERATIONS = {
    "(x, dtype=None)": "UnaryOp",
    "(x, y, dtype=None)": "BinaryOp",
    "(x, axis, dtype=None, keepdims=False)": "ReduceOp",
}
_HIDDEN = {
    "operand",
    "dynamic",
    "index",
    "scalars",
    "storage",
    "terms",
    "wrong",
    "base_tensor",
    "on_chip",
}  # not of the language
_PROPERTIES = {"shape": "tuple[int, ...]", "strides": "tuple[int, ...]", "offset": "int", "dtype": "DType"}
_PROPERTIES |= {"buffer": "MemoryRegion", "name": "str", "ndim": "int", "size": "int", "itemsize": "int"}


def parameter(function: str, p: inspect.Parameter) -> str:
    if p.kind is p.VAR_POSITIONAL:
        return f"*{p.name}: Any"
    if p.kind is p.VAR_KEYWORD:
        return f"**{p.name}: Any"
    if p.name == "self":
        return "self"
    kind = EXCEPTIONS.get((function, p.name)) or BY_NAME.get(p.name)
    if kind is None:
        raise SystemExit(f"{function}: tools/stubs/types_of_nki.py does not know the parameter `{p.name}`")
    optional = " | None" if p.default is None and kind != "Any" else ""
    return f"{p.name}: {kind}{optional}" + ("" if p.default is p.empty else " = ...")


def function(name: str, f, otherwise: str, indent: str = "") -> str:
    signature = inspect.signature(f)
    said = signature.return_annotation
    instruction = "name" in signature.parameters and otherwise == "instruction"
    returns = RETURNS.get(name) or (said if isinstance(said, str) else "NkiInstruction" if instruction else "NkiTensor")
    parameters = ", ".join(parameter(name, p) for p in signature.parameters.values())
    return f"{indent}def {name}({parameters}) -> {returns}: ...\n"


def enumeration(kind) -> str:
    members = "".join(f"    {m.name} = {m.value!r}\n" for m in kind)
    ordered = "".join(
        f"    def __{op}__(self, other: object) -> bool: ...\n"
        for op in ("lt", "le", "gt", "ge")
        if getattr(kind, f"__{op}__") is not getattr(object, f"__{op}__")
    )
    return f"class {kind.__name__}(Enum):\n{members}{ordered}\n"


def tensor() -> str:
    lines = ["class NkiTensor(NKIObject):\n"]
    lines += [f"    {name}: {kind}\n" for name, kind in _PROPERTIES.items()]
    made = inspect.signature(language.ndarray).parameters.values()
    lines.append(f"    def __init__(self, {', '.join(parameter('ndarray', p) for p in made)}) -> None: ...\n")
    lines.append("    def __getitem__(self, key: Any) -> NkiTensor: ...\n")
    lines.append("    def __setitem__(self, key: Any, value: Value) -> None: ...\n")
    methods = inspect.getmembers(NkiTensor, inspect.isfunction)
    lines += [function(n, f, "tile", "    ") for n, f in methods if not n.startswith("_") and n not in _HIDDEN]
    missing = (
        {n for n in dir(NkiTensor) if not n.startswith("_")} - {n for n, _ in methods} - _HIDDEN - _PROPERTIES.keys()
    )
    if missing:
        raise SystemExit(f"NkiTensor: what is `{min(missing)}`?")
    return "".join(lines) + "\n"


def registers() -> str:
    operators = "".join(
        f"    def __{op}__(self, other: int | VirtualRegister) -> VirtualRegister: ...\n"
        for op in ("add", "radd", "sub", "rsub", "mul", "rmul")
        if hasattr(VirtualRegister, f"__{op}__")
    )
    instruction = "class NkiInstruction(NKIObject):\n" + function(
        "depends_on", NkiInstruction.depends_on, "tile", "    "
    )
    return f"class VirtualRegister(NKIObject):\n{operators}    def __bool__(self) -> Flag: ...\n\n{instruction}\n"


def tensors_module() -> str:
    return (
        HEAD
        + "from __future__ import annotations\n\n"
        + COMMON
        + TENSORS
        + "\n"
        + enumeration(MemoryRegion)
        + tensor()
        + registers()
        + OPERATIONS.lstrip("\n")
    )


def language_module() -> str:
    functions, values, operations = [], [], []
    for name in sorted(set(language.__all__)):
        x = getattr(language, name)
        if isinstance(x, Op):
            operations.append(f"{name}: {_OPERATIONS.get(str(inspect.signature(x)), 'Op')}\n")
        elif isinstance(x, (DType, MemoryRegion)):
            values.append(f"{name}: {type(x).__name__}\n")
        elif name == "ndarray":
            values.append("ndarray = NkiTensor\n")
        elif inspect.isfunction(x):
            functions.append(function(name, x, "tile"))
    sizes = "".join(f"    {n}: int\n" for n in sorted(dir(language.tile_size)) if not n.startswith("_"))
    slices = "class DynamicSlice:\n    def __init__(self, start: Any, size: int) -> None: ...\n\n"
    order = (
        "class no_reorder:\n    def __enter__(self) -> None: ...\n    def __exit__(self, *_: object) -> None: ...\n\n"
    )
    names = "NkiTensor, NKIObject, DType, DTypeLike, MemoryRegion, Op, UnaryOp, BinaryOp, ReduceOp, Flag, Shape, Value, VirtualRegister"
    imported = ", ".join(f"{n} as {n}" for n in names.split(", "))
    return (
        HEAD
        + COMMON
        + f"from ._tensors import {imported}\n\n"
        + slices
        + order
        + f"class _TileSize:\n{sizes}\ntile_size: _TileSize\n"
        + "".join(values + operations + functions)
    )


def isa_module() -> str:
    enums, values, functions = [], [], []
    for name in sorted(set(isa.__all__)):
        x = getattr(isa, name)
        if inspect.isclass(x) and issubclass(x, enum.Enum):
            enums.append(enumeration(x))
        elif isinstance(x, enum.Enum):
            values.append(f"{name}: {type(x).__name__}\n")
        elif inspect.isfunction(x):
            functions.append(function(name, x, "instruction"))
    imported = "DTypeLike, Flag, NkiInstruction as NkiInstruction, NkiTensor, Op, Shape, Value, VirtualRegister as VirtualRegister"
    error = "class NkiValidationError(Exception):\n    diagnostics: list[Any]\n\n"
    return (
        HEAD
        + COMMON
        + f"from enum import Enum\n\nfrom ._tensors import {imported}\n\n"
        + "".join(enums)
        + error
        + "".join(values + functions)
    )


def collectives_module() -> str:
    functions = [
        function(n, f, "instruction")
        for n, f in sorted(vars(collectives).items())
        if n in collectives.__all__ and inspect.isfunction(f)
    ]
    group = "class ReplicaGroup(NKIObject):\n    def __init__(self, groups: Sequence[Sequence[int]]) -> None: ...\n\n"
    return (
        HEAD
        + COMMON
        + "from ._tensors import NKIObject, NkiInstruction, NkiTensor, Op, VirtualRegister\n\n"
        + group
        + "".join(functions)
    )


def package() -> str:
    imported = "DType, MemoryRegion as MemoryRegion, NKIObject as NKIObject, NkiTensor as NkiTensor"
    known = {
        "Kernel",
        "MemoryRegion",
        "NKIObject",
        "NkiTensor",
        "assume",
        "cpu_simulate",
        "dtype",
        "dtypes",
        "jit",
        "simulate",
        "simulate_kernel",
    }
    if known != set(nki.__all__):
        raise SystemExit(f"nki: the package has other names: {known ^ set(nki.__all__)}")
    head = COMMON.replace("from typing import Any, TypeAlias", "from typing import Any, overload")
    return (
        HEAD
        + head
        + f"from . import collectives as collectives, isa as isa, language as language\nfrom ._tensors import {imported}\n"
        + KERNEL
    )


def files() -> dict[str, str]:
    """The text of each file."""
    typing = "from ._tensors import NkiTensor as NkiTensor\n\ntensor = NkiTensor\nmutable_tensor = NkiTensor\n"
    return {
        "__init__.pyi": package(),
        "_tensors.pyi": tensors_module(),
        "collectives.pyi": collectives_module(),
        "isa.pyi": isa_module(),
        "language.pyi": language_module(),
        "typing.pyi": HEAD + typing,
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text)
