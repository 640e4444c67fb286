"""Take secrets out of text before it is shown, exported or sent.

Border: pure; the values to remove are handed in. Two nets: exact values (the keys this kernel
holds), which are removed everywhere, and shapes of known keys, for displays and exports.
"""

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"

SHORTEST_SECRET = 8
"""Shorter values ("1", "true", "basic") would blank ordinary words all over a page."""

SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE|COOKIE|WEBHOOK|_PAT$|_DSN$|AUTH",
    re.IGNORECASE,
)
HARMLESS_NAMES = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"})

KEY_SHAPES = re.compile(
    r"""
      -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z0-9 ]*PRIVATE\ KEY-----|\Z)
    | \bsk-[A-Za-z0-9_-]{16,}                     # OpenAI, Anthropic, OpenRouter, DeepSeek ...
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b               # AWS key ids
    | \bgh[pousr]_[A-Za-z0-9]{20,}                # GitHub
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}                  # GitLab
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}            # Slack
    | \bAIza[0-9A-Za-z_-]{30,}                    # Google
    | \bya29\.[0-9A-Za-z_-]{20,}
    | \bhf_[A-Za-z0-9]{20,}                       # Hugging Face
    | \bgsk_[A-Za-z0-9]{20,}                      # Groq
    | \bxai-[A-Za-z0-9]{20,}
    | \bpypi-[A-Za-z0-9_-]{40,}
    | \bnpm_[A-Za-z0-9]{30,}
    | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | \b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}     # Stripe
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}   # JSON web tokens
    """,
    re.VERBOSE,
)
BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{16,}")
URL_PASSWORD = re.compile(r"(://[^\s:/@]+:)[^\s:/@]+(@)")
NAMED_VALUE = re.compile(
    r"""(?ix) ((?:api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|password|passwd)
        ["']?\s*[:=]\s*["']?) ([A-Za-z0-9._~+/=-]{12,})"""
)


def is_secret_name(name: str) -> bool:
    """Tell whether an environment variable's name says that its value is a secret."""
    return name not in HARMLESS_NAMES and SECRET_NAME.search(name) is not None


def looks_secret(value: str) -> bool:
    """Tell whether text has the shape of a key, or an address with a password in it."""
    return any(shape.search(value) for shape in (KEY_SHAPES, BEARER, URL_PASSWORD))


def _worth_hiding(value: str) -> bool:
    if len(value) < SHORTEST_SECRET or value[0] in "/~." or any(c.isspace() for c in value):
        return False
    plain_word = value.isalpha() and len(value) < 2 * SHORTEST_SECRET
    return not plain_word and "://" not in value


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Collect the values to hide from an environment, longest first."""
    named = {v for k, v in environment.items() if is_secret_name(k) and _worth_hiding(v)}
    shaped = {v for v in environment.values() if v and KEY_SHAPES.fullmatch(v)}
    return tuple(sorted(named | shaped, key=lambda value: (-len(value), value)))


def scrub_values(text: str, values: Iterable[str]) -> str:
    """Replace exact values; for text that must otherwise stay as it is."""
    for value in values:
        if value and value in text:
            text = text.replace(value, REDACTED)
    return text


def scrub(text: str, values: Iterable[str] = ()) -> str:
    """Replace exact values and whatever has the shape of a key; scrubbing twice changes nothing."""
    text = scrub_values(text, values)
    text = KEY_SHAPES.sub(REDACTED, text)
    text = BEARER.sub(lambda m: f"{m[1]}{m[2]}{REDACTED}", text)
    text = URL_PASSWORD.sub(lambda m: f"{m[1]}{REDACTED}{m[2]}", text)
    return NAMED_VALUE.sub(lambda m: f"{m[1]}{REDACTED}", text)
