"""The table of secrets that begin with fixed letters: tokens and secret addresses of known providers.

Border: contains the forms; ``secret_patterns.py`` finds them in a text. Every body is matched in
linear time. Tokens without a fixed beginning are found by the name before the value (``named_forms.py``).
"""

import re
import string
from dataclasses import dataclass

from palimpsest.lazy_patterns import lazy_pattern

LETTERS_DIGITS = string.ascii_letters + string.digits
TOKEN_CHARS = LETTERS_DIGITS + "_-"
"""The characters of most tokens."""
DOTTED_CHARS = TOKEN_CHARS + "."
"""The characters of tokens that have several fields with dots between them."""
NOT_ALL_LOWER = r"(?=[A-Za-z0-9_-]{0,40}?[0-9A-Z]|[a-z]{16})"
"""Matches before a digit or capital within 40 characters, or before a long word, so not before words with hyphens."""


@dataclass(frozen=True, slots=True)
class TokenForm:
    """A secret that begins with fixed letters."""

    name: str
    beginnings: tuple[str, ...]
    body: "re.Pattern[str]"
    """Matches the text after one of the beginnings."""
    body_characters: str
    """The characters that the body may contain."""


def _token(name: str, beginnings: str, body: str, body_characters: str = TOKEN_CHARS) -> TokenForm:
    return TokenForm(name, tuple(beginnings.split()), lazy_pattern(body), body_characters)


