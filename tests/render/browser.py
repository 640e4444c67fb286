"""What a browser would act on in a page, found with an HTML parser."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

TAGS = {
    "p",
    "em",
    "strong",
    "code",
    "pre",
    "div",
    "span",
    "br",
    "hr",
    "a",
    "img",
    "ul",
    "ol",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "del",
    "input",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}
ATTRIBUTES = {"class", "href", "title", "alt", "src", "id", "start", "style", "type", "checked"}
ATTRIBUTES |= {"disabled"}


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.alive: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, attribute or address that should not be there."""
        if tag not in TAGS:
            self.alive.append(f"<{tag}>")
        for name, value in attrs:
            address = re.sub(r"[\x00-\x20]", "", value or "")
            if name not in ATTRIBUTES:
                self.alive.append(f"{tag}.{name}")
            if name == "href" and urlsplit(address).scheme not in ("", "http", "https", "mailto"):
                self.alive.append(f"href {address}")
            if name == "src" and (":" in address or address.startswith(("/", "\\"))):
                self.alive.append(f"src {address}")
            if name == "style" and not re.fullmatch(r"text-align:\s*\w+;?", value or ""):
                self.alive.append(f"style {value}")

    def handle_comment(self, data: str) -> None:
        """Note a comment."""
        self.alive.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        """Note a declaration."""
        self.alive.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        """Note an instruction."""
        self.alive.append(f"instruction {data}")

    def handle_data(self, data: str) -> None:
        """Keep the words."""
        self.words.append(data)
