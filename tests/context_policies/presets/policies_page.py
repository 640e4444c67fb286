"""The table of docs/policies.md as it is to be; run as a script to write it."""

import sys
from pathlib import Path

from palimpsest.context_policies import registry

PAGE = Path(__file__).parents[3] / "docs" / "policies.md"
BEGIN = "<!-- policies: begin -->"
END = "<!-- policies: end -->"


def expected() -> str:
    """Return the table between the marks."""
    rows = [
        "| policy | what it does | when | holds | counts the request | source | its numbers |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in registry.list().records():
        source = " ".join(filter(None, (str(row["source"]), str(row["version"] or ""))))
        guess = ", **third-party**" if row["third_party"] else ""
        numbers = f"`{row['numbers']}`".replace("|", "\\|") if row["numbers"] else ""
        cells = (
            f"`{row['policy']}`",
            row["what"],
            row["when"],
            row["holds"],
            row["counts"],
            source + guess,
            numbers,
        )
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def found() -> str:
    """Return what stands between the marks now."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def write() -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{expected()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
