"""What notebooks show of kernels, programs and searches: small tables."""

from __future__ import annotations

from html import escape


def table(rows, head=()) -> str:
    """Rows of texts; the names of the columns are optional."""
    lines = [f"<tr>{''.join(f'<th>{escape(x)}</th>' for x in head)}</tr>"] if head else []
    lines += [f"<tr>{''.join(f'<td>{escape(x)}</td>' for x in row)}</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def titled(title: str, rows, text: str | None = None) -> str:
    """A title, a table of names and values, and a text under it."""
    below = f"<pre>{escape(text)}</pre>" if text else ""
    return f"<b>{escape(title)}</b>{table(rows)}{below}"
