"""The table of secrets that follow a name, an option or another fixed text, which stays visible.

Border: contains the forms; ``secret_patterns.py`` finds them in a text. No form hides a command that a shell would
run: a value ends at every character that ends a word of a shell, and has more than one word only in quotes, or on a
line that is no command.
"""

import re
from dataclasses import dataclass

from palimpsest.lazy_patterns import lazy_pattern

MAX_NAME_CHARS = 24
"""Maximum characters of a name with its ending; the default of ``chars_before``."""


@dataclass(frozen=True, slots=True)
class NamedForm:
    """A secret that follows a name or stands in a fixed place; the name is kept."""

    name: str
    name_endings: tuple[str, ...]
    """The end of the name, in lower case."""
    pattern_before: "re.Pattern[str]"
    """Matches the end of the text up to and with the name ending."""
    secret_pattern: "re.Pattern[str]"
    """Matches the text after the name ending; group 1 is the secret."""
    open_pattern: "re.Pattern[str]"
    """Matches the beginning of such a value at the end of an incomplete text; group 1 may still grow."""
    chars_before: int = MAX_NAME_CHARS
    """Characters before the end of the name ending that ``pattern_before`` searches; its group 1, if any, belongs to the secret."""
    required_words: tuple[str, ...] = ()
    """Of these one is in all that ``pattern_before`` matches; empty where nothing but the name ending is sure to be there."""
    run_part: str = ""
    """Where name and value are one run of the characters that tokens consist of: a pattern that matches in each such run."""


SECRET_NAMES = lazy_pattern(
    r"(?:(?:api|access|secret|account|shared[_-]?access)[_-]?key|private[_-]?key[_-]?password"
    r"|(?:access|auth|refresh|private|session)[_-]?token|client[_-]?secret|secret"
    r"|password|passwd|passphrase)\Z"
)
_NAME_ENDS = ("key", "token", "secret", "password", "passwd", "passphrase")
_ASSIGNMENT = r"""\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}"""
_QUOTE = r"""\\{0,3}["']"""
_WORD_END_CHARS = r"""\s"'\\`();|&<>{}"""
"""Characters that end a redacted value: a permission question may hide a word of a command, never another command."""
NOT_PLACEHOLDER = r"(?![${<%*\[])"
_BARE_TOKEN_CHAR = r"[A-Za-z0-9._~+/=-]"
# A name in code is no secret: os.environ.get(...), settings.db_password, database_password.
NOT_CODE_NAME = (
    r"(?!(?:[A-Za-z_]\w{0,60}\.){1,8}[A-Za-z_]\w{0,60}(?![\w~+/=-]))"
    r"(?!(?:[A-Za-z]{1,60}_|_)[A-Za-z_]{1,60}(?![\w.~+/=-]))"
    r"(?![A-Za-z_]\w{0,60}(?i:key|token|secret|password)(?![\w.~+/=-]))"
    r"(?!os\.environ/)"
)
_ANYWHERE = lazy_pattern("")
_WHOLE_WORD = lazy_pattern(r"(?<![A-Za-z0-9_])[a-z]+\Z")
_SIGNATURE_CHAR = "[A-Za-z0-9%+/=._-]"

