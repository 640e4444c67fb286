"""Markdown tells the whole story without our front end, and nothing in it comes alive."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from tests.render.stories import (
    ASKS,
    DECISIONS,
    EVERYTHING,
    IDS,
    PAYLOADS,
    REPLIES,
    T0,
    assistant,
    failed,
    ran,
    text,
    tool,
    user,
)

from palimpsest.render.markdown import render_message, render_parts, render_session
from palimpsest.render.prose import safe_markdown
from palimpsest.render.story import Caps, Notes
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.parts import (
    FilePart,
    Part,
    PatchPart,
    ReasoningPart,
    Span,
    TextPart,
    ToolCompleted,
)

NOTES = Notes(ASKS, REPLIES, DECISIONS)
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


def page(markdown: str) -> Page:
    return Page(markdown2html_mistune(markdown))


def everywhere(payload: str) -> tuple[Part, ...]:
    """The payload in every place a model, a tool or a file can write to."""
    span = Span(start=T0, end=T0 + 5)
    state = ToolCompleted(
        input={"path": payload, payload: payload},
        output=payload,
        title=payload,
        metadata={"diff": payload},
        time=span,
    )
    return (
        ReasoningPart(id="r", **IDS, text=payload, time=span),
        text(payload),
        tool(payload, state),
        ran("python", payload, "prt_d", code=payload),
        failed("bash", payload),
        FilePart(id="f", **IDS, mime=payload, filename=payload, url=payload),
        PatchPart(id="h", **IDS, hash=payload, files=(payload,)),
        text(f"after {payload}"),
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_lets_no_payload_come_alive_anywhere(payload: str) -> None:
    session = (user(payload), assistant(*everywhere(payload)))

    assert page(render_session(session, title=payload)).alive == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_lets_no_payload_come_alive_in_an_error(payload: str) -> None:
    message = assistant(error=ContextOverflowError(message=payload))

    assert page(render_message(message)).alive == []


FRAGMENTS = (
    *PAYLOADS,
    *[
        "`",
        "``",
        "```",
        "````",
        "~~~",
        "$",
        "$$",
        "\\",
        "\\\\[",
        "\\\\]",
        "\\begin{x}",
        "\\end{x}",
        ">",
        "-",
        "|",
        "[",
        "](",
        ")",
        "!",
        "<b>",
        "</b>",
        "&lt;",
        "#",
        "*",
    ],
    "\n",
    "\n\n",
    "\\[",
    "\\]",
    "\\(",
    "\\)",
    "y_1",
    "$$y_1$$",
    "\n    ",
    "\n- ",
    "\n  ",
    "\n> ",
    "\n```\n",
    "\n```html\n",
    "\n~~~\n",
    "\n| a | b |\n|---|---|\n",
    "a ",
    " ",
    "\t",
    "x",
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_lets_no_mixture_of_fragments_come_alive(words: str) -> None:
    """Dialects disagree about code and maths; a mixture is how a tag slips out."""
    parts = (text(words), ran("python", words, code=words), text(words))

    assert page(render_parts(parts)).alive == []


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.text(), st.text(), st.text())
def test_never_raises_and_gives_the_same_again(words: str, name: str, output: str) -> None:
    parts = (text(words), ran(name, output, title=words, code=output), *everywhere(name))

    once = render_parts(parts)

    assert once == render_parts(parts)
    once.encode()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=4_000), st.text(max_size=9_000)), max_size=6),
    st.integers(0, 3_000),
    st.integers(0, 8_000),
)
def test_never_exceeds_the_caps(calls: list[tuple[str, str]], call: int, turn: int) -> None:
    parts = tuple(ran("python", out, f"prt_{n}", code=code) for n, (code, out) in enumerate(calls))
    caps = Caps(call=call, turn=turn)

    left = caps.after(parts)

    assert turn - left.turn <= min(turn, call * len(parts))


def test_says_how_much_was_left_out_and_where_it_is() -> None:
    shown = render_parts((ran("bash", "x" * 50_000, command="yes"),))

    assert "48.0 kB not shown here; the whole text is kept in .palimpsest/sessions/ses" in shown
    assert len(shown) < 2_400


def test_keeps_the_last_lines_of_a_long_output() -> None:
    shown = render_parts((ran("bash", "\n".join(f"line {n}" for n in range(500)), command="x"),))

    assert "line 0\n" in shown
    assert "… 460 lines …" in shown
    assert "line 499\n```" in shown


def test_tells_one_of_everything() -> None:
    shown = render_parts(EVERYTHING, notes=NOTES)

    for words in (
        "> *Thought for 3.2 s*",
        "· 0.2 s · *allowed once*",
        "✗ **`bash`** · `1 / 0` · 1.4 s · *refused: not there*",
        "> ◔ **Waiting for you:** write data/penguins_clean.csv (new file, 15.2 kB)",
        "step 1 · 12,480 in (11,020 cached) · 311 out · \\$0.012 · 4.1 s",
        "23% of 200k",
        "step 2 · 12 in · 5 out · cost unknown",
        "truncated for the model by truncate: 12,000 → 2,400 tokens",
        "Ask it to go on.",
    ):
        assert words in shown


def test_keeps_the_models_markdown() -> None:
    words = "# Title\n\n- *a* & **b**\n- `x < y`\n\n> quoted\n\n| a |\n|---|\n| 1 |\n\n$x_1$"

    assert safe_markdown(words) == words.replace("&", "&amp;")


def test_keeps_code_as_it_was_written() -> None:
    code = "if a < b & c:\n    print('<b>', \"`x`\")\n"

    assert page(safe_markdown(f"Try\n```python\n{code}```\ndone")).alive == []
    assert code in "".join(page(safe_markdown(f"Try\n```python\n{code}```\ndone")).words)
    assert "List<int>" in "".join(page(safe_markdown("`List<int>` it is")).words)


def test_closes_a_fence_that_was_left_open() -> None:
    assert safe_markdown("```python\nx = 1") == "```python\nx = 1\n```"


def test_writes_indented_code_as_a_fence() -> None:
    assert safe_markdown("so:\n\n    a <b\n\n    c\n\nend") == (
        "so:\n\n```text\na <b\n\nc\n```\n\nend"
    )


def test_uses_a_fence_longer_than_any_inside() -> None:
    shown = render_parts((ran("read", "````\n```python\n````", path="README.md"),))

    assert "`````text\n````\n```python\n````\n`````" in shown


def test_replaces_a_remote_image_by_a_link_that_names_the_host() -> None:
    assert safe_markdown("![a plot](https://user@x.example/p.png?q=1)") == (
        "[image at x.example: a plot](https://user@x.example/p.png?q=1)"
    )
    assert safe_markdown("![a plot](plots/p.png)") == "![a plot](plots/p.png)"


def test_drops_links_that_run_something() -> None:
    assert safe_markdown("[go](javascript:alert(1)) on") == "[go] (link removed) on"
    assert safe_markdown("[go](https://a.example/(x)) on") == "[go](https://a.example/(x)) on"


def test_scrubs_before_it_cuts() -> None:
    parts = (ran("bash", "a" * 1_995 + "sk-secret", command="env"), text("sk-secret"))

    shown = render_parts(parts, scrub=lambda words: words.replace("sk-secret", "[key]"))

    assert "sk-" not in shown


def test_ends_a_message_with_its_error_and_what_to_do() -> None:
    message = assistant(error=ContextOverflowError(message="The request does not fit."))

    assert render_message(message) == (
        "✗ **The request does not fit.** Start a new session with --new, or choose a model with a"
        " larger window."
    )


def test_leaves_out_what_the_engine_wrote() -> None:
    assert render_parts((TextPart(id="t", **IDS, text="reminder", synthetic=True),)) == ""


@pytest.mark.slow
def test_renders_a_hostile_hundred_kilobytes_quickly() -> None:
    for piece in ("\\begin{a}", "$$", "`", "![", "](", "[a](", "\\`", "> ", "```\n", "x"):
        safe_markdown(piece * (100_000 // len(piece)))
