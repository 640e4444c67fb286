"""Replace home folders by ``~`` in text before it leaves this machine.

Border: pure; known home folders are passed in. Others are recognised by the usual places of home folders,
since a session may have been recorded on another machine.
"""

import re
from collections.abc import Iterable

HOME_SIGN = "~"

_NAME = r"[^/\\\s\"'`<>:;,|(){}\[\]]+"
HOMES = re.compile(
    rf"""(?x)
      (?<![\w.~-]) (?: /(?:export/|var/|private/)?home | /Users ) / {_NAME}
    | (?<![\w.~/-]) /root (?=[/\s"'`<>:;,|(){{}}\[\]]|$)
    | (?<!\w) [A-Za-z]: (?:\\{{1,2}}|/) (?:Users|Documents\ and\ Settings) (?:\\{{1,2}}|/) {_NAME}
    """
)


def with_home_folders_hidden(text: str, homes: Iterable[str] = ()) -> str:
    """Return a text with ``~`` for every home folder; a second call changes nothing."""
    for home in homes:
        if len(home) > 1:
            text = re.sub(re.escape(home.rstrip("/\\")) + r"(?![\w.-])", HOME_SIGN, text)
    return HOMES.sub(HOME_SIGN, text)
