"""Aider's chat history gives each session, its answers with the usage below them, and what the program sent itself."""

from pathlib import Path

import pytest
from tests.recordings.formats.imported import dialogue, import_file, sums_of
from tests.recordings.formats.reading import answers_of, input_tokens, only, read_all
from tests.recordings.formats.recording import requests_of
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.aider import AiderImporter
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    Recorded,
    RemovedRead,
    SessionBegin,
    Text,
    Thinking,
    TotalsRead,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import head_of
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

REAL = SAMPLES / "aider.chat.history.md"
"""Written by Aider 0.86.2 with scripted answers: a session that edits files, and one of an architect with an editor."""
FIRST, SECOND = "aider-2026-11-29T22:45:43", "aider-2026-11-29T22:50:19"
HEAD = "\n# aider chat started at 2026-01-02 03:04:05\n\n> Aider v0.86.2  \n> Model: gpt-4o with diff edit format  \n"


def sessions_in(path: Path) -> dict[str, list[Recorded]]:
    """Return the values of each session."""
    values, reports = read_all(AiderImporter(), path)
    assert reports == []
    by_session: dict[str, list[Recorded]] = {}
    name = ""
    for value in values:
        if isinstance(value, SessionBegin):
            name = value.id
        by_session.setdefault(name, []).append(value)
    return by_session


def history(path: Path, text: str, head: str = HEAD) -> list[Recorded]:
    """Return what is read of one session with the given text."""
    path.write_text(head + text)
    (values,) = sessions_in(path).values()
    return values


def spoken(values: list[Recorded]) -> list[str]:
    """Return each message in a line, after ``>`` for the user, ``*`` for the program and ``<`` for a model."""
    return [
        f"{'<' if message.role == 'assistant' else '*' if message.by_program else '>'} {text_of_parts(message.parts)}"
        for message in only(MessageRead, values)
    ]


def gaps_of(values: list[Recorded]) -> list[str]:
    return [gap.sentence for gap in only(GapRead, values)]


def test_each_session_has_its_model_version_and_time() -> None:
    begins = [values[0] for values in sessions_in(REAL).values()]

    assert begins == [
        SessionBegin(
            id=name,
            format="aider",
            format_version="0.86.2",
            created=created,
            model="openai/gpt-4o",
        )
        for name, created in ((FIRST, 1795992343000), (SECOND, 1795992619000))
    ]


def test_each_answer_has_the_tokens_and_the_cost_printed_below_it() -> None:
    sessions = sessions_in(REAL)

    assert [(request.usage, request.cost) for request in answers_of(sessions[FIRST])] == [
        (Usage(input=2500, output=29), 0.0064),
        (Usage(input=2500, output=16), 0.0065),
        (Usage(input=2600, output=29), 0.0067),
        (Usage(input=2700, output=31), 0.0070),
    ]
    assert input_tokens(sessions[SECOND]) == [12_000, 900, 16_000, 10, 10]
    assert [totals.totals.cost for totals in only(TotalsRead, sessions[SECOND])][-1] == 0.07
    for values in sessions.values():
        assert sum("which is rounded" in gap for gap in gaps_of(values)) == 1


def test_what_the_program_sent_after_a_failed_edit_is_its_own_message() -> None:
    values = sessions_in(REAL)[FIRST]

    program = next(line for line in spoken(values) if line.startswith("*"))
    assert program.startswith("* The LLM did not conform to the edit format.\nhttps://")
    assert program.endswith(
        "\n>>>>>>> REPLACE\n\nThe SEARCH section must exactly match an existing block of lines including "
        "all white space, comments, indentation, docstrings, etc"
    )
    assert spoken(values)[-1].startswith("< Sorry.\n\nI will add a greeting.")


def test_commands_are_no_messages_and_a_chat_that_ends_cleared_stays() -> None:
    values = sessions_in(REAL)[FIRST]

    assert [line for line in spoken(values) if line.startswith(">")] == [
        "> Make hello.py say hello.",
        "> What does it print?",
        "> Make it say bye.",
    ]
    assert only(RemovedRead, values) == []


