"""How diagnostics are printed on the standard error: as text, or as JSON in the form that the tool `glia` has."""

from __future__ import annotations

import json
import sys

FORMS = ("text", "json")
_FIELDS = ("severity", "code", "message", "file", "line", "column", "context", "value", "limit", "advice", "notes")


def add_option(parser) -> None:
    parser.add_argument("--diagnostics", choices=FORMS, default=FORMS[0], help="how errors are printed: text or json")


def as_dict(d) -> dict:
    return {name: getattr(d, name) for name in _FIELDS}


def show(error, form: str) -> None:
    """An Error, on the standard error."""
    if form == "json":
        text = json.dumps({"diagnostics": [as_dict(d) for d in error.diagnostics]}, indent=2)
    else:
        text = str(error)
    print(text, file=sys.stderr)
