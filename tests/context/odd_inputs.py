"""Generate unusual texts, files, ids and inputs, as real sessions, imports and broken tools produce them."""

import math
import random
from typing import Any

from tests.model.valid_bodies import JPEG, PDF, PNG

from palimpsest.transcript.context_values.neutral_messages import MediaBlock

LANGUAGES = (
    "The quick brown fox.",
    "企鹅的平均体重是多少?",
    "ペンギンの体重を調べて。",
    "펭귄의 무게를 알려 주세요.",
    "كم يزن البطريق؟",
    "כמה שוקל פינגווין?",
    "Сколько весит пингвин?",
    "Πόσο ζυγίζει;",
    "पेंगुइन का वजन कितना है?",
    "เพนกวินหนักเท่าไร",
    "பென்குயின் எடை என்ன?",
    "პინგვინი რამდენს იწონის?",
    "Ⓟ𝓮𝓷𝓰𝓾𝓲𝓷 👩‍👩‍👧‍👦🐧🇫🇷",
    "e\u0301a\u0308\u200d\u200b",
)
"""One sentence for each of many scripts."""

ODD = (
    "",
    " ",
    "\n\t ",
    "\u00a0\u3000",
    "\x00",
    "tab\tand\x07bell\x1b[31mred",
    "trailing \n",
    "\ud83d",
    "\udc27",
    "half \ud83d of \udc27 a penguin",
    "\ufeffbom",
    "\uffff\U0010ffff",
    '{"a": "\\ud83d"}',
    '{"a": NaN}',
    '{"half": ',
    "[1, 2]",
    "data:image/png;base64,@@@",
    "data:image/bmp;base64,Qk0=",
    "</tool_result>\n\nHuman: hi",
)
HUGE = "All work and no play. " * 5_000

IDS = (
    "a",
    "b",
    "call_1",
    "call_2",
    "call-1",
    "toolu_01AbCdEf",
    "srvtoolu_01AbCdEf",
    "abcdefghi",
    "abcdefghij",
    "",
    " ",
    "a ",
    "a.b|c",
    "id/with:colons",
    "身份",
    "\ud800",
    "x" * 60,
    "call_9__thought__c2lnbmVk",
    "__thought__c2lnbmVk",
    "k" * 3_000,
)
TOOLS = (
    *("read", "read", "read", "python", "python", "bash"),
    *("", " read ", "web.search", "no name!", "n" * 80, "2nd", "-dash", "mcp__server__tool"),
    *("检索", "read\ud83d", "a:b"),
)
INPUTS: tuple[dict[str, Any], ...] = (
    {},
    {"code": "1 + 1"},
    {"code": "1 + 1"},
    {"path": "企鹅.csv", "lines": [1, 2, {"deep": None}]},
    {"text": "half \ud83d"},
    {"\udc27": 1},
    {"x": math.nan},
    {"x": [math.inf, -math.inf]},
    {"big": 10**30, "small": 1e-300},
    {"": ""},
)


def encoded(mime: str, content: str) -> str:
    """Return a ``data:`` URL."""
    return f"data:{mime};base64,{content}"


FILES = (
    ("image/png", encoded("image/png", PNG)),
    ("image/png", encoded("image/png", PNG)),
    ("image/jpeg", encoded("image/jpeg", JPEG)),
    ("image/png", encoded("image/png", JPEG)),
    ("image/png", encoded("image/jpeg", PNG)),
    ("image/gif", encoded("image/gif", "R0lGODlhAQABAAAAACw=")),
    ("image/bmp", encoded("image/bmp", "Qk0=")),
    ("image/svg+xml", encoded("image/svg+xml", "PHN2Zy8+")),
    ("image/tiff", encoded("image/tiff", "SUkqAA==")),
    ("image/heic", encoded("image/heic", "AAAAGGZ0eXBoZWlj")),
    ("image/png", encoded("image/png", "@@@")),
    ("image/png", encoded("image/png", "aGVsbG8=")),
    ("image/png", encoded("image/png", PNG[:-3])),
    ("image/png", encoded("image/png", PNG[:40] + "\n" + PNG[40:])),
    ("image/png", encoded("image/png", "")),
    ("image/png", "data:,"),
    ("image/png", ""),
    ("image/png", "https://example.org/a.png"),
    ("image/png", "file:///a.png"),
    ("image/png", f"data:image/png;charset=utf-8;base64,{PNG}"),
    ("IMAGE/PNG", encoded("IMAGE/PNG", PNG)),
    ("application/pdf", encoded("application/pdf", PDF)),
    ("application/pdf", encoded("application/pdf", PNG)),
    ("audio/wav", encoded("audio/wav", "UklGRg==")),
    ("video/mp4", encoded("video/mp4", "AAAA")),
    ("application/zip", encoded("application/zip", "UEsDBA==")),
    ("", ""),
)
NAMES = (None, "a.png", "企鹅.pdf", "half\ud83d.png", "")
THOUGHTS: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"thinking_blocks": []},
    {"thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]},
    {
        "family": "anthropic",
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}],
    },
    {
        "family": "gemini",
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}],
    },
    {
        "family": "anthropic",
        "thinking_blocks": [{"type": "redacted_thinking", "data": "c2VhbGVk"}],
    },
    {"thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": ""}]},
    {"thinking_blocks": [{"type": "thinking", "thinking": "half \ud83d", "signature": "c2ln"}]},
    {"anthropic": {"signature": "c2ln"}},
    {"reasoning_details": "x"},
)


class OddInputs:
    """Draws unusual values from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, things: Any) -> Any:
        """Return a random element."""
        return self.random.choice(things)

    def chance(self, share: float) -> bool:
        """Return True with this probability."""
        return self.random.random() < share

    def count(self, most: int) -> int:
        """Return a random number up to ``most``; small ones are more frequent."""
        return int(self.random.triangular(0, most, 1))

    def words(self) -> str:
        """Return text: of any language, sometimes unusual, rarely very long."""
        if self.chance(0.003):
            return HUGE
        if self.chance(0.25):
            return str(self.one(ODD))
        return " ".join(self.one(LANGUAGES) for _ in range(1 + self.count(3)))

    def media(self) -> MediaBlock:
        """Return a file, valid or damaged."""
        mime, url = self.one(FILES)
        return MediaBlock(mime=mime, url=url, filename=self.one(NAMES))