def test_a_cleared_chat_is_gone_once_another_message_follows(tmp_path: Path) -> None:
    values = history(
        tmp_path / "h.md",
        "\n#### One.  \n\n1\n\n#### /clear  \n> All chat history cleared.  \n\n#### Two.  \n\n2\n\n",
    )

    assert [[shown.text for shown in request] for request in requests_of(values)] == [
        ["One."],
        ["Two."],
        ["Two.", "2"],
    ]


def test_quotes_and_headings_of_an_answer_stay_in_it() -> None:
    sessions = sessions_in(REAL)

    assert spoken(sessions[SECOND])[1] == (
        "< Change the greeting in hello.py from bye to good night.\n\n> A quoted line of the answer.\n\n"
        "#### A small heading\n\nThat is all."
    )
    assert "< It prints hello.\n\n# A heading of the answer\n\n- one\n- two" in spoken(
        sessions[FIRST]
    )


def test_an_editor_has_its_own_model_and_later_requests_do_not_have_its_messages() -> None:
    values = sessions_in(REAL)[SECOND]

    assert [request.model for request in answers_of(values)] == [
        "openai/gpt-4o",
        "openai/gpt-4o-mini",
        "openai/gpt-4o",
        "openai/gpt-4o-mini",
        "openai/gpt-4o",
    ]
    assert [removed.messages for removed in only(RemovedRead, values)] == [
        ("m3", "m4"),
        ("m7", "m8"),
    ]
    last = requests_of(values)[4]
    assert [message.text for message in last][-3:] == [
        "instead.",
        "It is night.\n\nAnd that\nis two paragraphs.",
        "What is the time?",
    ]


def test_totals_of_the_imported_sessions() -> None:
    store, report = import_file(REAL)

    assert report.problems == ()
    first, second = (session.id for session in report.sessions)
    assert (sums_of(store, first).requests, sums_of(store, first).input) == (4, 10_300)
    assert (sums_of(store, first).output, sums_of(store, first).cost) == (105, 0.0266)
    assert dialogue(store, second)[0] == "> Say good night"


def test_the_editors_requests_are_counted_though_their_messages_are_gone() -> None:
    with open_recording(REAL) as recording:
        timelines = [review.timeline for review in recording]

    assert [len(timeline.requests) for timeline in timelines] == [4, 5]
    assert sum(request.usage.prompt for request in timelines[1].requests if request.usage) == 28_920
    assert timelines[1].recorded_totals.cost == 0.07


CACHED = "\n#### Go.  \n\nDone.\n\n> Tokens: {}  \n"


@pytest.mark.parametrize(
    ("line", "usage", "cost"),
    [
        ("587 sent, 345 received.", Usage(input=587, output=345), None),
        ("1,234 sent, 56 received. Cost: $1,000.50 request, $1.00 session.", Usage(input=1234, output=56), 1000.5),
        ("1.2M sent, 1.0k received. Cost: $0.00 message, $0.00 session.", Usage(input=1_200_000, output=1000), None),
        (
            "12k sent, 2.0k cache write, 8.0k cache hit, 200 received.\nCost: $0.05 message, $0.10 session.",
            Usage(input=2000, output=200, cache_read=8000, cache_write=2000),
            0.05,
        ),
        (
            "3.0k sent, 20k cache hit, 200 received. Cost: $0.05 send, $0.10 session.",
            Usage(input=3000, output=200, cache_read=20_000),
            0.05,
        ),
    ],
)  # fmt: skip
def test_the_forms_of_the_line_of_tokens(
    tmp_path: Path, line: str, usage: Usage, cost: float | None
) -> None:
    values = history(tmp_path / "h.md", CACHED.format(line))

    (request,) = answers_of(values)
    assert (request.usage, request.cost) == (usage, cost)
    assert spoken(values) == ["> Go.", "< Done."]


def test_exact_tokens_are_not_called_rounded(tmp_path: Path) -> None:
    values = history(tmp_path / "h.md", CACHED.format("587 sent, 345 received."))

    assert not any("rounded" in gap for gap in gaps_of(values))


