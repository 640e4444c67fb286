"""Write each tool call of the agent into a table."""

import csv
from pathlib import Path

import palimpsest

TABLE = Path("calls.csv")


@palimpsest.hook("tool_after")
def note(event: palimpsest.ToolAfter) -> None:
    with TABLE.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow([event.session_id, event.tool, len(event.output)])


def main() -> None:
    app = palimpsest.App()
    session = palimpsest.open_session(app)
    session.prompt("Which files are there?", yes=True)
    app.close()
    print(TABLE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
