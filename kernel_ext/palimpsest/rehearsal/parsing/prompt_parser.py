"""Split a prompt into words, quoted text, code, paths, patterns and @names.

Nothing here raises, whatever the prompt contains; other modules select the rule that answers it.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.rehearsal.parsing.vocabulary import word_set
from palimpsest.rehearsal.parsing.word_matching import Word, words_of

EXTENSIONS = word_set(
    """
    py ipynb md txt csv tsv json jsonl toml yaml yml cfg ini html htm css js jsx ts tsx log rst xml
    sql sh parquet feather xlsx xls png jpg jpeg gif svg pdf gz zip lock env r c h cpp hpp java go
    rs rb tex bib dat conf out err diff patch pyi text
    """
)
MAX_PATH_CHARS = 200
FILES_WITHOUT_EXTENSION = (
    "README",
    "LICENSE",
    "NOTICE",
    "CHANGELOG",
    "Makefile",
    "Dockerfile",
    "AGENTS",
)

_FENCE = lazy_pattern(r"```[ \t]*([\w+-]*)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_BACKTICKED = lazy_pattern(r"`([^`\n]+)`")
_QUOTE = lazy_pattern(
    r"\"([^\"]+)\""
    r"|\u201c([^\u201d]+)\u201d"
    r"|\u2018([^\u2019]+)\u2019"
    r"|\u00ab\s*([^\u00bb]+?)\s*\u00bb"
    r"|(?<![\w'])'([^']+)'(?!\w)"
)
_GLOB = lazy_pattern(r"(?<!\S)[\w./-]*\*(?:\*?/|\*?\.)?[\w./*-]*")
_MENTION = lazy_pattern(r"(?<![\w.])@([^\W\d]\w*)")
_TOKEN = lazy_pattern(r"[^\s,;:!?()\[\]{}\"'`\u201c\u201d<>|=]+")
_EXTENSION = lazy_pattern(rf"\.(?:{'|'.join(EXTENSIONS)})$", re.IGNORECASE)
_FOLDER = lazy_pattern(r"(?:~|\.{1,2})?/[\w./+-]*|[\w.+-]+(?:/[\w.+-]+)*/|[\w.+-]+(?:/[\w.+-]+)+")


@dataclass(frozen=True)
class CodeFence:
    """A block of code between triple backticks."""

    language: str
    code: str


@dataclass(frozen=True)
class ParsedPrompt:
    """A prompt, and the parts of it that rules use."""

    text: str

    @cached_property
    def fences(self) -> tuple[CodeFence, ...]:
        """The fenced code blocks."""
        return tuple(
            CodeFence(lang.lower(), code.strip("\n")) for lang, code in _FENCE.findall(self.text)
        )

    @cached_property
    def prose(self) -> str:
        """The prompt without its code blocks."""
        return _FENCE.sub(" ", self.text).strip()

    @cached_property
    def lowercase_prose(self) -> str:
        """The prose in lower case, with single spaces and plain apostrophes."""
        return " ".join(self.prose.casefold().replace("\u2019", "'").split())

    @cached_property
    def backticked_texts(self) -> tuple[str, ...]:
        """Texts in single backticks."""
        return tuple(_BACKTICKED.findall(self.prose))

    @cached_property
    def quotes(self) -> tuple[str, ...]:
        """Texts in quotation marks."""
        without_ticks = _BACKTICKED.sub(" ", self.prose)
        return tuple(next(filter(None, groups)) for groups in _QUOTE.findall(without_ticks))

    @cached_property
    def mentions(self) -> tuple[str, ...]:
        """Names written as ``@name``."""
        return tuple(_MENTION.findall(self.prose))

    @cached_property
    def globs(self) -> tuple[str, ...]:
        """File patterns such as ``*.py``."""
        globs = (glob.rstrip(".,") for glob in _GLOB.findall(self.prose.replace("`", " ")))
        return tuple(g for g in globs if re.search(r"\*\.|\*\*|/\*|\w\*|\*\w", g))

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """File names with a known extension, quoted or not, in order, without duplicates."""
        quoted_paths = [text for text in (*self.backticked_texts, *self.quotes) if is_path(text)]
        unquoted_text = _QUOTE.sub(" ", self.prose) if quoted_paths else self.prose
        tokens = (token.rstrip(".").lstrip("@") for token in _TOKEN.findall(unquoted_text))
        return tuple(dict.fromkeys([*quoted_paths, *(token for token in tokens if is_path(token))]))

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Names that look like folders: with a slash, and without a known extension."""
        tokens = (
            token.rstrip(".") if len(token) > 2 else token for token in _TOKEN.findall(self.prose)
        )
        folders = [t for t in tokens if _FOLDER.fullmatch(t) and not is_path(t)]
        if re.search(r"(?<!\S)\.(?!\S)", self.prose):
            folders.append(".")
        return tuple(folders)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """All words of the prose, including those inside quotes."""
        return words_of(self.prose)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words: without plural endings."""
        return frozenset(word.stem for word in self.words)

    def matches(self, pattern: str) -> re.Match[str] | None:
        """Return the first match of a pattern in the lower-case prose, or None."""
        return re.search(pattern, self.lowercase_prose)


def is_path(text: str) -> bool:
    """Return whether a text looks like a file name."""
    name = text.rsplit("/", 1)[-1]
    if "\n" in text or len(text) > MAX_PATH_CHARS or "*" in text or "://" in text:
        return False
    is_hidden = re.fullmatch(r"\.\w[\w.-]*", name) and name[1:] not in EXTENSIONS
    if name in FILES_WITHOUT_EXTENSION or is_hidden or name == ".env":
        return True
    # A name with spaces is a path only when it has no other punctuation: "notes of May.txt".
    return bool(_EXTENSION.search(name[1:])) and bool(re.fullmatch(r"[\w .~/+@-]+", text))
