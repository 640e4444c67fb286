"""Redaction removes keys from text and leaves the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub, scrub_values
from palimpsest.transcript.redaction.secret_removal import secret_values

KEYS = [
    "sk-" + "proj-abcDEF0123456789abcdef",
    "sk-" + "ant-api03-abcDEF0123456789_-x",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "github_" + "pat_" + "a1B2" * 9,
    "glpat" + "-abcdefghij0123456789",
    "xoxb" + "-123456789012-abcdefABCDEF",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "hf_" + "abcdefghijABCDEFGHIJ0123",
    "gsk_" + "abcdefghijABCDEFGHIJ0123",
    "eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + ".SflKxwRJSMeKKF2QT4",
]


@pytest.mark.parametrize("key", KEYS)
def test_known_shapes_of_keys_go(key: str) -> None:
    assert scrub(f"before {key} after") == f"before {REDACTED} after"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [redacted]"),
        ("postgres://ada:lovelace@db/x", "postgres://ada:[redacted]@db/x"),
        ('{"api_key": "0123456789abcdef"}', '{"api_key": "[redacted]"}'),
        ("password=correct-horse-battery", "password=[redacted]"),
    ],
)
def test_values_beside_their_names_go(text: str, expected: str) -> None:
    assert scrub(text) == expected


def test_a_private_key_goes_whole_even_when_cut_off() -> None:
    begin = "-----BEGIN RSA " + "PRIVATE KEY-----"
    end = "-----END RSA " + "PRIVATE KEY-----"

    assert scrub(f"a\n{begin}\nMIIE\n{end}\nb") == f"a\n{REDACTED}\nb"
    assert scrub(f"a\n{begin}\nMIIE") == f"a\n{REDACTED}"


@pytest.mark.parametrize(
    "text",
    [
        "The task-based risk-assessment of the basket",
        "tokens: 1200, key = 'species', password: None",
        "https://example.org:8080/path@2x.png",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "df.sort_values(by='bill_length_mm')",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert scrub(text) == text


def test_only_values_of_secret_names_are_collected() -> None:
    environment = {
        "OPENAI_API_KEY": "key-of-openai-1",
        "HF_TOKEN": "1",
        "SSH_KEY_PATH": "/home/ada/.ssh/id",
        "AUTH_MODE": "disabled",
        "USER": "ada-lovelace-1815",
        "OTHER": KEYS[3],
    }

    assert secret_values(environment) == (KEYS[3], "key-of-openai-1")


def test_the_environment_is_searched_once_and_again_when_it_changes() -> None:
    environment = {"API_KEY": "hunter2-hunter2"}
    first = secret_values(environment)

    assert secret_values(dict(environment)) is first
    environment["API_KEY"] = "swordfish-swordfish"
    assert "swordfish-swordfish" in secret_values(environment)
    assert "hunter2-hunter2" not in secret_values(environment)


def test_a_password_with_blanks_is_hidden_whole() -> None:
    values = secret_values(
        {"DB_PASSWORD": "correct horse battery", "GIT_ASKPASS": "/usr/bin/ask me"}
    )

    assert values == ("correct horse battery",)
    assert "horse" not in scrub("it says correct horse battery here", values)


def test_the_longest_value_goes_first() -> None:
    values = secret_values({"A_KEY": "abcdefgh1", "B_KEY": "abcdefgh1-longer"})

    assert scrub_values("abcdefgh1-longer abcdefgh1", values) == f"{REDACTED} {REDACTED}"


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "hf_token", "DB_PASSWORD", "aws_secret", "X_PAT"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "HOME", "SSH_AUTH_SOCK", "LANG", "PATTERN"])
def test_other_names_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@given(st.text(max_size=60), st.sampled_from(KEYS), st.text(max_size=60))
def test_scrubbing_twice_changes_nothing_more(before: str, key: str, after: str) -> None:
    once = scrub(f"{before} {key} {after}")

    assert key not in once
    assert scrub(once) == once
