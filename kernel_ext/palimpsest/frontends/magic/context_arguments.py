"""Distinguish ``%agent context`` and its arguments from prompts that begin with the word.

Border: works on text only, and nothing heavy is imported, since ``frontends/magic/line_parser.py`` is
loaded by ``%load_ext``.
"""

import re

CONTEXT_FORMS = {
    "at": "%agent context at REQUEST",
    "changed": "%agent context changed REQUEST [REQUEST]",
    "why": "%agent context why ITEM [REQUEST]",
}
"""How each keyword that may follow is written."""
CONTEXT_WORDS = tuple(CONTEXT_FORMS)
_NUMBER = r"([1-9]\d{0,8})"
_ITEM = r"(\w*\d\w*)"
"""An item's number, or the id of a part or message."""
_FORMS = (
    ("at", re.compile(rf"at(?: step| request)? {_NUMBER}")),
    ("changed", re.compile(rf"changed(?: since)? {_NUMBER}(?: {_NUMBER})?")),
    ("why", re.compile(rf"why(?: not)? {_ITEM}(?: (?:at )?{_NUMBER})?")),
)


def context_argument(words: list[str]) -> str | None:
    """Return the arguments of ``context`` as ``at 3``, ``changed 3 8`` or ``why 5 8``; None for a prompt.

    >>> context_argument(["context", "changed", "since", "3"])
    'changed 3'
    """
    rest = " ".join(words[1:])
    if not rest:
        return ""
    for name, form in _FORMS:
        match = form.fullmatch(rest)
        if match is not None:
            return " ".join([name, *(one for one in match.groups() if one)])
    return None
