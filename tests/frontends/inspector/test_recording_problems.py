"""What could not be read of a recording is told in the same words by the tab, a cell, its saved output and a report."""

import base64
import gzip
import html
import json
import re
from pathlib import Path

import pytest
from tests.frontends.command_line.command_line import run
from tests.frontends.page_channel.test_inspector import asked
from tests.frontends.test_view import comm, say, told
from tests.harness.kernel import Kernel
from tests.recordings.formats.sample_files import sample

from palimpsest import open_recording
from palimpsest.render.reports.saved_inspector import MAX_SENTENCES, sentence_list
from palimpsest.review.tables.recording_sentences import MAX_LISTED_PROBLEMS
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskView

BROKEN = "broken.jsonl, line 5: It is no JSON and was left out."
UNKNOWN = (
    "broken.jsonl, line 6: It is of the kind 'levitation', which is not known, and was left out."
)


def broken(folder: Path, *, more: int = 0) -> Path:
    """Write a recording with a line that is no JSON, one of an unknown kind, and further broken ones."""
    lines = sample("pi_version_3.jsonl", folder).read_text().splitlines()
    answer = json.loads(lines[4])
    unknown = {"type": "levitation", "id": "1evi7a7e", "parentId": answer["parentId"]}
    lines[4] = json.dumps({**answer, "parentId": unknown["id"]})
    lines[4:4] = [
        '{"type": "message", "id": "x", ',
        json.dumps(unknown),
        *["{" for _ in range(more)],
    ]
    path = folder / "broken.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def in_report(path: Path) -> tuple[str, str]:
    """Return what a report's file says: where no script runs, and in its packed data."""
    page = path.read_text("utf-8")
    [packed] = re.findall(r'id="data">([^<]*)<', page)
    data = gzip.decompress(base64.b64decode(packed)).decode()
    return html.unescape(page), data


@pytest.mark.slow
def test_all_four_places_tell_the_same_words(tmp_path: Path) -> None:
    path = broken(tmp_path)
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest\nimport palimpsest\n%agent sessions")
        kernel.request(type="watch", client="page")
        tab = asked(kernel, 1, {"ask": "view"}, path=path.name)["view"]
        cell = kernel.client.run(
            "shown = palimpsest.open_recording('broken.jsonl')[0].inspect()\nshown"
        )
        to = comm(kernel)
        say(kernel, to, {"kind": "ask", "id": "1", "query": {"ask": "view"}})
        drawn = told(kernel, "answer", id="1")["answer"]["view"]
        report = kernel.client.value(
            "str(palimpsest.open_recording('broken.jsonl')[0].report('session.html'))"
        )
    shell = run("report", "broken.jsonl", "-o", "shell.html", cwd=tmp_path)

    [output] = cell.outputs()
    saved = html.unescape(output["data"]["text/html"])
    for sentence in (BROKEN, UNKNOWN):
        assert sentence in tab["gaps"]
        assert sentence in drawn["gaps"]
        assert f"<li>{sentence}</li>" in saved
        assert sentence in output["data"]["text/plain"]
        for file in (Path(report.strip("'")), tmp_path / "shell.html"):
            without_script, data = in_report(tmp_path / file)
            assert f"<li>{sentence}</li>" in without_script
            assert json.dumps(sentence)[1:-1] in data
        assert f"palimpsest: {sentence}" in shell.err.splitlines()


def test_many_are_counted_and_a_report_without_texts_names_none(tmp_path: Path) -> None:
    with open_recording(broken(tmp_path, more=30)) as recording:
        review = recording[0]
        view = ViewAnswers(review).answer(AskView()).view
        bare, counted = in_report(review.report(tmp_path / "bare.html", texts="none"))

    assert view is not None
    told = view.gaps[-MAX_LISTED_PROBLEMS - 1 :]
    assert told[0] == BROKEN
    assert told[-1] == "22 more places could not be read."
    assert "<li>32 places could not be read.</li>" in bare
    assert "levitation" not in bare + counted
    assert "broken.jsonl" not in bare + counted


def test_a_list_says_how_many_sentences_it_leaves_out() -> None:
    whole = sentence_list([f"Sentence {number}." for number in range(MAX_SENTENCES)])
    cut = sentence_list([f"Sentence {number}." for number in range(MAX_SENTENCES + 3)])

    assert whole.count("<li>") == MAX_SENTENCES
    assert "left out" not in whole
    assert cut.count("<li>") == MAX_SENTENCES + 1
    assert cut.endswith("<li>3 more sentences left out here.</li></ul>")
