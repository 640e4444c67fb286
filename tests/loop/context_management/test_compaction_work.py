"""A compaction looks at a long conversation no more often than it must, and nobody looks for garbage meanwhile."""

import gc
import sys
from pathlib import Path
from types import CodeType, FrameType

from tests.harness.compacted_sessions import SUMMARY, talked
from tests.harness.session import ask

from palimpsest.context.compaction.stage_selection import StageSelector
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.request_assembly.projection import project
from palimpsest.model.script import says

WATCHED: dict[CodeType, str] = {
    function.__code__: function.__name__
    for function in (StageSelector.whole_history, project, neutral_messages)
}


async def test_a_compaction_asks_each_question_about_the_conversation_once(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, says(SUMMARY), says("It is 43.92."))
    seen: list[tuple[str, bool]] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in WATCHED:
            seen.append((WATCHED[frame.f_code], gc.isenabled()))

    sys.setprofile(note)
    try:
        await ask(session, "What was the mean? " + "word " * 1_600)
    finally:
        sys.setprofile(None)

    assert [request.purpose for request in model.requests[2:]] == ["compaction", "step"]
    called = [name for name, _ in seen]
    # What a summary's request contains is chosen once, and once the summary is there it is seen what then is sent.
    assert called.count("whole_history") == 1
    assert called.count("project") == 1
    assert {name for name, collecting in seen if collecting} <= {"whole_history"}
    assert "neutral_messages" in called
