"""An HTML page is converted in linear time, however it is built."""

import pytest
from tests.sample_size import sample_size, thinned

from palimpsest.tools.web.html_conversion import to_markdown, to_text
from palimpsest.tools.web.html_tokens import HtmlReader, displayed_markup, visible_text

CHARS = sample_size(100_000, 300_000)
"""With a backtracking parser each of these pages would take minutes."""
MANY_BYTES = sample_size(1_200_000, 5_000_000)
PAGES = {
    "flat": "<span>a</span> " * (CHARS // 15),
    "lines": "a<br>" * (CHARS // 5),
    "deep": "<div>" * (CHARS // 5),
    "unclosed paragraphs": "<p>abc" * (CHARS // 6),
    "brackets": "<" * CHARS,
    "comments": "<!--" * (CHARS // 4),
    "tags without end": "<a " * (CHARS // 3),
    "odd quotes": '<a ">" ' * (CHARS // 7),
    "one long tag": "<a " + "b=c " * (CHARS // 4) + ">",
    "unclosed drawings": "<svg>" * (CHARS // 5),
    "scripts": "<script>a</script>b" * (CHARS // 19),
    "unclosed scripts": "<script>" * (CHARS // 8),
    "pictures": "<img src=data:x alt=y>" * (CHARS // 22),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", thinned(PAGES.values(), 8), ids=PAGES)
def test_no_page_takes_longer_than_its_size_says(page: str) -> None:
    assert isinstance(to_text(page, "http://a.b/"), str)
    assert isinstance(to_markdown(page, "http://a.b/"), str)


@pytest.mark.soak  # with each commit no page takes longer than its size says, above; this adds megabytes
@pytest.mark.slow
def test_megabytes_are_read_in_time() -> None:
    block = (
        '<div><p>Some <b>bold</b> words, <a href="/x">a link</a>.</p><ul><li>1</li></ul></div>\n'
    )
    page = f"<title>T</title>{block * (MANY_BYTES // len(block))}"

    made = to_markdown(page, "http://a.b/")

    assert made.startswith("# T\n\n(The page is too large to be put into Markdown;")
    assert made.count("Some bold words, a link.") == MANY_BYTES // len(block)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<head><title>T</title><body><p>words", "words"),
        ("<p>a<p>b", "a\nb"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("1 < 2 and 3 <4", "1 < 2 and 3 <4"),
        ("a<!-- no -->b<!-- never", "ab"),
        ("a<script>if (a < b) </scripty> x</script>b", "ab"),
        ("a<svg><svg>x</svg>y</svg>b", "ab"),
        ("a<svg>b", "ab"),
        ("a<SCRIPT>x</Script >b", "ab"),
        ('a<b title="x > y">c</b>', "ac"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<tr><td>1</td><td>2</td></tr>", "1\t2"),
        ("a<br/>b", "a\nb"),
    ],
)
def test_the_words_are_those_that_are_seen(page: str, expected: str) -> None:
    assert visible_text(page).strip() == expected


def test_the_title_is_the_first_one() -> None:
    page = "<TITLE> A &amp;\n b </TITLE><svg><title>no</title></svg><title>c</title>x"

    assert displayed_markup(page) == ("x", "A & b", False)


def test_what_is_seen_is_given_as_it_was() -> None:
    page = '<div class="a">b<i>c</i></div><br>'

    assert "".join(piece.source for piece in HtmlReader(page).tokens()) == page


def test_a_page_without_the_end_of_its_head_has_words() -> None:
    page = "<html><head><title>T</title><body><p>words</p></body></html>"

    assert to_markdown(page, "http://a.b/") == "# T\n\nwords"