def test_reasoning_is_told_from_the_answer(tmp_path: Path) -> None:
    tag = "thinking-content-7bbeb8e1441453ad999a0bbba8a46d4b"
    values = history(
        tmp_path / "h.md", f"\n#### Go.  \n\n<{tag}>\n\nHm.\n\n</{tag}>\n\nDone.\n\n> Tokens: 9 sent, 3 received.  \n"
    )  # fmt: skip

    assert answers_of(values)[0].parts == (Thinking("Hm."), Text("Done."))


def test_a_history_without_blanks_at_its_line_ends_is_read(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    path.write_text("\n".join(line.rstrip() for line in REAL.read_text().split("\n")))

    sessions = sessions_in(path)

    assert input_tokens(sessions[FIRST]) == [2500, 2500, 2600, 2700]
    assert [line for line in spoken(sessions[FIRST]) if line.startswith(">")] == [
        "> Make hello.py say hello.",
        "> What does it print?",
        "> Make it say bye.",
    ]


def test_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    path.write_bytes(REAL.read_bytes().replace(b"\n", b"\r\n"))

    assert sessions_in(path) == sessions_in(REAL)


def test_prompts_without_an_answer_are_kept_and_sessions_without_words_left_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "h.md"
    path.write_text(
        f"{HEAD}{HEAD}\n#### hey  \n#### you  \n> litellm.NotFoundError: no such model  \n\n#### <blank>  \n"
    )

    sessions = sessions_in(path)

    assert [spoken(values) for values in sessions.values()] == [["> hey\nyou"]]


def test_a_changed_model_is_that_of_the_next_requests(tmp_path: Path) -> None:
    values = history(
        tmp_path / "h.md",
        "\n#### One.  \n\n1\n\n#### /model o3  \n> Main model: o3 with diff edit format, reasoning high  \n"
        "\n#### Two.  \n\n2\n\n",
    )

    assert [(request.model, request.effort) for request in answers_of(values)] == [
        ("openai/gpt-4o", None),
        ("openai/o3", "high"),
    ]
    assert "No tokens are recorded of some requests." in gaps_of(values)


def test_an_answer_to_a_command_follows_the_command(tmp_path: Path) -> None:
    values = history(tmp_path / "h.md", "\n#### /test  \n> 1 failed  \n\nI see.\n\n")

    assert spoken(values) == ["> /test", "< I see."]
    assert "The prompt that a command stands for is not in the recording." in gaps_of(values)


def test_sessions_of_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    path.write_text(2 * f"{HEAD}\n#### Hi.  \n")

    assert list(sessions_in(path)) == ["aider-2026-01-02T03:04:05", "aider-2026-01-02T03:04:05#2"]


def test_many_quotes_of_an_answer_take_linear_time(tmp_path: Path) -> None:
    quotes = "> a quoted line\n" * 60_000
    values = history(
        tmp_path / "h.md", f"\n#### Go.  \n\nSee:\n{quotes}\n> Tokens: 9 sent, 3 received.  \n"
    )

    assert len(text_of_parts(answers_of(values)[0].parts)) == len("See:\n") + len(quotes) - 1


def test_a_folder_brings_a_history_and_no_other_markdown(tmp_path: Path) -> None:
    (tmp_path / ".aider.chat.history.md").write_text(REAL.read_text())
    (tmp_path / "README.md").write_text(REAL.read_text())
    (tmp_path / "old.aider.chat.history.md").write_text("# Notes\n")

    contents = REGISTRY.contents(tmp_path)

    assert [path.name for path, _ in contents.recordings] == [".aider.chat.history.md"]
    assert [path.name for path in contents.unrecognised_files] == ["old.aider.chat.history.md"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Aider\n\n# aider chat started at 2026-01-02 03:04:05\n",
        "# aider chat started at noon\n",
        "```\n# aider chat started at 2026-01-02 03:04:05\n",
        "#### Hello  \n",
    ],
)
def test_other_files_are_not_recognised(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)

    assert not AiderImporter().recognises(head_of(tmp_path / "README.md"))
    assert not AiderImporter().recognises(head_of(tmp_path))


def test_a_history_without_words_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    path.write_text(HEAD)

    with pytest.raises(UserError, match=r"holds no message of Aider\.$"):
        list(AiderImporter().read(path, lambda _place, _what: None))
