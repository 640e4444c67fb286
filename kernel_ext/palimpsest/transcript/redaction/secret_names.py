"""Recognise secrets by the name of a variable, and passwords inside the value of one.

A name is read word by word (``SMTP_PASS``, ``dbPassword``, ``MYSQL_PWD``), so that ``AUTHOR``, ``MONKEY`` and
``TOKENIZERS_PARALLELISM`` are none. Border: pure. The forms of keys in any text are in
``transcript/redaction/secret_patterns.py``; here a whole value is checked, so that a short password in an
address counts too.
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
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "creds",
    "credentials",
)
"""Ends of words that are written together, such as ``PGPASSWORD`` and ``HFTOKEN``."""
SECRET_PARTS = ("password", "passwd", "passphrase", "credential", "secret", "apikey", "webhook")
"""Parts that count anywhere in a name."""
SECRET_PAIRS = frozenset({("connection", "string"), ("conn", "str"), ("conn", "string")})

_ORDINARY = "monkey turkey donkey hockey hotkey jockey whiskey compass bypass surpass askpass overpass trespass public"
ORDINARY_WORDS = frozenset(_ORDINARY.split())
"""Words that end like the name of a secret and are none."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_ADDRESS = re.compile(r"://[^\s/:@\[]{0,256}:(?!\d{1,5}(?:[/?#]|\Z))[^\s@]{1,1024}@")
"""An address with a password; what follows a machine's name after a colon is its port."""
_SETTING = re.compile(
    r"""(?ix) (?: \A | [;,&?\s{"'] )
    (?: [a-z_]{0,24}[ _-]? (?: password | passwd | passphrase | secret | token | apikey | key ) | pwd | pass | sig )
    ["']? \s{0,4} [=:] \s{0,4} ["']? (?! (?:\s|\Z) ) [^\s;&"']{3,}"""
)
"""A part of a connection string: ``Password=``, ``AccountKey=``, ``SharedAccessKey=``."""


def is_secret_name(name: str) -> bool:
    """Tell whether a name says that its value is a secret."""
    if name in HARMLESS_NAMES:
        return False
    words = [word.casefold() for word in _WORDS.findall(name)]
    if "public" in words and words[-1] in ("key", "keys"):
        return False
    together = "".join(words)
    return (
        any(word in SECRET_WORDS or _ends_secretly(word) for word in words)
        or any(pair in SECRET_PAIRS for pair in pairwise(words))
        or any(part in together for part in SECRET_PARTS)
    )


def holds_password(value: str) -> bool:
    """Tell whether a value is an address or a connection string with a password in it, however short."""
    return _ADDRESS.search(value) is not None or (
        "=" in value
        and _SETTING.search(value) is not None
        and ("://" in value or ";" in value or " " in value)
    )


def _ends_secretly(word: str) -> bool:
    return word not in ORDINARY_WORDS and word.endswith(SECRET_ENDS)
