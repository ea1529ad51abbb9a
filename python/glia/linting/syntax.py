"""The subset of Python that the vendor's parser takes: each statement, expression and definition outside of it is a finding."""

from __future__ import annotations

import ast
import builtins
from collections import Counter

from .finding import Findings
from .names import Imports

_BUILTINS = {"range", "len", "min", "max", "abs", "int", "float", "bool", "str", "tuple", "list", "dict", "slice"}
_BUILTINS |= {"print", "isinstance", "type", "divmod", "staticmethod", "property"}
_METHODS = {
    "list": {"append", "clear", "copy", "count", "extend", "index", "pop", "remove", "reverse", "sort"},
    "dict": {"clear", "copy", "get", "items", "keys", "pop", "setdefault", "values"},
}
_DECORATORS = {"jit", "staticmethod", "property", "dataclass"}
_BASES = {"NKIObject", "Enum", "NamedTuple"}
_STATEMENTS = {
    "Try": ("try", "Ask with `if` before, or `assert`."),
    "TryStar": ("try", "Ask with `if` before, or `assert`."),
    "Raise": ("raise", "Say `assert condition, text`."),
    "Delete": ("del", "Leave it out: what is not used any more is freed."),
    "Global": ("global", "Pass what is shared as an argument, for example in an NKIObject."),
    "Nonlocal": ("nonlocal", "Pass what is shared as an argument, for example in an NKIObject."),
    "Import": ("import", "Import at the top of the file."),
    "ImportFrom": ("import", "Import at the top of the file."),
    "Match": ("match", "Write if, elif, else."),
    "AsyncFor": ("async for", "Write a plain for."),
    "AsyncWith": ("async with", "Leave it out."),
    "TypeAlias": ("type", "Move it out of the function."),
}
_EXPRESSIONS = {
    "Lambda": ("LINT-LAMBDA", "a lambda", "Write a function at the top of the file and name it."),
    "ListComp": ("LINT-COMPREHENSION", "a list comprehension", "Append in a for loop."),
    "SetComp": ("LINT-COMPREHENSION", "a set comprehension", "Fill a list or dict in a for loop."),
    "DictComp": ("LINT-COMPREHENSION", "a dict comprehension", "Assign in a for loop."),
    "GeneratorExp": ("LINT-COMPREHENSION", "a generator expression", "Append to a list in a for loop."),
    "Set": ("LINT-EXPRESSION", "a set", "Use a tuple, a list or a dict."),
    "NamedExpr": ("LINT-EXPRESSION", "`:=`", "Assign in a statement of its own."),
    "Yield": ("LINT-EXPRESSION", "yield", "Return a list."),
    "YieldFrom": ("LINT-EXPRESSION", "yield", "Return a list."),
    "Await": ("LINT-EXPRESSION", "await", "Leave it out."),
    "Starred": ("LINT-STAR", "`*`", "Write the values out."),
}


