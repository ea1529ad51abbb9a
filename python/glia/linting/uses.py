"""What kernels use of modules: names and arguments that nki does not have, what only glia has, and modules that are not NKI."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys

from .. import hook
from ..nki.missing import MissingName
from .finding import Findings
from .names import Imports

_MATH = {"pi", "e", "inf", "nan", "ceil", "floor", "gcd", "log2", "log10", "pow", "sqrt"}
_HOST = {"numpy", "torch", "jax", "ml_dtypes", "scipy"} | sys.stdlib_module_names
_ANNOTATING = {"typing", "dataclasses", "enum", "__future__", "abc"}
_OWN = {"nki.assume"}
_OWN_KEYWORDS = {"nki.jit": ("schedule", "target")}


class Uses(ast.NodeVisitor):
    """Looks at one function or class."""

    def __init__(self, findings: Findings, imports: Imports):
        self.findings, self.imports = findings, imports

    def visit_FunctionDef(self, node):
        for d in node.decorator_list:
            self.visit(d)
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Attribute(self, node):
        path = self.imports.path(node)
        if path:
            self._named(node, path)
        else:
            self.generic_visit(node)

    def visit_Name(self, node):
        path = self.imports.path(node)
        if "." in path:
            self._named(node, path)

    def visit_Call(self, node):
        path = self.imports.path(node.func)
        root = path.split(".")[0]
        if root in _HOST - _ANNOTATING and root != "math":
            advice = "Compute it outside and pass it as an argument, or use nki.language."
            self._add(
                "LINT-MODULE", node, f"a call of {path}: the vendor's front end does not run Python's modules", advice
            )
        found, _ = _resolved(path)
        if found is not None:
            self._arguments(node, path, found)
        self.generic_visit(node)

    def _named(self, node, path: str) -> None:
        root, _, last = path.rpartition(".")
        if path.split(".")[0] == "glia" or path in _OWN:
            self._add("LINT-OWN", node, f"{path} is glia's own", "Leave it out of kernels that run elsewhere, too.")
        elif root == "math" and last not in _MATH:
            self._add(
                "LINT-MODULE",
                node,
                f"{path}: the vendor's front end has math.{', '.join(sorted(_MATH))}",
                "Compute it outside and pass it as an argument.",
            )
        else:
            _, missing = _resolved(path)
            if missing is not None:
                self._add("LINT-NAME", node, missing[0], missing[1])

    def _arguments(self, node: ast.Call, path: str, function) -> None:
        for k in node.keywords:
            if k.arg in _OWN_KEYWORDS.get(path, ()):
                self._add("LINT-OWN", k.value, f"{path}({k.arg}=...) is glia's own", "Leave it out.")
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return
        name = path.rpartition(".")[2]
        taken = signature.parameters
        unknown = [k for k in node.keywords if k.arg not in taken]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            text = f"{path} has no argument `{unknown[0].arg}`"
            self._add("LINT-CALL", unknown[0].value, text, f"It is {name}{signature}.")
            return
        try:
            signature.bind(*node.args, **{k.arg: k.value for k in node.keywords})
        except TypeError as e:
            self._add("LINT-CALL", node, f"{path}: {e}", f"It is {name}{signature}.")

    def _add(self, code: str, node, message: str, advice: str) -> None:
        self.findings.add(code, node, message, advice)


def _resolved(path: str):
    """(what a dotted name of nki is, None), or (None, (what is missing, advice)); (None, None) for other modules."""
    if path.split(".")[0] not in ("nki", "neuronxcc"):
        return None, None
    module = path
    while module and module not in hook._MODULES:
        module = module.rpartition(".")[0]
    ours = hook._MODULES.get(module)
    if ours is None:
        return None, None
    found = importlib.import_module(ours)
    for name in path[len(module) + 1 :].split(".") if module != path else ():
        try:
            found = getattr(found, name)
        except MissingName as e:
            return None, (e.text, e.advice)
        except AttributeError:
            return None, (f"{module} has no `{name}`", "docs/nki-api.md lists its names.")
    return found, None
