"""First texts are counted with the ranks alone, to the token as tiktoken counts them, and tiktoken is not loaded."""

import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import regex
import tiktoken_ext.openai_public
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import sample_size

from palimpsest.model import tokenizer
from palimpsest.model.tokenizer import RankTable

ROOT = Path(__file__).resolve().parents[2]
WORDS = (
    "The bill",
    " don't",
    " I'LL",
    "x" * 40,
    "\n\n  ",
    "\t",
    " 12345",
    "é",
    "企鹅",
    "🐧",
    "'s",
    " {}();//\n",
)


@pytest.fixture(scope="module")
def table() -> RankTable:
    folder = tokenizer.rank_folder()
    assert folder is not None
    made = RankTable(folder / tokenizer.RANK_FILES[tokenizer.ENCODING], regex)
    made._chars_left = sys.maxsize  # as long as these tests need it
    return made


def exact(text: str) -> int:
    return len(tokenizer.load_encoding(tokenizer.ENCODING).encode_ordinary(text))


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=12))).map("".join))
def test_any_text_has_as_many_tokens_as_for_tiktoken(table: RankTable, text: str) -> None:
    """What is counted here is counted as tiktoken does; the rest is left to it."""
    assert table.count(text) in (None, exact(text))


@pytest.mark.soak  # with each commit generated texts are counted as by tiktoken, above; this adds each character
@pytest.mark.slow
def test_each_character_is_cut_off_as_tiktoken_does(table: RankTable) -> None:
    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    sampled = points[:: sample_size(37, 1)]
    texts = [
        f"a{point}b {point}{point}1{point}\n{point}'{point}"
        for point in (*points[:0x3000], *sampled)
    ]

    assert [text for text in texts if table.count(text) not in (None, exact(text))] == []


@pytest.mark.slow
def test_the_source_of_a_program_is_counted_here(table: RankTable) -> None:
    sources = [path.read_text() for path in sorted((ROOT / "kernel_ext").rglob("*.py"))[:40]]

    assert [table.count(text) for text in sources] == [exact(text) for text in sources]


def test_what_may_be_read_in_another_way_is_left_to_tiktoken(table: RankTable) -> None:
    unassigned = next(
        chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) == "Cn"
    )

    for text in (
        unassigned,
        "\ue000",
        "a\ud800",
        "z" * 101,
        " " * (tokenizer.MAX_TABLE_TEXT_CHARS + 1),
    ):
        assert table.count(text) is None


def test_the_pieces_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_, **__: {})

    assert tiktoken_ext.openai_public.o200k_base()["pat_str"] == tokenizer.SPLIT_PATTERN


@pytest.mark.soak  # with each commit tests/test_loaded_modules.py counts a short script; this adds the amount from which tiktoken is loaded
@pytest.mark.slow
def test_much_to_count_loads_tiktoken_and_nothing_less() -> None:
    code = """
import sys
from palimpsest.model import tokenizer
count = tokenizer.counter("tiktoken/o200k_base")
assert "regex" not in sys.modules and "tiktoken" not in sys.modules
few = [count("The penguins have three species. " * times) for times in range(1, 100)]
assert "regex" in sys.modules and "tiktoken" not in sys.modules
texts = ["Number %d of the penguins. " % number * 1_000 for number in range(10)]
many = [count(text) for text in texts]
assert "tiktoken" in sys.modules
encoding = tokenizer.load_encoding("o200k_base")
assert many == [len(encoding.encode_ordinary(text)) for text in texts]
assert few[0] == len(encoding.encode_ordinary("The penguins have three species. "))
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_threads_that_count_while_tiktoken_is_loaded_count_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokenizer, "_encodings", {})
    monkeypatch.setattr(tokenizer, "_counters", {})
    monkeypatch.setattr(tokenizer, "MAX_CHARS_WITHOUT_TIKTOKEN", 2_000)
    texts = [f"Penguin {number} has a bill of {number} mm. " for number in range(200)]
    count = tokenizer.counter("tiktoken/o200k_base")

    with ThreadPoolExecutor(8) as threads:
        counted = list(threads.map(count, texts))

    assert counted == [exact(text) for text in texts]