class Syntax(ast.NodeVisitor):
    """Looks at one function or class."""

    def __init__(
        self, findings: Findings, imports: Imports, known: set[str], kinds: dict[str, str], renamed: dict[str, str]
    ):
        self.findings, self.imports = findings, imports
        self.known = known  # names that the file or the function binds
        self.renamed = renamed  # other names of what neither binds
        self.kinds = kinds  # of local names: "list" or "dict", where every assignment is one
        self.depth = 0
        self.dynamic: list[bool] = []  # for each loop around: does the device count it
        self.bodies: set[str] = set()  # names of functions that are given to loops of nki.language

    # ---- definitions

    def visit_FunctionDef(self, node):
        for d in node.decorator_list:
            name = self.imports.last(d.func if isinstance(d, ast.Call) else d)
            if name not in _DECORATORS:
                self._add(
                    "LINT-DECORATOR", d, f"the decorator `{ast.unparse(d)}`", "Call what it does in the function."
                )
        if self.depth and node.name not in self.bodies:
            advice = "Move it to the top of the file and pass what it needs; bodies of nl.fori_loop and nl.while_loop may stay."
            self._add("LINT-INNER", node, f"the function `{node.name}` in a function", advice, warning=True)
        a = node.args
        for star, argument in (("*", a.vararg), ("**", a.kwarg)):
            if argument is not None:
                self._add("LINT-STAR", argument, f"`{star}{argument.arg}`", "Name every parameter.")
        if a.kwonlyargs:
            text = f"`{a.kwonlyargs[0].arg}` can only be given by name"
            self._add("LINT-STAR", a.kwonlyargs[0], text, "Leave the `*` between the parameters out.")
        self.depth += 1
        before, self.dynamic = self.dynamic, []
        self.bodies |= _loop_bodies(node, self.imports)
        for part in [*a.defaults, *filter(None, a.kw_defaults), *node.body]:
            self.visit(part)
        self.dynamic = before
        self.depth -= 1

    def visit_AsyncFunctionDef(self, node):
        self._add("LINT-STATEMENT", node, "async def", "Write a plain function.")
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node):
        if self.depth:
            self._add("LINT-CLASS", node, f"the class `{node.name}` in a function", "Move it to the top of the file.")
        names = [self.imports.last(b) for b in node.bases]
        if not names or not set(names) <= _BASES:
            of = f" of {', '.join(names)}" if names else ""
            self._add("LINT-CLASS", node, f"the class `{node.name}`{of}", "Derive it from nl.NKIObject or Enum.")
        for k in node.keywords:
            self._add("LINT-CLASS", k.value, f"the keyword `{k.arg}` of the class `{node.name}`", "Leave it out.")
        for part in node.body:
            if isinstance(part, ast.Assign) and any(self.imports.last(t) == "__slots__" for t in part.targets):
                self._add("LINT-CLASS", part, f"__slots__ of the class `{node.name}`", "Leave them out.")
            elif not _is_text(part):
                self.visit(part)

    # ---- statements

    def visit(self, node):
        name = type(node).__name__
        if name in _STATEMENTS:
            what, advice = _STATEMENTS[name]
            self._add("LINT-STATEMENT", node, what, advice)
        elif name in _EXPRESSIONS:
            code, what, advice = _EXPRESSIONS[name]
            self._add(code, node, what, advice)
            if name.endswith(("Comp", "Exp")):
                return  # what is in it will be written anew
        super().visit(node)

    def visit_For(self, node):
        if node.orelse:
            self._add("LINT-ELSE", node.orelse[0], "else of a for", "Remember in a variable whether the loop was left.")
        self.visit(node.iter)
        self.visit(node.target)
        counted = self.imports.path(node.iter.func) if isinstance(node.iter, ast.Call) else ""
        self._loop(node.body, counted.endswith("dynamic_range"))

    def visit_While(self, node):
        if node.orelse:
            self._add("LINT-ELSE", node.orelse[0], "else of a while", "Put it behind the loop.")
        self.visit(node.test)
        self._loop(node.body, False)

    def _loop(self, body, dynamic: bool) -> None:
        self.dynamic.append(dynamic)
        for part in body:
            self.visit(part)
        self.dynamic.pop()

    def _leaves(self, node, what: str, loops: list[bool]) -> None:
        if any(loops):
            self._add("LINT-LEAVE", node, f"{what} in a loop that the device counts", "Let the loop run to its end.")

    def visit_Break(self, node):
        self._leaves(node, "break", self.dynamic[-1:])

    def visit_Continue(self, node):
        self._leaves(node, "continue", self.dynamic[-1:])

    def visit_Return(self, node):
        self._leaves(node, "return", self.dynamic)
        self.generic_visit(node)

    def visit_With(self, node):
        for item in node.items:
            call = item.context_expr
            if not (
                isinstance(call, ast.Call)
                and self.imports.last(call.func) == "no_reorder"
                and item.optional_vars is None
            ):
                text = f"with {ast.unparse(item)}"
                self._add("LINT-WITH", item.context_expr, text, "Only `with nl.no_reorder():` is known.")
        for part in node.body:
            self.visit(part)

    def visit_Assign(self, node):
        for target in node.targets:
            for t in target.elts if isinstance(target, (ast.Tuple, ast.List)) else []:
                if isinstance(t, (ast.Subscript, ast.Attribute)):
                    text = f"`{ast.unparse(t)}` among several targets"
                    self._add("LINT-EXPRESSION", t, text, "Assign to it in a statement of its own.")
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        for part in filter(None, (node.target, node.value)):
            self.visit(part)

    # ---- expressions

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.MatMult):
            self._add("LINT-EXPRESSION", node, "the operator @", "Call nl.matmul or nisa.nc_matmul.")
        self.generic_visit(node)

    def visit_Compare(self, node):
        for op in node.ops:
            if isinstance(op, (ast.Is, ast.IsNot)):
                text, other = ("is", "==") if isinstance(op, ast.Is) else ("is not", "!=")
                self._add("LINT-IDENTITY", node, f"`{text}`", f"Write `{other}`, which it is taken for.", warning=True)
            elif isinstance(op, (ast.In, ast.NotIn)):
                text = "in" if isinstance(op, ast.In) else "not in"
                self._add("LINT-IN", node, f"`{text}`", "Compare with each value, or loop over them.", warning=True)
        self.generic_visit(node)

    def visit_FormattedValue(self, node):
        if node.format_spec is not None:
            text = f"the format `{ast.unparse(node.format_spec)[2:-1]}` in a string"
            self._add("LINT-FORMAT", node, text, "Leave the format out.", warning=True)
        self.visit(node.value)

    def visit_Call(self, node):
        for k in node.keywords:
            if k.arg is None:
                self._add("LINT-STAR", k.value, "`**` in a call", "Write the keywords out.")
        f = node.func
        if isinstance(f, ast.Attribute) and isinstance(
            f.value, (ast.Name, ast.List, ast.Dict, ast.Constant, ast.JoinedStr)
        ):
            self._method(node, f)
        self.generic_visit(node)

    def _method(self, node, f: ast.Attribute) -> None:
        kind = self.kinds.get(f.value.id, "") if isinstance(f.value, ast.Name) else _kind(f.value)
        if kind in _METHODS and f.attr not in _METHODS[kind]:
            known = ", ".join(sorted(_METHODS[kind]))
            self._add("LINT-METHOD", node, f"the method {f.attr} of a {kind}", f"A {kind} has {known}.")
        elif kind == "string":
            self._add("LINT-METHOD", node, f"the method {f.attr} of a string", "Strings are put together in f-strings.")

    def visit_Name(self, node):
        name = self.renamed.get(node.id, node.id)
        if name in self.known or name in _BUILTINS or not isinstance(node.ctx, ast.Load):
            return
        found = getattr(builtins, name, None)
        is_error = isinstance(found, type) and issubclass(
            found, BaseException
        )  # of a raise or except, which is found itself
        if found is not None and not is_error and not name.startswith("__"):
            self._add("LINT-BUILTIN", node, f"`{name}`", _instead_of(name))

    def _add(self, code: str, node, what: str, advice: str, warning: bool = False) -> None:
        who = "some versions of the vendor's front end do" if warning else "the vendor's front end does"
        self.findings.add(code, node, f"{what}: {who} not take it", advice, warning)


