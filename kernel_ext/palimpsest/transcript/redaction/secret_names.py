"""Recognise names of variables whose values are secrets.

A name is read word by word (``SMTP_PASS``, ``dbPassword``, ``MYSQL_PWD``), so that ``AUTHOR``, ``MONKEY`` and
``TOKENIZERS_PARALLELISM`` are no secrets. Border: names only.
"""

import re
from itertools import pairwise

HARMLESS_NAMES = frozenset(
    {"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"}
)

SECRET_WORDS = frozenset(
    [
        *("pass", "passwd", "password", "passwords", "passphrase", "passcode", "pwd", "pw", "pat"),
        *("cred", "creds", "credential", "credentials", "secret", "secrets", "private", "confidential"),
        *("token", "tokens", "key", "keys", "apikey", "sas", "dsn", "jwt", "otp", "totp", "hmac"),
        *("auth", "oauth", "oauth2", "authentication", "authorization", "bearer", "cookie", "cookies"),
        *("webhook", "webhooks", "htpasswd", "netrc", "connstr", "connstring", "signature"),
    ]
)  # fmt: skip
SECRET_ENDS = (
    "password", "passwd", "passphrase", "pass", "pwd", "secret", "token", "key", "creds",
    "credentials",
)  # fmt: skip
"""Words that make a secret of a name that ends with them without a separator, such as ``PGPASSWORD`` and ``HFTOKEN``."""
SECRET_PARTS = ("password", "passwd", "passphrase", "credential", "secret", "apikey", "webhook")
"""Parts that count anywhere in a name."""
SECRET_PAIRS = frozenset({("connection", "string"), ("conn", "str"), ("conn", "string")})

_ORDINARY_TEXT = "monkey turkey donkey hockey hotkey jockey whiskey compass bypass surpass askpass overpass trespass public"
ORDINARY_WORDS = frozenset(_ORDINARY_TEXT.split())
"""Words that end like the name of a secret but are harmless."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def is_secret_name(name: str) -> bool:
    """Return whether a name marks its value as a secret."""
    if name in HARMLESS_NAMES:
        return False
    words = [word.casefold() for word in _WORDS.findall(name)]
    if "public" in words and words[-1] in ("key", "keys"):
        return False
    joined_words = "".join(words)
    return (
        any(word in SECRET_WORDS or _has_secret_end(word) for word in words)
        or any(pair in SECRET_PAIRS for pair in pairwise(words))
        or any(part in joined_words for part in SECRET_PARTS)
    )


def _has_secret_end(word: str) -> bool:
    return word not in ORDINARY_WORDS and word.endswith(SECRET_ENDS)
