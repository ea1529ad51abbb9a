"""The findings in the kernels of one file, and in what they use elsewhere."""

from __future__ import annotations

import ast

from .. import _glia
from .finding import Finding, Findings
from .reach import Reached, reached
from .source import Source
from .syntax import Syntax, bound_names, kinds_of
from .uses import Uses


def kernels_and_findings(path: str) -> tuple[int, list[Finding]]:
    """How many functions and classes are NKI, and what is found in them: file by file, in the order of each."""
    source = _source(path)
    looked_at = reached(source)
    files = list(dict.fromkeys([source, *(r.source for r in looked_at)]))
    out: dict[Finding, None] = {}
    for r in looked_at:
        out |= dict.fromkeys(_findings_in(r))
    for file in files if looked_at else ():
        findings = Findings("", file.path)
        for node in file.imports.of_glia:
            advice = "Import nki: `python -m glia` and glia.install() make it glia's."
            findings.add("LINT-OWN", node, "nki is imported from glia", advice)
        out |= dict.fromkeys(findings.list)
    order = [file.path for file in files]
    once = {(f.file, f.line, f.column, f.code, f.message): f for f in out}
    return len(looked_at), sorted(once.values(), key=lambda f: (order.index(f.file), f.line, f.column, f.code))


def _findings_in(r: Reached) -> list[Finding]:
    kinds = {ast.ClassDef: "class", ast.Lambda: "lambda"}
    kind = kinds.get(type(r.node), "kernel" if r.name == r.kernel else "function")
    findings = Findings(
        f"{kind} {r.name}" + ("" if kind == "kernel" else f", used by kernel {r.kernel}"), r.source.path
    )
    scope = r.source.scope.of(r.node)
    own = bound_names(r.node)
    known = r.source.top_names() | scope.all_bound() | own
    builtins = {
        name: x.id for name, x in r.source.scope.values.items() if isinstance(x, ast.Name) and x.id not in known
    }
    renamed = {name: x for name, x in builtins.items() if name not in own}
    Syntax(findings, r.source.imports, known, kinds_of(r.node), renamed).visit(r.node)
    Uses(findings, r.source.imports).visit(r.node)
    return findings.list


def _source(path: str) -> Source:
    try:
        return Source.of_file(path)
    except OSError as e:
        raise _glia.make_error("LINT-FILE", f"{path} cannot be read: {e.strerror}", "") from None
    except (SyntaxError, ValueError) as e:
        place = (path, getattr(e, "lineno", None) or 0)
        text = f"this is no Python: {getattr(e, 'msg', e)}"
        raise _glia.error_of([_glia.Diagnostic("LINT-FILE", text, "Mend it.", *place)]) from None