def _instead_of(name: str) -> str:
    known = {
        "enumerate": "Count: for i in range(len(x)).",
        "zip": "Count: for i in range(len(x)).",
        "sum": "Add in a for loop.",
        "any": "Ask in a for loop.",
        "all": "Ask in a for loop.",
        "reversed": "Count down: range(n - 1, -1, -1).",
        "sorted": "Sort a list in place: x.sort().",
        "pow": "Write x ** y.",
        "set": "Use a list or a dict.",
    }
    return known.get(name, f"Known are {', '.join(sorted(_BUILTINS - {'staticmethod', 'property'}))}.")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _loop_bodies(node, imports: Imports) -> set[str]:
    """Functions that are given to nl.fori_loop and nl.while_loop, which take functions."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    loops = [c for c in calls if imports.path(c.func).endswith(("fori_loop", "while_loop"))]
    given = [x for c in loops for x in (*c.args, *(k.value for k in c.keywords))]
    return {x.id for x in given if isinstance(x, ast.Name)}


def bound_names(node: ast.AST) -> set[str]:
    """Names that are assigned, defined, imported or parameters, anywhere in a tree."""
    out = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    out |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return out | {n.name for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def kinds_of(node: ast.AST) -> dict[str, str]:
    """Local names that only ever hold a list, a dict or a string that is made there."""
    kinds: dict[str, list[str]] = {}
    for n in ast.walk(node):
        targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AnnAssign) else []
        for t in targets:
            if isinstance(t, ast.Name):
                kinds.setdefault(t.id, []).append(_kind(n.value))
    bound = Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    bound.update(n.arg for n in ast.walk(node) if isinstance(n, ast.arg))
    return {name: found[0] for name, found in kinds.items() if len(set(found)) == 1 and bound[name] == len(found)}


def _kind(value: ast.expr | None) -> str:
    """What kind of thing an expression makes: list for [1], list(x) and [1] * n; "" if it cannot be told."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _METHODS:
        return value.func.id
    if isinstance(value, ast.BinOp) and "list" in (_kind(value.left), _kind(value.right)):
        return "list"
    if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        return "string"
    return type(value).__name__.lower() if isinstance(value, (ast.List, ast.Dict)) else ""
