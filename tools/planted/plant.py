"""Plants faults into a copy of the verifier: plant.py FROM TO.

A fault makes the verifier say yes where it should not: a refusal that is left out, one of the conditions of a yes or of an exit from
a check that does not count, a doubt that is not taken down, something that weakens the state and is not done. Each can be chosen when
the program runs, one at a time. TO gets the changed copies and Faults.inc, the list of faults: file, line, what is done, the text it
is done to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# What only words messages, counts, or reads and writes certificates, whose tests are in test/Verify.
LEFT_ALONE = set(
    "Reporter.cpp RuleBook.cpp LoopHint.cpp HintBytes.h Certificate.cpp Layout.cpp LayoutSearch.cpp".split()
)
# Questions whose yes proves something, and those whose no does.
YES = set(
    "separate apartBy apart apartAt apartModulo disjointModulo provedByStridesOf ordered knows fits exact alike samePiece sameValue "
    "sameRows sameLayout storesTheSame isFunction commutes leftAsFound holds neverWritten replacesAll engineReaches worksInPlace "
    "isNotZero isMask passable waysSignalAlike definedTogether moveAlike".split()
)
NO = set(
    "mayOverlap runsMeet footprintsMeet repeats spoilt weaken ambiguous isIndexed bodySynchronises coresShareWrites".split()
)
# What they leave out of the state, nobody relies on.
WEAKENS = set(
    "joinCell joinMap joinSemaphore joinEngine join joinContents weaken aged renumber renumberClocks foldSpot disturb spoilt wrapped "
    "forgetValues makeHead leaveProved endMaybe meet close lower progression stepExchange meetExchanges serialise write".split()
)
REFUSAL = r"(?:return )?[\w.\->]*\b(?:fail|failProgram|failForGood|reportBlocked|tellFeature|tellOverlap)\("
CLOSES = {"(": ")", "[": "]", "{": "}"}
STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*')


def skip(text: str, at: int) -> int:
    """Where the string, character or comment that begins here ends; here, if none does."""
    m = STRING.match(text, at) if text[at] in "\"'/" else None
    return m.end() if m else at


def closing(text: str, at: int) -> int:
    """The place of the bracket that closes the one here."""
    depth = 0
    while at < len(text):
        after = skip(text, at)
        if after != at:
            at = after
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
        at += 1
    raise ValueError("a bracket is not closed")


def parts(text: str, operator: str) -> list[str]:
    """The operands of an operator outside of all brackets."""
    out, start, at = [], 0, 0
    while at < len(text):
        after = skip(text, at)
        if after != at:
            at = after
        elif text[at] in CLOSES:
            at = closing(text, at) + 1
        elif text.startswith(operator, at):
            out.append(text[start:at])
            at = start = at + len(operator)
        else:
            at += 1
    return [*out, text[start:]]


class Planter:
    def __init__(self):
        self.faults: list[tuple[str, int, str, str]] = []
        self.file, self.line, self.function = "", 0, ""

    def fault(self, what: str, text: str) -> int:
        self.faults.append((self.file, self.line, what, " ".join(text.split())))
        return len(self.faults)

    def condition(self, text: str, value: bool) -> str:
        """A condition that can have this value whatever it says, as a whole or because one of its operands does not count."""
        word = str(value).lower()
        made = text
        operands = parts(text, "||")
        operator = "||"
        if len(operands) == 1:
            operator, operands = "&&", parts(text, "&&")
        if len(operands) > 1:
            if (operator == "&&") == value:
                pieces = [
                    f"planted::is({self.fault('does not count', o)}, static_cast<bool>({o}), {word})" for o in operands
                ]
            else:
                pieces = [f"({self.condition(o, value)})" if len(parts(o, "&&")) > 1 else o for o in operands]
            made = f" {operator} ".join(pieces)
        whole = self.fault("always" if value else "never", text)
        return f"planted::is({whole}, static_cast<bool>({made}), {word})"

    def plant(self, text: str) -> str:
        out, at = "", 0
        # A condition, a yes or no that is returned, a statement that is a call.
        site = re.compile(
            r"\bif \(|\breturn |(?<=[;{})\n:])\n[ ]+(?!return|if|for|while|switch|else|do|case|using|static|const|auto)(?=[a-z_][\w.:\->\[\]*]*\()"
        )
        while m := self.next(site, text, at):
            out += text[at : m.start()]
            self.line = text.count("\n", 0, m.end()) + 1
            self.function = self.name_at(text, m.end())
            if m.group().startswith("if"):
                end = closing(text, m.end() - 1)
                out += f"if ({self.test(text[m.end() : end], text[end + 1 : end + 300])})"
                at = end + 1
            elif m.group().startswith("return"):
                end = self.statement_end(text, m.end())
                out += "return " + self.returned(text[m.end() : end])
                at = end
            else:
                end = self.statement_end(text, m.end())
                call = text[m.end() : end]
                guarded = re.search(r"\bif \(.*\)$", out.rstrip().rsplit("\n", 1)[-1])
                alone = closing(call, call.index("(")) == len(call) - 1
                if alone and (self.function in WEAKENS or (re.match(REFUSAL, call) and not guarded)):
                    out += f"{m.group()}{{ if (planted::does({self.fault('not done', call)})) {call}; }}"
                    at = end + 1
                else:
                    out += m.group()
                    at = m.end()
        return out + text[at:]

    @staticmethod
    def name_at(text: str, at: int) -> str:
        """The function that this is in: the last line at the margin of functions that has a name and a bracket."""
        heads = re.findall(
            r"^(?:  )?(?:template <[^>]*> )?[A-Za-z][\w:<>&*, ]*?[ *&](?:\w+::)?(\w+)\([^\n]*$", text[:at], re.M
        )
        return heads[-1] if heads else ""

    @staticmethod
    def next(site: re.Pattern, text: str, at: int):
        """The next site outside of strings and comments."""
        while at < len(text):
            m = site.search(text, at)
            if not m:
                return None
            begins = text.rfind("\n", 0, m.start()) + 1
            inside = any(s.start() < m.start() - begins < s.end() for s in STRING.finditer(text[begins : m.end()]))
            if not inside:
                return m
            at = m.end()
        return None

    @staticmethod
    def statement_end(text: str, at: int) -> int:
        while text[at] != ";":
            after = skip(text, at)
            at = after if after != at else closing(text, at) + 1 if text[at] in CLOSES else at + 1
        return at

    def test(self, text: str, then: str) -> str:
        *before, last = parts(text, ";")
        if re.match(r"\s*(const )?[\w:<>]+ [*&]?\w+ = ", last):
            return text  # a declaration
        body = re.match(r"\s*(?:\{\s*)?", then)
        does = then[body.end() :]
        answer = re.match(r"return (true|false|std::nullopt|nullptr|\{\}|)(?: ?;)", does)
        value = None
        if re.match(REFUSAL, does):
            value = False
        elif answer and answer[1] in ("true", "false"):
            claims = answer[1] == "true"
            if self.function in YES | NO:
                value = claims == (self.function in YES)
        elif answer and answer[1]:
            value = False
        elif (answer or does.startswith("continue;")) and (
            self.function.startswith("check") or self.function == "meets"
        ):
            value = True
        elif self.function in WEAKENS:
            value = False
        return text if value is None else ";".join([*before, self.condition(last, value)])

    def returned(self, text: str) -> str:
        operators = ("&&", "||", " == ", " != ", " <= ", " >= ", " < ", " > ")
        yes_or_no = len(parts(text, "?")) == 1 and (
            text.startswith("!") or any(len(parts(text, o)) > 1 for o in operators)
        )
        if not yes_or_no or self.function not in YES | NO:
            return text
        return self.condition(text, self.function in YES)


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    planter = Planter()
    for path in sorted(source.iterdir()):
        if path.suffix not in (".cpp", ".h"):
            continue
        text = path.read_text()
        if path.name not in LEFT_ALONE:
            planter.file = path.name
            text = '#include "Planted.h"\n' + planter.plant(text)
            if path.suffix == ".h":
                text = text.replace("#pragma once\n", "", 1).replace("", "#pragma once\n", 1)
        (target / path.name).write_text(text)
    quote = str.maketrans({"\\": "\\\\", '"': '\\"'})
    rows = (f'{{"{f}", {line}, "{what}", "{text.translate(quote)}"}},\n' for f, line, what, text in planter.faults)
    (target / "Faults.inc").write_text("".join(rows))
    print(f"{len(planter.faults)} faults")


if __name__ == "__main__":
    main()
