"""Tokens of known providers, netrc files, passwords behind options and passwords with blanks are recognised."""

import pytest
from tests.sample_size import thinned
from tests.transcript.redaction.held_text import redacted_rest
from tests.transcript.redaction.time_growth import best_seconds

from palimpsest.transcript.redaction.secret_patterns import REDACTED, SecretStream, scrub

HEX = "0123456789abcdef" * 2
MIXED = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ" * 4

# Written in pieces, so that no scanner takes this file for one that holds keys.
TOKENS = {
    "discord": "MTk4" + "NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + MIXED[:27],
    "discord, other number": "OTk4" + "NjIyNDgzNDcxOTI1MjQ4" + ".GabcDE." + MIXED[:38],
    "discord, second factor": "mfa" + "." + MIXED[:84],
    "discord address": "discord" + ".com/api/webhooks/123456789012345678/" + MIXED[:68],
    "twilio key": "SK" + HEX,
    "twilio account and token": "AC" + HEX + ":" + HEX[::-1],
    "mailgun": "key" + "-" + HEX,
    "mailgun, newer": HEX + "-1234abcd" + "-0f0f0f0f",
    "mailchimp": HEX + "-us" + "12",
    "sendgrid": "SG" + "." + MIXED[:22] + "." + MIXED[:43],
    "google client secret": "GOCSPX" + "-" + MIXED[:28],
    "square": "sq0atp" + "-" + MIXED[:22],
    "notion": "ntn" + "_" + MIXED[:46],
    "linear": "lin" + "_api_" + MIXED[:40],
    "sentry": "sntrys" + "_" + MIXED[:60],
    "airtable": "pat" + MIXED[:14] + "." + HEX * 2,
    "atlassian": "ATATT" + "3xFfGF0" + MIXED[:60],
    "figma": "figd" + "_" + MIXED[:40],
    "grafana": "glsa" + "_" + MIXED[:32] + "_1a2b3c4d",
    "supabase": "sbp" + "_" + HEX + "01234567",
    "vault": "hvs" + "." + MIXED[:30],
    "docker": "dckr" + "_pat_" + MIXED[:27],
    "tailscale": "tskey" + "-auth-" + MIXED[:30],
    "pinecone": "pcsk" + "_" + MIXED[:60],
    "langsmith": "lsv2" + "_pt_" + HEX + "_0123456789",
    "gitlab deploy": "gldt" + "-" + MIXED[:20],
    "slack cookie": "xoxd" + "-" + MIXED[:40],
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize(
    "around",
    thinned(["{}", "say {}, please", '"{}"', "a\\n{}\\nb", "KEY={}", "({})", "x: {}\n"], 3),
)
def test_a_token_of_a_provider_goes_wherever_it_stands(token: str, around: str) -> None:
    assert scrub(around.format(token)) == around.format(REDACTED)


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_that_comes_in_pieces_is_never_shown(token: str) -> None:
    stream = SecretStream()
    text = f"It is {token} and so on."

    shown = "".join([*(stream.redact_piece(char) for char in text), redacted_rest(stream)])

    assert token[-12:] not in shown
    assert shown.startswith("It is ")
    assert shown.endswith(" and so on.")


BOT = "AA" + MIXED[:33]
PLACED = [
    (f"TELEGRAM=123456789:{BOT}", BOT),
    (f"https://api.telegram.org/bot1234567890:{BOT}/getMe", BOT),
    ("machine x.example login ada password hunter2", "hunter2"),
    ("machine x.example\n  login ada\n  password hunter2\n", "hunter2"),
    ("machine x.example\\n\\tlogin ada\\n\\tpassword hunter2\\n", "hunter2"),
    ("machine x.example password hunter2 login ada", "hunter2"),
    ("machine x.example login ada account b password p%3d!x", "p%3d!x"),
    ("default login anonymous password ada@x.example", "ada@x.example"),
    ("mysql -u root -pS3cret db", "S3cret"),
    ("mysqldump -h x -p's3 cret' db > a.sql", "s3 cret"),
    ('mysqladmin -p"s3cret" ping', "s3cret"),
    ("mariadb -uroot -phunter2", "hunter2"),
    ("sshpass -p hunter2 ssh ada@x", "hunter2"),
    ("sshpass -phunter2 ssh ada@x", "hunter2"),
    ("7z x -phunter2 a.7z", "hunter2"),
    ("unzip -P hunter2 a.zip", "hunter2"),
    ("docker login -u ada -p hunter2 x.example", "hunter2"),
    ("redis-cli -h x -a hunter2 ping", "hunter2"),
    ("ldapsearch -x -w hunter2 -b x", "hunter2"),
    ("curl -s -u ada:hunter2 https://x.example", "hunter2"),
    ("curl --user ada:hunter2 https://x.example", "hunter2"),
    ("tool --password hunter2 run", "hunter2"),
    ("tool --db-password='two words' run", "two words"),
    ('tool --passphrase "correct horse battery" run', "correct horse battery"),
    ("tool --api-key=a1b2c3d4 run", "a1b2c3d4"),
    ("tool --auth-token a1b2c3d4 run", "a1b2c3d4"),
    ('password = "correct horse battery staple"', "correct horse battery staple"),
    ("DB_PASSWORD='correct horse battery'", "correct horse battery"),
    ('{"password": "a b c"}', "a b c"),
    ('{\\"password\\": \\"correct horse\\"}', "correct horse"),
    ("db:\n  password: correct horse battery\n  user: ada", "correct horse battery"),
    ("- passphrase: correct horse battery", "correct horse battery"),
    ("[db]\npassword = correct horse battery\n", "correct horse battery"),
]


@pytest.mark.parametrize(("text", "secret"), PLACED)
def test_a_password_goes_whole_and_what_is_around_it_stays(text: str, secret: str) -> None:
    assert scrub(text) == text.replace(secret, REDACTED)
    assert scrub(scrub(text)) == scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        "Pass --password to be asked, or --token with a name; the --secret option is gone.",
        "password: enter your new password",
        "Password: must be at least eight characters",
        '{"password": "Please enter a password"}',
        '{"password": "is required", "secret": "the door to the garden"}',
        "password: str | None = None",
        "def login(user: str, password: str) -> None: ...",
        "password: str = field(default='')",
        "secret: true # never shown",
        "the machine learning login page has a password field",
        "a machine with login and password",
        "docker run -p 8080:80 x; ssh -p 2222 x; mkdir -p a/b/c; mysql -P3306",
        "curl -u $USER:$TOKEN https://x.example; curl -u ${A}:${B} x",
        "tool --password $PASSWORD --token ${TOKEN} --api-key <key>",
        "at 12:30:45 on 2026-11-28T10:00:00Z, ratio 123456:789",
        "NTSC. OTHER.THINGS.HERE, MT.example.org and MDN.docs",
        "ACCESS SKU ACTION key-value key-board pub-key",
        "sha256 " + "0123456789abcdef" * 4 + " and a uuid 123e4567-e89b-12d3-a456-426614174000",
        "patient.name patch.object pattern.compile",
        "mean -0.5, pairs a-b c-d e-f, " + "-" * 60,
        "password=values[0] and secret=row.secret",
        "sort -u names.txt; curl -u",
    ],
)
def test_ordinary_text_and_code_stay(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=abcdefgh rm -rf x",
        "DB_PASSWORD=correct-horse-battery rm -rf x",
        "tool --password hunter2; rm -rf x",
        "tool --password hunter2 rm -rf x",
        "tool --password 'a b'; rm -rf x",
        "mysql -phunter2 rm -rf x",
        "mysql -p'a b'; rm -rf x",
        "sshpass -p hunter2 rm -rf x",
        "curl -u ada:hunter2 x && rm -rf x",
        "password = \"$(rm -rf x)\"",
        "password = 'a b'; rm -rf x",
        "password: a b; rm -rf x",
        "password: a b | rm -rf x",
        "password: a b && rm -rf x",
        "machine x login y password z; rm -rf x",
        "machine x login y password hunter2\nrm -rf x",
        "export PASSWORD='a b' ; rm -rf x",
        "PASSWORD='a b' rm -rf x",
    ],
)  # fmt: skip
def test_no_command_is_hidden_from_a_question(text: str) -> None:
    assert "rm -rf x" in scrub(text)


HOSTILE = [
    "machine a login ", "machine a ", "password ", "default password ", "--password ", "--password '", "mysql -p ", "mysql ", "a -p ", "curl -u a:", "curl a ",
    "0:", "0-", "abcdef0123456789" * 2 + "-", "password: ", "\npassword: a ", "password = 'a ", "password: 'the ", "MT", "MTaaaaaaaaaaaaaaaaaaaaaaaa.", "AC", "key-", "a b ",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", thinned(HOSTILE, 8))
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    small, large = best_seconds(scrub, piece, 7_000), best_seconds(scrub, piece, 28_000)

    assert large < 8 * small + 0.05, "a square would be 16 times"
    assert large < 1.0
