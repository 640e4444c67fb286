"""Count the lines of a function's source."""


def code_line_count(source: str) -> int:
    """Return the number of lines that are neither empty nor only a comment."""
    return sum(line.strip()[:1] not in ("", "#") for line in source.splitlines())
