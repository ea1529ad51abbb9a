"""How diagnostics are printed on the standard error: as text, or as JSON in the form that the tool `glia` has."""

from __future__ import annotations

import json
import sys

FORMS = ("text", "json")
_FIELDS = ("severity", "code", "message", "file", "line", "column", "context", "value", "limit", "advice", "notes")
_form = [FORMS[0]]


def add_option(parser) -> None:
    text = "how errors and warnings are printed: text or json"
    parser.add_argument("--diagnostics", choices=FORMS, default=FORMS[0], help=text)


def choose(form: str) -> None:
    """The form from now on."""
    _form[:] = [form]


def as_dict(d) -> dict:
    return {name: getattr(d, name) for name in _FIELDS}


def show(diagnostics: list) -> None:
    """On the standard error."""
    if _form[0] == "json":
        text = json.dumps({"diagnostics": [as_dict(d) for d in diagnostics]}, indent=2)
    else:
        text = "\n".join(map(str, diagnostics))
    print(text, file=sys.stderr)