_NOT_A_SENTENCE = (
    r"(?![^\n\"'\\]{0,400}?\b(?i:an|and|are|as|be|by|can|cannot|enter|for|forgot|forgotten|from|has|have|how|if|in"
    r"|incorrect|invalid|is|it|its|may|missing|must|my|new|no|not|of|on|or|our|passwords?|please|required|reset|should"
    r"|that|the|their|this|to|too|was|were|with|wrong|you|your)\b)"
)
"""Words that mark a sentence about a password, which is not a password itself."""
_WORDS = rf"[^{_WORD_END_CHARS}]++(?:[ \t]{{1,4}}[^{_WORD_END_CHARS}]++){{1,15}}+"
_OPEN_WORDS = r"[^\n\r\"'\\`();|&<>{}]{0,400}+"
_PLAIN_WORDS = rf"[^{_WORD_END_CHARS}=,#\[\]]{{1,80}}+(?:[ \t]{{1,4}}[^{_WORD_END_CHARS}=,#\[\]]{{1,80}}+){{1,8}}+"
_PASSWORDS = ("password", "passwd", "passphrase", "secret")
_BLANK = r"(?:[ \t\r\n]|\\{1,3}[nrt])"
_NO_BLANK = r"[^\s\"'\\]"
_OPTION = lazy_pattern(
    r"(?<![a-z0-9-])--[a-z-]{0,20}"
    r"(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|access-?key|private-?key|auth)\Z"
)
_OPTION_ENDS = ("password", "passwd", "passphrase", "pass", "pwd", "token", "secret", "key", "auth")
_NOT_AN_ORDINARY_WORD = rf"(?=[^{_WORD_END_CHARS}]{{0,60}}?[0-9A-Z!#%+/=@^_~]|[a-z]{{16}})"
"""A value that is no ordinary word of a sentence about the option."""
# The other arguments of a command, up to its option.
_OTHER_ARGUMENTS = r"(?:[ \t]{1,8}[^\s|;&<>]{1,200}){0,20}?[ \t]{1,8}"
_SECRET_WORD = (
    rf"(?![0-9]{{1,5}}(?![^{_WORD_END_CHARS}])){NOT_PLACEHOLDER}"
    rf"""((?<=["']){_WORDS}(?=\\{{0,3}}["'])|[^{_WORD_END_CHARS}]{{3,200}}+)"""
)

