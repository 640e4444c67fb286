"""The check of a summary reports what it lacks, and accepts good summaries."""

import time

import pytest
from tests.sample_size import thinned
from tests.store.record_builders import text, user

from palimpsest.context.compaction.audit import REFUSES, UNSTRUCTURED, summary_defects
from palimpsest.context.compaction.loss_report import loss_report
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import CompactionPart

GOOD = "## Goal\n- know the penguins\n\n## Done\n- loaded the table\n"
POLICY = CompactPolicy()


def said(number: int, words: str) -> Message:
    name = f"msg_{number}"
    return Message(info=user(name).info, parts=(text(f"prt_{number}", name, words).part,))


def conversation(*words: str, auto: bool = False) -> Messages:
    """Return prompts and a compaction's marker, without a tail."""
    part = CompactionPart(id="prt_m", session_id="ses_a", message_id="msg_m", auto=auto)
    marker = Message(info=user("msg_m").info, parts=(part,))
    return (*(said(number, word) for number, word in enumerate(words)), marker)


@pytest.mark.parametrize(
    "words",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, I cannot summarise this.",
        "**Sorry** — that is not possible.",
        "Unfortunately, I can't do that.",
        "I am unable to continue.",
        "As an AI, I do not write this.",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Je ne peux pas faire cela.",
        "Lo siento, no puedo ayudar con eso.",
        "抱歉\uff0c我无法总结这段对话。",
        "申し訳ありませんが、できません。",
        "Извините, я не могу этого сделать.",
    ],
)
def test_a_refusal_is_known_whatever_follows_it(words: str) -> None:
    assert REFUSES in summary_defects(f"{words}\n{GOOD}", conversation("Hello"), POLICY)


@pytest.mark.parametrize(
    "words",
    [
        GOOD,
        "**Goal**\n\nTo know.\n\n**Done**\n\nLoaded.",
        "Ziel:\nPinguine kennen\n\nErledigt:\nTabelle geladen",
        "1. loaded\n2. cleaned\n3. plotted",
        "## Errors\n- the model said: I'm sorry, but I can't help\n\n## Done\n- nothing",
    ],
)
def test_a_summary_with_headings_or_a_list_is_whole(words: str) -> None:
    assert summary_defects(words, conversation("Hello"), POLICY) == ()


def test_prose_has_no_structure() -> None:
    assert summary_defects("We talked about it for a while.", conversation("Hello"), POLICY) == (
        UNSTRUCTURED,
    )


def test_words_that_only_look_like_names_are_no_lack() -> None:
    seen = conversation(
        "Load some data, e.g. penguins, i.e. birds (U.S. ones) from bill.csv", "Hello"
    )

    assert summary_defects(GOOD, seen, POLICY) == ()


def test_half_of_the_names_are_enough() -> None:
    seen = conversation("Use data/a.csv, data/b.csv, mean_mass and max_mass", "Hello")

    assert summary_defects(GOOD + "- b.csv, mean_mass", seen, POLICY) == ()
    [lack] = summary_defects(GOOD + "- b.csv", seen, POLICY)
    assert "data/a.csv, mean_mass, max_mass" in lack


def test_what_the_engine_says_again_need_not_be_told() -> None:
    words = "Which islands did expeditions visit, by data/i.csv and island_mean?"

    assert len(summary_defects(GOOD, conversation(words), POLICY)) == 2
    assert summary_defects(GOOD, conversation(words, auto=True), POLICY) == ()


def test_a_prompt_of_ones_own_says_what_a_summary_is() -> None:
    policy = CompactPolicy(prompt="One sentence, please.")

    assert summary_defects("We looked at penguins.", conversation("Use a_b and c_d"), policy) == ()
    assert summary_defects("I can't do that.", conversation("Hello"), policy) == (REFUSES,)


@pytest.mark.parametrize("piece", thinned(["a-", "deadbeef-", "a.", "a/", "- ", "**", "#", "x"], 3))
def test_words_of_any_shape_cost_little(piece: str) -> None:
    seen, began = conversation(piece * 50_000, "Hello"), time.process_time()

    summary_defects(piece * 50_000, seen, POLICY)
    loss_report(piece * 50_000, "")

    assert time.process_time() - began < 3
