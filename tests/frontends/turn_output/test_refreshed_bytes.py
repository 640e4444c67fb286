"""What a cell sends while a turn runs grows with the turn's length, and not with its square."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from tests.builders import Builder
from tests.sample_size import thinned

from palimpsest.frontends.turn_output.cell_output import CellOutput
from palimpsest.frontends.turn_output.segments import MAX_OUTPUTS
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.sessions import Busy

STEP_SECONDS = 10


class Turn:
    """A feed of a turn of steps with one call each, and the cell that shows it while a page watches."""

    first_seq = 1
    turn_id = "msg_0"
    session = None
    notes = OutlineNotes()
    change_count = ended_step_count = notable_count = 0

    def __init__(self, tool: str, output: str, seconds: int = STEP_SECONDS) -> None:
        self._build, self._tool, self._output = Builder(), tool, output
        self._messages: list[Message] = []
        self.sent = 0
        self.outputs: dict[str, int] = {}
        self.saved: dict[str, str] = {}
        self.cell = CellOutput(
            self,  # type: ignore[arg-type]
            self._publish,
            scrub=str,
            is_watched=lambda: True,
            clock=lambda: self.change_count * seconds,
        )

    def _publish(self, data: dict[str, Any], *_: Any, transient: Any, update: bool) -> None:
        name, size = transient["display_id"], len(json.dumps(data))
        assert update is (name in self.outputs)
        self.sent += size
        self.outputs[name] = size
        self.saved[name] = data["text/markdown"]

    def step(self, words: str = "A word.") -> None:
        """Let a step begin and end."""
        self.begin(words)
        self.change_count += 1
        self.ended_step_count += 1
        self.cell.refresh()

    def begin(self, words: str) -> str:
        """Let a step begin, up to the place where its call would run; return the id of the call."""
        call = self._build.ran(self._tool, self._output)
        parts = (self._build.text(words), call, self._build.step_finish("tool-calls"))
        self._messages.append(self._build.assistant(*parts))
        self.change_count += 1
        self.cell.show_call(call.call_id)
        return call.call_id

    def write(self, words: str) -> None:
        """Let text of a new step arrive."""
        self._messages.append(self._build.assistant(self._build.text(words)))
        self.change_count += 1
        self.cell.refresh()

    def snapshot(self) -> Snapshot:
        return Snapshot(None, Busy(), tuple(self._messages), (), (), (), None, self.change_count)

    def has_received(self, _snapshot: Snapshot) -> bool:
        return True

    def messages(self, snapshot: Snapshot, _answer: Any = None) -> tuple[Message, ...]:
        return snapshot.messages


@pytest.mark.slow
@pytest.mark.parametrize("tool", thinned(["read", "python"], 2))
@pytest.mark.parametrize("steps", [1, 4, 150])
def test_a_watched_turn_is_sent_three_times_at_most(tool: str, steps: int) -> None:
    turn = Turn(tool, "a line\n" * 40)

    for _ in range(steps):
        turn.step()
    turn.cell.finish(SimpleNamespace(seq=(1, 9)))  # type: ignore[arg-type]

    assert len(turn.outputs) <= MAX_OUTPUTS
    assert turn.sent <= 3 * sum(turn.outputs.values()) + 2_000


@pytest.mark.parametrize("seconds", [0, STEP_SECONDS])
@pytest.mark.parametrize("steps", range(6))
def test_a_watched_cell_saves_words_before_code_that_may_end_the_kernel(
    steps: int, seconds: int
) -> None:
    turn = Turn("python", "a line", seconds)
    turn.cell.refresh(force=True)

    for number in range(steps):
        turn.step(f"word {number}")
    turn.begin(f"word {steps}")

    text = "".join(turn.saved.values())
    saved = [number for number in range(steps + 1) if f"word {number}" in text]
    assert len(saved) > (steps + 1) // 2


@pytest.mark.parametrize("ended", [0, 1, 2])
def test_what_follows_a_figure_is_shown_before_its_step_ends(ended: int) -> None:
    turn = Turn("python", "a line")
    for number in range(ended):
        turn.step(f"word {number}")

    assert turn.cell.prepare_native_output(turn.begin("I plot"))
    turn.write("It is plotted")

    assert "It is plotted" in turn.saved[list(turn.saved)[-1]]
