"""The findings in one file."""

from __future__ import annotations

import ast

from .. import _glia
from .finding import Finding, Findings
from .reach import Imports, reached
from .syntax import Syntax, bound_names, kinds_of
from .uses import Uses


def kernels_and_findings(path: str) -> tuple[int, list[Finding]]:
    """How many functions and classes are NKI, and what is found in them, in the order of the file."""
    tree = _parsed(path)
    imports = Imports(tree)
    top = set(imports.names).union(*(_top_names(s) for s in tree.body))
    looked_at = reached(tree, imports)
    out: dict[tuple, Finding] = {}
    for node, kernel in looked_at:
        kind = "class" if isinstance(node, ast.ClassDef) else "kernel" if node.name == kernel else "function"
        used = "" if node.name == kernel else f", used by kernel {kernel}"
        findings = Findings(f"{kind} {node.name}{used}")
        Syntax(findings, imports, top | bound_names(node), kinds_of(node)).visit(node)
        Uses(findings, imports).visit(node)
        out |= {(f.line, f.column, f.code, f.message): f for f in findings.list}
    for node in imports.of_glia if looked_at else ():
        findings = Findings("")
        findings.add(
            "LINT-OWN",
            node,
            "nki is imported from glia",
            "Import nki: `python -m glia` and glia.install() make it glia's.",
        )
        out |= {(f.line, f.column, f.code, f.message): f for f in findings.list}
    return len(looked_at), sorted(out.values(), key=lambda f: (f.line, f.column, f.code))


def _parsed(path: str) -> ast.Module:
    try:
        with open(path, "rb") as f:
            return ast.parse(f.read(), path)
    except OSError as e:
        raise _glia.make_error("LINT-FILE", f"{path} cannot be read: {e.strerror}", "") from None
    except (SyntaxError, ValueError) as e:
        place = (path, getattr(e, "lineno", None) or 0)
        text = f"this is no Python: {getattr(e, 'msg', e)}"
        raise _glia.error_of([_glia.Diagnostic("LINT-FILE", text, "Mend it.", *place)]) from None


def _top_names(s: ast.stmt) -> set[str]:
    return {s.name} if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else bound_names(s)
