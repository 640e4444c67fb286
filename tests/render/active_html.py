"""Find with an HTML parser what a browser would act on in a page."""

import re
from html.parser import HTMLParser

from palimpsest.render.safety.allowed_elements import ATTRIBUTES, PICTURE_TYPES, TAGS, may_lead

OURS = {"style"}
"""Attributes that nbconvert adds to a table's cells."""


class ActiveHtml(HTMLParser):
    """Collects the elements, attributes and addresses that a browser would act on."""

    def __init__(self, html: str, *, local: bool = False) -> None:
        self.local = local
        super().__init__(convert_charrefs=True)
        self.alive: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a forbidden tag, attribute or address."""
        if tag not in TAGS:
            self.alive.append(f"<{tag}>")
        for name, value in attrs:
            address = re.sub(r"[\x00-\x20]", "", value or "")
            if name not in ATTRIBUTES | OURS:
                self.alive.append(f"{tag}.{name}")
            if name == "href" and not may_lead(address, allows_local=self.local):
                self.alive.append(f"href {address}")
            if name == "src" and not address.startswith(
                tuple(f"data:{picture}" for picture in PICTURE_TYPES)
            ):
                self.alive.append(f"src {address}")
            if name == "style" and not re.fullmatch(r"text-align:\s*\w+;?", value or ""):
                self.alive.append(f"style {value}")

    def handle_comment(self, data: str) -> None:
        """Record a comment."""
        self.alive.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        """Record a declaration."""
        self.alive.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        """Record a processing instruction."""
        self.alive.append(f"instruction {data}")

    def handle_data(self, data: str) -> None:
        """Record the text."""
        self.words.append(data)