NAMED_FORMS = (
    NamedForm(
        "quoted words of a password",
        _PASSWORDS,
        _ANYWHERE,
        lazy_pattern(rf"""{_ASSIGNMENT}{_QUOTE}{NOT_PLACEHOLDER}{_NOT_A_SENTENCE}({_WORDS})(?=\\{{0,3}}["'])"""),
        lazy_pattern(rf"""{_ASSIGNMENT}{_QUOTE}{NOT_PLACEHOLDER}({_OPEN_WORDS})\Z"""),
    ),
    # Not "NAME=words", which for a shell is a value and a command.
    NamedForm(
        "words of a password on a line",
        _PASSWORDS,
        lazy_pattern(r"(?:\A|\n|\\n)[ \t]{0,40}(?:-[ \t]{1,4})?[\"']?[a-z0-9_.-]{0,60}\Z"),
        lazy_pattern(
            rf"[\"']?(?:[ \t]{{0,4}}:[ \t]{{1,4}}|[ \t]{{1,4}}=[ \t]{{1,4}})(?![!&|>]){NOT_PLACEHOLDER}{_NOT_A_SENTENCE}"
            rf"({_PLAIN_WORDS})(?=[ \t]{{0,4}}(?:\r?\n|\\+[nr]|\Z))"
        ),
        lazy_pattern(
            rf"[\"']?(?:[ \t]{{0,4}}:[ \t]{{1,4}}|[ \t]{{1,4}}=[ \t]{{1,4}})({_OPEN_WORDS})\Z"
        ),
        chars_before=140,
    ),
    NamedForm(
        "netrc",
        ("password",),
        lazy_pattern(
            rf"(?<![a-z0-9])(?:machine{_BLANK}{{1,8}}{_NO_BLANK}{{1,200}}+|default)"
            rf"(?:{_BLANK}{{1,8}}(?:login|account){_BLANK}{{1,8}}{_NO_BLANK}{{1,200}}+){{0,2}}{_BLANK}{{1,8}}password\Z"
        ),
        lazy_pattern(rf"{_BLANK}{{1,8}}({_NO_BLANK}{{2,400}}+)"),
        lazy_pattern(rf"{_BLANK}{{1,8}}({_NO_BLANK}{{0,400}}+)\Z"),
        chars_before=700,
        required_words=("machine", "default"),
    ),
    NamedForm(
        "quoted value of an option",
        _OPTION_ENDS,
        _OPTION,
        lazy_pattern(rf"""(?:[ \t]{{1,4}}|=){_QUOTE}{NOT_PLACEHOLDER}({_WORDS}|[^{_WORD_END_CHARS}]{{4,400}}+)(?=\\{{0,3}}["'])"""),
        lazy_pattern(rf"""(?:[ \t]{{1,4}}|=){_QUOTE}{NOT_PLACEHOLDER}({_OPEN_WORDS})\Z"""),
        chars_before=40,
    ),
    NamedForm(
        "value of an option",
        _OPTION_ENDS,
        _OPTION,
        lazy_pattern(rf"(?:[ \t]{{1,4}}|=)(?!-){NOT_PLACEHOLDER}{NOT_CODE_NAME}{_NOT_AN_ORDINARY_WORD}([^{_WORD_END_CHARS}]{{4,400}}+)"),
        lazy_pattern(rf"(?:[ \t]{{1,4}}|=)(?!-)([^{_WORD_END_CHARS}]{{0,400}}+)\Z"),
        chars_before=40,
    ),
    NamedForm(
        "password glued to an option",
        ("-p",),
        lazy_pattern(
            rf"(?<![a-z0-9_.-])(?:mysql[a-z_]{{0,20}}|mariadb[a-z-]{{0,20}}|sshpass|7z[a-z]?|u?n?rar){_OTHER_ARGUMENTS}-p\Z"
        ),
        lazy_pattern(rf"(?:{_QUOTE})?{_SECRET_WORD}"),
        lazy_pattern(rf"({_OPEN_WORDS})\Z"),
        chars_before=300,
        required_words=("mysql", "mariadb", "sshpass", "7z", "rar"),
    ),
    NamedForm(
        "password after an option",
        ("-p", "-a", "-w"),
        lazy_pattern(
            rf"(?<![a-z0-9_.-])(?:(?:sshpass|mongo[a-z]{{0,20}}|(?:docker|podman|helm|oc|az)(?:[ \t][a-z]{{1,20}}){{0,2}}[ \t]login"
            rf"|un(?:zip|rar)|zip|sqlcmd|htpasswd){_OTHER_ARGUMENTS}-p|redis-cli{_OTHER_ARGUMENTS}-a|ldap[a-z]{{3,10}}{_OTHER_ARGUMENTS}-w)\Z"
        ),
        lazy_pattern(rf"[ \t]{{1,4}}(?:{_QUOTE})?(?!-){_SECRET_WORD}"),
        lazy_pattern(rf"[ \t]{{1,4}}({_OPEN_WORDS})\Z"),
        chars_before=300,
        required_words=("sshpass", "mongo", "login", "zip", "unrar", "sqlcmd", "htpasswd", "redis-cli", "ldap"),
    ),
    NamedForm(
        "user and password of a client",
        ("-u", "-user"),
        lazy_pattern(rf"(?<![a-z0-9_.-])(?:curl|wget|https?|xh){_OTHER_ARGUMENTS}-(?:u|-(?:proxy-)?user)\Z"),
        lazy_pattern(rf"[ \t=]{{0,4}}(?:{_QUOTE})?[^:{_WORD_END_CHARS}]{{1,100}}:{_SECRET_WORD}"),
        lazy_pattern(rf"[ \t=]{{0,4}}(?:{_QUOTE})?[^:{_WORD_END_CHARS}]{{1,100}}:({_OPEN_WORDS})\Z"),
        chars_before=300,
        required_words=("curl", "wget", "http", "xh"),
    ),
    NamedForm(
        "Telegram",
        tuple(f"{digit}:" for digit in range(10)),
        lazy_pattern(r"(?<![0-9])[0-9]{6,12}:\Z"),
        lazy_pattern(r"(?=[0-9a-z_-]{0,34}[A-Z])(?=[0-9A-Z_-]{0,34}[a-z])([A-Za-z0-9_-]{30,46}+)(?![A-Za-z0-9_-])"),
        lazy_pattern(r"([A-Za-z0-9_-]{0,46}+)\Z"),
        run_part="[0-9]{6}:",
    ),
    NamedForm(
        "Mailgun, Mailchimp",
        tuple(f"{digit}-" for digit in "0123456789abcdef"),
        lazy_pattern(r"(?:(?<![0-9a-z_-])|(?<=\\[nrt]))([0-9a-f]{32})-\Z"),
        lazy_pattern(r"([0-9a-f]{8}-[0-9a-f]{8}|us[0-9]{1,2})(?![0-9A-Za-z-])"),
        lazy_pattern(r"([0-9a-f-]{0,17}+|us?[0-9]{0,2})\Z"),
        chars_before=40,
        run_part="[0-9A-Fa-f]{32}-",
    ),
    NamedForm(
        "quoted value of a name",
        _NAME_ENDS,
        SECRET_NAMES,
        lazy_pattern(rf"""{_ASSIGNMENT}{_QUOTE}{NOT_PLACEHOLDER}([^{_WORD_END_CHARS}]{{8,400}}+)(?=\\{{0,3}}["'])"""),
        lazy_pattern(rf"""{_ASSIGNMENT}{_QUOTE}{NOT_PLACEHOLDER}([^{_WORD_END_CHARS}]{{0,400}}+\\{{0,3}})\Z"""),
    ),
    NamedForm(
        "bare value of a name",
        _NAME_ENDS,
        SECRET_NAMES,
        lazy_pattern(rf"{_ASSIGNMENT}(?:{_QUOTE})?{NOT_CODE_NAME}({_BARE_TOKEN_CHAR}{{12,4000}}+)(?![(\[])"),
        lazy_pattern(rf"{_ASSIGNMENT}(?:{_QUOTE})?({_BARE_TOKEN_CHAR}*+)\Z"),
    ),
    NamedForm(
        "bearer",
        ("bearer",),
        _WHOLE_WORD,
        lazy_pattern(rf"[ \t]{{1,4}}(?={_BARE_TOKEN_CHAR}{{1,80}}?[0-9])({_BARE_TOKEN_CHAR}{{16,4000}}+)"),
        lazy_pattern(rf"[ \t]{{1,4}}({_BARE_TOKEN_CHAR}*+)\Z"),
    ),
    NamedForm(
        "basic",
        ("basic",),
        _WHOLE_WORD,
        lazy_pattern(rf"[ \t]{{1,4}}(?={_BARE_TOKEN_CHAR}{{1,80}}?[0-9=])({_BARE_TOKEN_CHAR}{{16,4000}}+)"),
        lazy_pattern(rf"[ \t]{{1,4}}({_BARE_TOKEN_CHAR}*+)\Z"),
    ),
    NamedForm(
        "address with a password",
        ("://",),
        _ANYWHERE,
        lazy_pattern(rf"""[^:/@{_WORD_END_CHARS}]{{0,256}}:{NOT_PLACEHOLDER}([^/@{_WORD_END_CHARS}]{{1,1024}}+)(?=@)"""),
        lazy_pattern(rf"""[^:/@{_WORD_END_CHARS}]{{0,256}}:([^/@{_WORD_END_CHARS}]{{0,1024}}+)\Z"""),
    ),
    NamedForm(
        "address with a token",
        ("://",),
        _ANYWHERE,
        lazy_pattern(r"(?=[A-Za-z_-]{0,40}[0-9])([A-Za-z0-9_-]{20,256}+)(?=@)"),
        lazy_pattern(r"([A-Za-z0-9_-]{16,256}+)\Z"),
    ),
    NamedForm(
        "connection string",
        ("pwd",),
        lazy_pattern(r";[ \t]{0,4}pwd\Z"),
        lazy_pattern(rf"[ \t]{{0,4}}=[ \t]{{0,4}}([^{_WORD_END_CHARS}]{{4,400}}+)"),
        lazy_pattern(rf"[ \t]{{0,4}}=[ \t]{{0,4}}([^{_WORD_END_CHARS}]{{0,400}}+)\Z"),
    ),
    NamedForm(
        "signed address",
        ("sig=", "signature=", "key=", "token="),
        lazy_pattern(r"[?&](?:sig|key|api[_-]?key|access_token|x-(?:amz|goog)-signature)=\Z"),
        lazy_pattern(rf"({_SIGNATURE_CHAR}{{16,4000}}+)"),
        lazy_pattern(rf"({_SIGNATURE_CHAR}*+)\Z"),
    ),
)  # fmt: skip
