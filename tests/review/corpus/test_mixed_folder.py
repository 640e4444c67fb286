"""A folder of hundreds of files of many agents comes to one table that a count by hand confirms."""

from pathlib import Path

from tests.review.corpus.mixed_folder import write_mixed_folder
from tests.sample_size import sample_size

import palimpsest


def test_a_mixed_folder_comes_to_what_a_count_by_hand_comes_to(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    expected = write_mixed_folder(folder, sample_size(20, 300))
    assert expected.files >= sample_size(20, 300)

    overview = palimpsest.corpus(folder, cache=False).overview("file")

    main = [session for session in overview.sessions if session.figures.parent is None]
    assert len(main) == expected.sessions
    together = overview.totals()
    assert (together.requests, together.input) == (expected.requests, expected.input)
    assert len(overview.repeated) == expected.repeated
    problems = "\n".join(overview.problems)
    named = [name for name in set(expected.left_out) if name in problems]
    assert sorted(named) == sorted(set(expected.left_out))