_W = "[A-Za-z0-9_-]"
"""Pattern of one character of ``TOKEN_CHARS``."""
_A = "[A-Za-z0-9]"
"""Pattern of one letter or digit."""
TOKENS = (
    _token("OpenAI, Anthropic, OpenRouter, DeepSeek", "sk-", rf"{NOT_ALL_LOWER}{_W}{{16,}}+"),
    _token("AWS key id", "AKIA ASIA ABIA ACCA", rf"[A-Z0-9]{{16}}(?!{_A})", LETTERS_DIGITS),
    _token("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_A}{{20,}}+", LETTERS_DIGITS),
    _token("GitHub, fine-grained", "github_pat_", r"[A-Za-z0-9_]{20,}+"),
    _token("GitLab", "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-", r"[A-Za-z0-9_.-]{16,}+", DOTTED_CHARS),
    _token("Slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-", r"[A-Za-z0-9%-]{10,}+", TOKEN_CHARS + "%"),
    _token("Google key", "AIza", rf"{_W}{{30,}}+"),
    _token("Google token", "ya29.", rf"{_W}{{20,}}+"),
    _token("Hugging Face", "hf_", rf"{_A}{{20,}}+", LETTERS_DIGITS),
    _token("Groq", "gsk_", rf"{_A}{{20,}}+", LETTERS_DIGITS),
    _token("xAI", "xai-", rf"{NOT_ALL_LOWER}{_A}{{20,}}+", LETTERS_DIGITS),
    _token("Perplexity", "pplx-", rf"{_A}{{30,}}+", LETTERS_DIGITS),
    _token("NVIDIA", "nvapi-", rf"{_W}{{30,}}+"),
    _token("Replicate", "r8_", rf"{_A}{{30,}}+", LETTERS_DIGITS),
    _token("Databricks", "dapi", rf"[0-9a-f]{{32}}(?!{_A})(?:-[0-9])?", LETTERS_DIGITS + "-"),
    _token("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}", LETTERS_DIGITS),
    _token("PyPI", "pypi-", rf"{NOT_ALL_LOWER}{_W}{{40,}}+"),
    _token("npm", "npm_", rf"{_A}{{30,}}+", LETTERS_DIGITS),
    _token("SendGrid", "SG.", rf"{_W}{{16,200}}+\.{_W}{{16,}}+", DOTTED_CHARS),
    _token("Stripe", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_", rf"{_A}{{16,}}+", LETTERS_DIGITS),
    _token("Twilio", "AC SK", rf"[0-9a-f]{{32}}(?!{_A})(?::[0-9a-f]{{32}}(?!{_A}))?+", LETTERS_DIGITS + ":"),
    _token("Mailgun", "key- pubkey-", rf"[0-9a-f]{{32}}(?!{_A})", LETTERS_DIGITS + "-"),
    # A bot's number in Base64, the time, and the signature.
    _token("Discord", " ".join(first + two for first in "MNO" for two in "DTjz"), rf"{_W}{{20,28}}+\.{_W}{{6}}\.{_W}{{27,}}+", DOTTED_CHARS),
    _token("Discord, second factor", "mfa.", rf"{_W}{{60,}}+", DOTTED_CHARS),
    _token("Discord address", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", rf"[0-9]{{10,25}}+/{_W}{{40,}}+", TOKEN_CHARS + "/"),
    _token("Teams address", "webhook.office.com/webhookb2/", r"[A-Za-z0-9@/-]{60,}+", TOKEN_CHARS + "@/"),
    _token("Google client secret", "GOCSPX-", rf"{_W}{{20,}}+"),
    _token("Square", "sq0atp- sq0csp- sq0idp-", rf"{_W}{{20,}}+"),
    _token("Notion", "ntn_", rf"{_A}{{40,}}+", LETTERS_DIGITS),
    _token("Linear", "lin_api_ lin_oauth_", rf"{_A}{{30,}}+", LETTERS_DIGITS),
    _token("Sentry", "sntrys_ sntryu_", r"[A-Za-z0-9_+/=-]{40,}+", TOKEN_CHARS + "+/="),
    _token("Airtable", "pat", rf"{_A}{{14}}\.[0-9a-f]{{64}}", DOTTED_CHARS),
    _token("Atlassian", "ATATT3x ATCTT3x", r"[A-Za-z0-9_=-]{40,}+", TOKEN_CHARS + "="),
    _token("Figma", "figd_ figo_", rf"{_W}{{30,}}+"),
    _token("Postman", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}", TOKEN_CHARS),
    _token("New Relic", "NRAK- NRJS-", rf"{_A}{{20,}}+", LETTERS_DIGITS),
    _token("Grafana", "glsa_ glc_", r"[A-Za-z0-9_+/=]{30,}+", TOKEN_CHARS + "+/="),
    _token("Supabase", "sbp_ sb_secret_", rf"{_W}{{20,}}+"),
    _token("PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.-]{30,}+", DOTTED_CHARS),
    _token("Vault", "hvs. hvb. hvr.", rf"{_W}{{24,}}+", DOTTED_CHARS),
    _token("Doppler", "dp.pt. dp.st. dp.sa. dp.ct.", r"[A-Za-z0-9_.-]{40,}+", DOTTED_CHARS),
    _token("Pulumi", "pul-", r"[0-9a-f]{40}", TOKEN_CHARS),
    _token("Docker", "dckr_pat_ dckr_oat_", rf"{_W}{{20,}}+"),
    _token("RubyGems", "rubygems_", r"[0-9a-f]{40,}+", TOKEN_CHARS),
    _token("Tailscale", "tskey-", rf"{_W}{{20,}}+"),
    _token("Brevo", "xkeysib- xsmtpsib-", rf"{_W}{{60,}}+"),
    _token("LangSmith", "lsv2_pt_ lsv2_sk_", r"[0-9a-f_]{30,}+", TOKEN_CHARS),
    _token("Pinecone", "pcsk_", rf"{_W}{{40,}}+"),
    _token("Tavily", "tvly-", rf"{_W}{{24,}}+"),
    _token("Heroku", "HRKU-", rf"{_W}{{30,}}+"),
    _token("Shopify", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}", LETTERS_DIGITS),
    _token("age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+", LETTERS_DIGITS),
    _token("JSON web token", "eyJ", rf"{_W}{{10,1000}}+\.eyJ{_W}{{10,}}+\.{_W}{{10,}}+", DOTTED_CHARS),
    _token("Slack address", "hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}+", LETTERS_DIGITS + "/"),
)  # fmt: skip
