"""Markdown shows the whole turn without our front end, and nothing in it is active."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from tests.render.active_html import ActiveHtml
from tests.render.sample_parts import (
    ASKS,
    DECISIONS,
    EVERYTHING,
    IDS,
    PAYLOADS,
    REPLIES,
    SOME_PAYLOADS,
    assistant,
    everywhere,
    ran,
    text,
    user,
)
from tests.sample_size import sample_size, thinned

from palimpsest.render.content.outline import Caps, OutlineNotes
from palimpsest.render.formats.markdown import render_message
from palimpsest.render.safety.escaping import DOLLAR
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.parts import (
    TextPart,
)

NOTES = OutlineNotes(ASKS, REPLIES, DECISIONS)


def page(markdown: str) -> ActiveHtml:
    return ActiveHtml(markdown2html_mistune(markdown), local=True)


@pytest.mark.parametrize("payload", thinned(PAYLOADS, 3))
def test_lets_no_payload_come_alive_anywhere(payload: str) -> None:
    session = (user(payload), assistant(*everywhere(payload)))

    assert [page(render_message(message)).alive for message in session] == [[], []]


@pytest.mark.parametrize("payload", thinned(SOME_PAYLOADS, 3))
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
@settings(
    max_examples=sample_size(40, 8_000),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_lets_no_mixture_of_fragments_come_alive(words: str) -> None:
    """Dialects disagree about code and maths; a mixture of both could let a tag through."""
    parts = (text(words), ran("python", words, code=words), text(words))

    assert page(render_message(assistant(*parts))).alive == []


@pytest.mark.slow
@settings(max_examples=sample_size(40, 3_000), deadline=None)
@given(st.text(), st.text(), st.text())
def test_never_raises_and_gives_the_same_again(words: str, name: str, output: str) -> None:
    parts = (text(words), ran(name, output, title=words, code=output), *everywhere(name))

    once = render_message(assistant(*parts))

    assert once == render_message(assistant(*parts))
    once.encode()


@pytest.mark.slow
@settings(max_examples=sample_size(40, 2_000), deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=4_000), st.text(max_size=9_000)), max_size=6),
    st.integers(0, 3_000),
    st.integers(0, 8_000),
)
def test_never_exceeds_the_caps(calls: list[tuple[str, str]], call: int, turn: int) -> None:
    parts = tuple(ran("python", out, f"prt_{n}", code=code) for n, (code, out) in enumerate(calls))
    caps = Caps(bytes_per_call=call, bytes_per_turn=turn)

    left = caps.caps_after(parts)

    assert turn - left.bytes_per_turn <= min(turn, call * len(parts))


def test_says_how_much_was_left_out_and_where_it_is() -> None:
    drawn = render_message(assistant(ran("bash", "x" * 50_000, command="yes")))

    assert "48.0 kB not shown here; the whole text is kept in .palimpsest/sessions/ses" in drawn
    assert len(drawn) < 2_400


def test_keeps_the_last_lines_of_a_long_output() -> None:
    drawn = render_message(
        assistant(ran("bash", "\n".join(f"line {n}" for n in range(500)), command="x"))
    )

    assert "line 0\n" in drawn
    assert "… 460 lines …" in drawn
    assert "line 499\n```" in drawn


def test_tells_one_of_everything() -> None:
    drawn = render_message(assistant(*EVERYTHING), notes=NOTES)

    for words in (
        "> *Thought for 3.2 s*",
        "· 0.2 s · *allowed once*",
        "\N{EN DASH} **`bash`** · `1 / 0` · 1.4 s · *refused: not there*",
        "> ◔ **Waiting for you:** write data/penguins_clean.csv (new file, 15.2 kB)",
        "step 1 · 12,480 in (11,020 cached) · 311 out · <span>&#36;</span>0.012 · 4.1 s",
        "23% of 200k",
        "step 2 · 12 in · 5 out · cost unknown",
        "Truncated for the model: 12,000 → 2,400 tokens, by rule truncate",
        "Ask it to go on.",
    ):
        assert words in drawn


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
        "so:\n\n```\u00a0\na <b\n\nc\n```\n\nend"
    )


def test_uses_a_fence_longer_than_any_inside() -> None:
    drawn = render_message(assistant(ran("read", "````\n```python\n````", path="README.md")))

    assert "`````\u00a0\n````\n```python\n````\n`````" in drawn


def test_replaces_a_remote_image_by_a_link_that_names_the_host() -> None:
    assert safe_markdown("![a plot](https://user@x.example/p.png?q=1)") == (
        "[image at x.example: a plot](https://user@x.example/p.png?q=1)"
    )


def test_names_a_picture_of_the_project_instead_of_loading_it() -> None:
    assert safe_markdown("![a plot](plots/p.png)") == "[image: a plot](plots/p.png)"
    # A browser reads this as ../../logout, and sends the reader's cookies to the server.
    assert safe_markdown("![x](%2e%2e/%2e%2e/logout)") == "[image: x]"


@pytest.mark.parametrize("name", ["href", "class", "style", "cssId", "data", "require", "bbox"])
def test_maths_has_no_command_that_links_loads_or_styles(name: str) -> None:
    markdown = safe_markdown(f"a $\\{name}{{x}}{{y}}$ and \\{name}{{x}}{{y}}")

    assert f"\\{name}" not in markdown
    assert "$\\text{x}{y}$" in markdown
    assert "\\displaystyle" in safe_markdown("$\\displaystyle x_1$")


def test_drops_links_that_run_something() -> None:
    assert safe_markdown("[go](javascript:alert(1)) on") == "[go] (link removed) on"
    assert safe_markdown("[go](https://a.example/(x)) on") == "[go](https://a.example/(x)) on"


def test_scrubs_before_it_cuts() -> None:
    parts = (ran("bash", "a" * 1_995 + "sk-secret", command="env"), text("sk-secret"))

    drawn = render_message(
        assistant(*parts), scrub=lambda words: words.replace("sk-secret", "[key]")
    )

    assert "sk-" not in drawn


def test_ends_a_message_with_its_error_and_what_to_do() -> None:
    message = assistant(error=ContextOverflowError(message="The request does not fit."))

    assert render_message(message) == (
        "✗ **The request does not fit.** Start a new session with --new, or choose a model with a"
        " larger window."
    )


def test_leaves_out_what_the_engine_wrote() -> None:
    assert render_message(assistant(TextPart(id="t", **IDS, text="reminder", synthetic=True))) == ""


@pytest.mark.slow
def test_renders_hostile_kilobytes_quickly() -> None:
    for piece in ("\\begin{a}", "$$", "`", "![", "](", "[a](", "\\`", "> ", "```\n", "x"):
        safe_markdown(piece * (sample_size(20_000, 100_000) // len(piece)))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("It costs $5 and $10.", f"It costs {DOLLAR}5 and {DOLLAR}10."),
        (
            r"Pay \$5 and \$6, where $x^2$ holds.",
            f"Pay {DOLLAR}5 and {DOLLAR}6, where $x^2$ holds.",
        ),
        ("A [price](https://a.b/?x=$y) of $5", f"A [price](https://a.b/?x=&#36;y) of {DOLLAR}5"),
        ("`$HOME` and $5", f"`$HOME` and {DOLLAR}5"),
    ],
)
def test_prices_in_the_models_words_are_no_maths(words: str, shown: str) -> None:
    """JupyterLab pairs any two signs of a paragraph; what encloses maths has no blank inside and no digit behind."""
    assert safe_markdown(words) == shown
