"""A session's HTML page is self-contained, and nothing in it is active."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.render.active_html import ActiveHtml
from tests.render.sample_parts import (
    ASKS,
    DECISIONS,
    EVERYTHING,
    PAYLOADS,
    REPLIES,
    T0,
    assistant,
    everywhere,
    text,
    tool,
    user,
)
from tests.sample_size import sample_size, thinned

from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.formats.html import gauge
from palimpsest.render.formats.html_fragment import render_excerpt
from palimpsest.render.formats.markdown import render_message as as_markdown
from palimpsest.render.formats.share_page import MAX_SUMMARY_CHARS, SharePageHead, share_page
from palimpsest.render.formats.text import render_message as as_text
from palimpsest.render.safety.markdown_to_html import to_html
from palimpsest.transcript.errors import AbortedError, ContextOverflowError
from palimpsest.transcript.parts import Attachment, Span, ToolCompleted, ToolFailed

OUR_OWN = {
    "<html>",
    "<head>",
    "<body>",
    "<main>",
    "<header>",
    "<section>",
    "<meta>",
    "<title>",
    "<style>",
    "<details>",
    "<summary>",
    "<b>",
    "<figure>",
    "<svg>",
    "<rect>",
    "html.lang",
    "meta.charset",
    "meta.name",
    "meta.content",
    "meta.http-equiv",
    "details.open",
    "a.rel",
    "svg.role",
    "svg.width",
    "svg.height",
    "svg.viewbox",
    "svg.aria-label",
    "rect.x",
    "rect.y",
    "rect.width",
    "rect.height",
    "rect.fill",
    "declaration doctype html",
}


def alive(html: str) -> list[str]:
    return [found for found in ActiveHtml(html).alive if found not in OUR_OWN]


@pytest.mark.parametrize("payload", thinned(PAYLOADS, 3, 1))
def test_lets_no_payload_come_alive_anywhere(payload: str) -> None:
    error = ContextOverflowError(message=payload)
    session = (user(payload), assistant(*everywhere(payload), error=error))

    page = render_excerpt(session, payload, css_class="m", remark=payload)

    assert alive(page) == []
    assert page.count("<style>") == 1


@pytest.mark.slow
@settings(max_examples=sample_size(40, 3_000), deadline=None)
@given(st.lists(st.sampled_from([*PAYLOADS, "\n", "\n\n", "- ", "| ", "> ", "`", "**", "x"])))
def test_lets_no_mixture_come_alive(pieces: list[str]) -> None:
    assert alive(to_html("".join(pieces))) == []


@given(st.text())
def test_never_raises(words: str) -> None:
    assert (
        alive(render_excerpt((user(words), assistant(*everywhere(words))), words, css_class="m"))
        == []
    )


def test_needs_nothing_from_elsewhere() -> None:
    page = render_excerpt((user("Hello"), assistant(*EVERYTHING)), "Penguins", css_class="m")

    assert "http:" not in page
    assert "script" not in page.replace("Content-Security", "")


def test_tells_one_of_everything() -> None:
    notes = OutlineNotes(ASKS, REPLIES, DECISIONS)

    words = "".join(
        ActiveHtml(
            render_excerpt(
                (assistant(*EVERYTHING),),
                "Penguins",
                css_class="m",
                notes=notes,
                density="all steps",
            )
        ).words
    )

    for sentence in (
        "Thought for 3.2 s",
        "allowed once",
        "refused: not there",
        "waiting for you",
        "step 1 · 12,480 in (11,020 cached) · 311 out · $0.012 · 4.1 s",
        "23% of 200k",
        "cost unknown",
        "Truncated for the model",
        "if a < b and List<int>:",
    ):
        assert sentence in words.replace("\N{NO-BREAK SPACE}", " ")


def test_shows_figures_and_only_figures() -> None:
    figures = (
        Attachment(mime="image/png", url="data:image/png;base64,iVBORw0KGgo="),
        Attachment(
            mime="image/svg+xml", filename="x.svg", url="data:image/svg+xml;base64,PHN2Zz4="
        ),
        Attachment(mime="image/png", filename="y.png", url="https://evil.example/y.png"),
    )
    state = ToolCompleted(
        input={"code": "plot()"}, output="", time=Span(start=T0, end=T0), attachments=figures
    )

    page = render_excerpt((assistant(tool("python", state)),), "Penguins", css_class="m")

    assert page.count("<img ") == 1
    assert "x.svg (image/svg+xml)" in page
    assert "evil.example" not in page


def test_a_call_is_one_closed_row_and_one_that_only_looked_is_in_a_row_of_work() -> None:
    page = render_excerpt((assistant(*EVERYTHING),), "Penguins", css_class="m")

    read, python = page.index(">read<"), page.index(">python<")
    assert page.rindex("<details", 0, python) == page.rindex('<details class="call">', 0, python)
    assert page.rindex("</details>", 0, read) < page.rindex('<details class="work">', 0, read)


def test_knows_the_markdown_that_models_write() -> None:
    made = to_html("## A *b*\n\n1. x\n   - y `z<`\n2. w\n\n> q\n\n| a | b |\n|--|-:|\n| 1 | 2 |")

    assert made.replace("\n", "") == (
        "<h4>A <em>b</em></h4>"
        "<ol><li>x<ul><li>y <code>z&lt;</code></li></ul></li><li>w</li></ol>"
        "<blockquote><p>q</p></blockquote>"
        '<table><thead><tr><th>a</th><th class="right">b</th></tr></thead>'
        '<tbody><tr><td>1</td><td class="right">2</td></tr></tbody></table>'
    )


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("a  \nb", "<p>a<br>b</p>"),
        ("Title\n===", "<h3>Title</h3>"),
        ("- [ ] do\n- [x] done", "<ul>\n<li>☐ do</li>\n<li>☑ done</li>\n</ul>"),
        (
            "$a_1$ and $b_1$",
            '<p><span class="maths">$a_1$</span> and <span class="maths">$b_1$</span></p>',
        ),
        ("[x](javascript:a)", "<p>x</p>"),
        (
            "[x][1] ![y](https://b.c/d.png)\n\n[1]: https://b.c",
            (
                '<p><a href="https://b.c" rel="noopener noreferrer">x</a> '
                '<a href="https://b.c/d.png" rel="noopener noreferrer">y</a></p>'
            ),
        ),
        (
            "https://b.c/d_e_f.",
            '<p><a href="https://b.c/d_e_f" rel="noopener noreferrer">https://b.c/d_e_f</a>.</p>',
        ),
    ],
)
def test_writes_what_commonmark_says(written: str, made: str) -> None:
    assert to_html(written) == made


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
@pytest.mark.parametrize("depth", [19, 20, 21, 200])
def test_what_lies_deep_in_quotes_and_lists_is_not_lost(mark: str, depth: int) -> None:
    assert "the end" in to_html(mark * depth + "the end")


@pytest.mark.parametrize("mark", ["*", "**", "_", "~~", "["])
@pytest.mark.parametrize("depth", [19, 20, 21, 200])
def test_what_lies_deep_in_emphasis_and_links_is_not_lost(mark: str, depth: int) -> None:
    close = "](https://a.b)" if mark == "[" else mark

    assert "the end" in to_html(f"{mark}a " * depth + "the end" + close * depth)


def test_a_paragraph_too_long_for_emphasis_keeps_its_words() -> None:
    assert to_html("*a* " * 6_000).count("*a*") == 6_000


def test_keeps_snake_case_and_stars_of_code() -> None:
    assert to_html("bill_length_mm * 2 and 3 * 4") == "<p>bill_length_mm * 2 and 3 * 4</p>"


@pytest.mark.slow
def test_is_quick_on_hostile_text() -> None:
    for piece in (
        "**a",
        "[a](",
        "![",
        "`",
        "> ",
        "- ",
        "| a",
        "_a",
        "*",
        "1. \n ",
        "~~",
        "$a",
        "<",
    ):
        to_html(piece * (sample_size(20_000, 60_000) // len(piece)))
        to_html(piece * (19_000 // len(piece)))


def test_draws_how_much_of_the_window_is_used() -> None:
    drawn = gauge(60, 200)

    assert [piece.split(")")[0] for piece in drawn.split("var(--")[1:]] == ["free", "used"]
    assert re.findall(r'<rect [^>]*width="([\d.]+)"', drawn) == ["176.00", "52.80"]
    assert "30% of 200 tokens used: used 60" in drawn


@given(st.integers(), st.integers())
def test_draws_whatever_the_numbers_are(used: int, window: int) -> None:
    assert alive(gauge(used, window)) == []


def test_that_a_turn_was_stopped_is_said_once_in_every_form() -> None:
    state = ToolFailed(
        input={"code": "wait()"},
        error="Stopped.",
        metadata={"output": "half of it", "interrupted": True},
        time=Span(start=T0, end=T0 + 10),
    )
    said = assistant(tool("python", state))
    info = said.info.model_copy(update={"error": AbortedError(message="Stopped.")})
    stopped = said.model_copy(update={"info": info})

    for made in (
        render_excerpt([stopped], "S", css_class="m"),
        as_markdown(stopped),
        as_text(stopped),
    ):
        assert made.count("Stopped.") == 1
        assert "half of it" in made


def test_words_have_the_direction_of_their_script() -> None:
    page = render_excerpt([user("שלום"), assistant(text("مرحبا `code`"))], "S", css_class="m")

    assert page.count('<div class="said" dir="auto">') == 2
    assert "unicode-bidi: plaintext" in page


def test_a_number_stands_on_one_line_with_its_unit() -> None:
    """At a width of 400 pixels a line ended in "4.1", and the next one began with "s"."""
    page = render_excerpt(
        (assistant(*EVERYTHING),),
        "Penguins",
        css_class="m",
        notes=OutlineNotes(ASKS, REPLIES, DECISIONS),
        density="all steps",
    )
    lines = re.findall(r'<p class="(?:step|notice|strip)[^>]*>.*?</p>', page)

    assert "4.1\N{NO-BREAK SPACE}s" in "".join(lines)
    assert re.findall(r"\d (?:s|min|h|in|out|tokens)\b", "".join(lines)) == []


def test_a_share_page_has_a_summary_up_to_its_limit() -> None:
    summary = ("a word " * MAX_SUMMARY_CHARS)[: MAX_SUMMARY_CHARS - 1] + "!"
    head = SharePageHead("Penguins", "A session.", summary=summary)

    page = "".join(share_page(head, (), scrub=str, embed=NotImplemented, time_text=str))

    assert f'<p class="summary">{summary}</p>' in page
