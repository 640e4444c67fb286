"""Ask one question about each notebook of a folder, and write the answers to a table."""

import csv
import sys
from pathlib import Path

import palimpsest


def main(folder: Path) -> None:
    app = palimpsest.App(start=folder)
    with (folder / "answers.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["notebook", "answer", "tokens", "stopped_by"])
        for notebook in sorted(folder.glob("*.ipynb")):
            session = palimpsest.new_session(notebook.stem)
            answer = session.prompt(
                f"Read {notebook.name} and say in one sentence what it does.", yes=True
            )
            rows.writerow([notebook.name, answer.text, answer.usage.total, answer.stopped_by])
    app.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
