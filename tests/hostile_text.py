"""Text that steers a terminal or hides in one, and what of it may never reach one."""

import unicodedata

HOSTILE = (
    "a\x1b]52;c;ZXZpbA==\x07b\x1b[5A\x1b[0Jc\x1b[8md\x1b[me\rf\x9b2Jg\x9d0;t\x9ch\x08i\x7fj\x00k\x0cl\x85m\u2028n"
    "\u202eo\u2066p\u200fq\u061cr\u200bs\u2060t\u00adu\ufeffv\U000e0041w\u3164x\ufe0fy\ufff9z\x1bPq\x1b\\\x1bc"
)
"""The clipboard, the cursor, erasing, overwriting, the title, C1, direction, what has no width, device strings."""


def steers(text: str) -> list[str]:
    """Return the characters of a text that steer a terminal or that nobody sees."""
    text = text.replace("\r\n", "\n")
    return [sign for sign in text if sign not in "\n\t" and _is_hidden(sign)]


def _is_hidden(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") or sign in "\u3164\ufe0f"
