"""One thing that the vendor's front end would not take."""

from __future__ import annotations

import ast
from typing import NamedTuple

from .. import _glia


class Finding(NamedTuple):
    code: str
    line: int
    column: int
    message: str
    advice: str
    context: str
    file: str
    warning: bool  # only some versions of the vendor's refuse it

    def diagnostic(self):
        return _glia.Diagnostic(
            self.code,
            self.message,
            self.advice,
            self.file,
            self.line,
            self.context,
            warning=self.warning,
            column=self.column,
        )


class Findings:
    """What was found in one function or class, and what a kernel uses it for."""

    def __init__(self, context: str, file: str):
        self.context, self.file = context, file
        self.list: list[Finding] = []

    def add(self, code: str, node: ast.AST, message: str, advice: str, warning: bool = False) -> None:
        place = (node.lineno, node.col_offset + 1)
        self.list.append(Finding(code, *place, message, advice, self.context, self.file, warning))
