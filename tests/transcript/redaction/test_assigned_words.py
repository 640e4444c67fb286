"""A password of several words goes to the end of its line in an output, and never in a question."""

import pytest
from tests.sample_size import thinned
from tests.transcript.redaction.time_growth import best_seconds

from palimpsest.transcript.parts import Span, TextPart, ToolCompleted, ToolFailed, ToolPart
from palimpsest.transcript.redaction.assigned_words import (
    assigned_spans,
    hide_assigned_passwords,
    hide_in_growing_output,
)
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub
from palimpsest.transcript.redaction.secret_removal import redacted_event, scrub_output
from palimpsest.transcript.session_record.events import PartUpdated

WORDS = "correct horse battery staple"
ASSIGNED = [
    "PASSWORD={}",
    "export DB_PASSWORD={}",
    "DB_PASSWORD={}   # of the database",
    "A=1\nSECRET_KEY={}\nB=2",
    "SMTP_PASS={}\r\nB=2",
    "API_TOKEN={}",
    "password={}",
    "password = {}",
    "password     = {}",
    "[db]\npassword = {}\nuser = ada",
    "db:\n  password: {}\n  user: ada",
    "- passphrase: {}",
    "spring.datasource.password={}",
    "dbPassword: {}",
    "Password: {}",
    "**Password:** {}",
    "12: PASSWORD={}",
    "conf/.env:12:DB_PASSWORD={}",
    "00012| password: {}",
    "2026-11-28 12:00:01,123 INFO auth: password: {}",
    "INFO [auth] connecting, password={}",
    "level=info password={} user=bob",
    "[password] => {}",
    "root_password := {}",
    '            "PASSWORD={}",',
    '    "DB_PASSWORD={}\\n",',
    "\x1b[32mPASSWORD\x1b[0m={}",
    "stderr: passphrase: {}",
    "client_secret: {}",
    "ADMIN_PASSWD={}",
    "user: ada password: {}",
    "+PASSWORD={}",
]


@pytest.mark.parametrize("around", ASSIGNED)
@pytest.mark.parametrize(
    "secret", thinned([WORDS, "a b c", "Tr0ub4dor &3", "two words", "pass! phrase? yes: 9"], 3)
)
def test_the_whole_value_goes(around: str, secret: str) -> None:
    text = around.replace("{}", secret)

    assert scrub_output(text) == around.replace("{}", REDACTED)
    assert scrub_output(scrub_output(text)) == scrub_output(text)


def test_a_block_of_yaml_and_words_of_a_sentence_after_a_tight_sign_go() -> None:
    assert (
        hide_assigned_passwords(f"password: |\n  {WORDS}\nuser: ada")
        == f"password: |\n  {REDACTED}\nuser: ada"
    )
    assert hide_assigned_passwords("PASSWORD=the quick brown fox") == f"PASSWORD={REDACTED}"


KEPT = [
    "password: see the wiki page for it",
    "Password: must contain 8 characters",
    "password = get_password() or x",
    "password = a if b else c",
    "password: str | None = None",
    "password: Optional[str] = None",
    "def login(user: str, password: str) -> None: ...",
    "| password | The password of the user |",
    "  --password PASSWORD  the password to use",
    ":param password: the password to use",
    "password (str): The password.",
    "password: required string",
    "Forgot password: click here",
    "password: 3 failed, 2 passed",
    "password: 12 34 56",
    "compass: north by north west",
    "monkey: eats many bananas",
    "bypass: off by default",
    "primary key: user id",
    "KEY: press any button",
    "token: next word follows",
    "PASSWORD=$(cat file) make deploy",
    "PASSWORD=${PW} make deploy",
    "PASSWORD=<your password here>",
    "PWD=/home/ada/my work",
    "password=hunter2",
    "password == other and more",
    "https://x.example/password: a b",
    "secret: true # never shown",
    "Enter password:",
    "password: invalid for user ada",
    "the secret of good tea is time",
    "password = a + b",
    "PASSWORD=x --flag y",
    "password -> hash -> store",
]


@pytest.mark.parametrize("text", KEPT)
def test_prose_code_help_and_placeholders_stay(text: str) -> None:
    assert hide_assigned_passwords(text) == text


def test_a_question_shows_every_command_and_an_output_does_not() -> None:
    text = f"PASSWORD={WORDS}\nDB_PASSWORD=x make deploy"
    part = ToolPart(
        id="prt_1",
        message_id="msg_1",
        session_id="ses_1",
        call_id="c",
        tool="bash",
        state=ToolCompleted(
            input={"command": text},
            output=text,
            title=text,
            metadata={"output": text},
            time=Span(start=1, end=2),
        ),
    )
    event = redacted_event(PartUpdated(part=part), scrub)
    assert isinstance(event, PartUpdated)
    state = event.part.state  # type: ignore[union-attr]

    hidden = f"PASSWORD={REDACTED}\nDB_PASSWORD={REDACTED}"
    assert scrub(text) == text
    assert state.input == {"command": text}
    assert state.title == text
    assert (state.output, state.metadata["output"]) == (hidden, hidden)
    failed = ToolFailed(input={}, error=text, time=Span(start=1, end=2))
    redacted = redacted_event(PartUpdated(part=part.model_copy(update={"state": failed})), scrub)
    assert redacted.part.state.error == hidden  # type: ignore[union-attr]
    note = TextPart(id="prt_2", message_id="msg_1", session_id="ses_1", text=text, synthetic=True)
    assert redacted_event(PartUpdated(part=note), scrub).part.text == hidden  # type: ignore[union-attr]


@pytest.mark.parametrize("around", ASSIGNED)
def test_an_output_that_grows_shows_no_word_of_it(around: str) -> None:
    text = f"{around.replace('{}', WORDS)}\nthe end"

    for end in range(len(text) + 1):
        hidden = hide_in_growing_output(text[:end])
        assert not any(word in hidden for word in WORDS.split())
    assert hidden == f"{around.replace('{}', REDACTED)}\nthe end"


@pytest.mark.slow
@pytest.mark.parametrize("piece", thinned(["password: a ", "a: ", "PASSWORD=a b ", "a.", "a-", "password: ", "\x1b[0m", "password: |\n  a", "   "], 9))  # fmt: skip
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    small = best_seconds(assigned_spans, piece, 20_000)
    large = best_seconds(assigned_spans, piece, 80_000)

    assert large < 8 * small + 0.05, "a square would be 16 times"
    assert large < 2.0
