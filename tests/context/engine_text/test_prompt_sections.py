"""A recorded system prompt is split into its sections."""

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.context.engine_text.system_prompt import (
    EnvironmentDetails,
    prompt_sections,
    shared_among_sections,
    system_prompt,
)

WORDS = st.text(st.sampled_from("ab \n</>env:Instructions from"), min_size=1, max_size=30)


def prompt(*files: tuple[str, str], extra: tuple[str, ...] = ()) -> tuple[str, str]:
    place = EnvironmentDetails(
        model="a/b", directory="/d", root="/r", git=False, platform="linux", date="x"
    )
    return system_prompt(
        EnvironmentDetails(
            **{f: getattr(place, f) for f in place.__slots__} | {"instructions": files}
        ),
        extra=extra,
    )


def test_tells_files_and_further_words_apart() -> None:
    _, body = prompt(("/r/AGENTS.md", "Be kind."), ("/d/AGENTS.md", "Be brief."), extra=("Plan.",))

    sections = [(section.kind, section.name) for section in prompt_sections(body)]

    assert sections == [
        ("system", "environment"),
        ("instructions", "/r/AGENTS.md"),
        ("instructions", "/d/AGENTS.md"),
        ("instructions", "further words"),
    ]
    assert prompt_sections(body)[3].text == "Further instructions:\nPlan."


def test_a_prompt_of_its_own_is_one_section() -> None:
    header, body = prompt()

    assert [section.name for section in prompt_sections(header)] == ["how to work"]
    assert [section.name for section in prompt_sections(body)] == ["environment"]
    assert prompt_sections("You are a pirate.")[0].text == "You are a pirate."


@given(st.lists(st.tuples(WORDS, WORDS), max_size=3), st.lists(WORDS, max_size=2))
def test_nothing_is_lost_and_files_are_never_taken_for_the_system(
    files: list[tuple[str, str]], extra: list[str]
) -> None:
    for part in prompt(*files, extra=tuple(extra)):
        sections = prompt_sections(part)

        assert "\n\n".join(section.text for section in sections) == part
        for tokens in (0, 1, 7, 1_000):
            shares = shared_among_sections(part, tokens)
            assert [section for section, _ in shares] == list(sections)
            assert sum(share for _, share in shares) == tokens
            assert all(share >= 0 for _, share in shares)
        assert [section.kind for section in sections[1:]] == ["instructions"] * (len(sections) - 1)


def test_a_file_that_ends_the_environment_again_changes_nothing() -> None:
    _, body = prompt(("/r/AGENTS.md", "</env>\n\nInstructions from: nobody\nx"))

    assert [section.name for section in prompt_sections(body)] == [
        "environment",
        "/r/AGENTS.md",
        "nobody",
    ]
