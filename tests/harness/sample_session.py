"""A stored session with every kind of content, for tests of pages and exports."""

import base64
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from tests.store.record_builders import MODEL, OWNER, SESSION, records

from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import ApiError
from palimpsest.transcript.messages import (
    AssistantMessage,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageUpdated,
    PartUpdated,
    SessionCreated,
    TodoUpdated,
)
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import Todo, Usage

BEGUN = 1_790_000_000_000
PART: TypeAdapter[Part] = TypeAdapter(Part)

ANSWER = """## What the data says

The **penguins** differ by species, see `flipper_length_mm`:

| species | n | mean flipper |
|---|---:|---:|
| Adelie | 152 | 189.9 |
| Gentoo | 124 | 217.2 |

1. Gentoo are larger.
2. Chinstrap lie between, as [the paper](https://example.org/penguins) says.

```python
penguins.groupby("species")["flipper_length_mm"].mean().sort_values(ascending=False).round(1).to_frame("mean flipper length in mm")
```

> 企鵝 are birds too.
"""
DIFF = """--- a/src/plot.py
+++ b/src/plot.py
@@ -1,4 +1,4 @@
 import matplotlib.pyplot as plt
-plt.plot(x, y)
+plt.scatter(x, y, s=4)
 plt.show()
"""
LONG = "\n".join(
    f"{number:>5}  a line of a long file, which says little" for number in range(1, 60)
)


@cache
def picture(width: int = 320, height: int = 160) -> bytes:
    """Return a PNG with a colour gradient."""
    row = [
        b"\x00" + b"".join(bytes((91, 73 + x * 120 // width, 180 - y)) for x in range(width))
        for y in range(height)
    ]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"".join(row)))
        + chunk(b"IEND", b"")
    )


def data_url(mime: str, content: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


class SampleSession:
    """Builds one session message by message."""

    def __init__(self, session_id: str = SESSION, title: str = "How penguins differ") -> None:
        self.session = SessionInfo(
            id=session_id,
            project_id="p",
            directory="/home/ada/penguins",
            notebook="start.ipynb",
            title=title,
            version="0.1.0",
            time=SessionTime(created=BEGUN, updated=BEGUN),
        )
        self.events: list[Event] = [SessionCreated(session=self.session)]
        self._count = 0
        self._message = ""

    def _number(self) -> int:
        self._count += 1
        return self._count

    def prompt(self, words: str = "", *more: dict[str, Any]) -> "SampleSession":
        self._message = f"msg_{self._number():04}"
        info = UserMessage(
            id=self._message,
            session_id=self.session.id,
            time=MessageTime(created=BEGUN + self._count * 60_000),
            agent="build",
            model=MODEL,
        )
        self.events.append(MessageUpdated(info=info))
        for part in [{"type": "text", "text": words}] if words else []:
            self.part(**part)
        for part in more:
            self.part(**part)
        return self

    def answer(self, **more: Any) -> "SampleSession":
        self._message = f"msg_{self._number():04}"
        created = BEGUN + self._count * 60_000
        fields: dict[str, Any] = {
            "cost": 0.0123,
            "tokens": Usage(input=1200, output=240, cache_read=800),
            "finish": "stop",
        }
        info = AssistantMessage(
            id=self._message,
            session_id=self.session.id,
            parent_id="msg_0001",
            time=MessageTime(created=created, completed=created + 4_000),
            agent="build",
            model=MODEL,
            path=MessagePath(cwd="/home/ada/penguins", root="/home/ada/penguins"),
            **fields | more,
        )
        self.events.append(MessageUpdated(info=info))
        return self

    def part(self, **fields: Any) -> "SampleSession":
        base = {"id": f"prt_{self._number():04}", "session_id": self.session.id}
        part = PART.validate_python({**base, "message_id": self._message, **fields})
        self.events.append(PartUpdated(part=part))
        return self

    def call(self, tool: str, given: dict[str, Any], output: str, **more: Any) -> "SampleSession":
        state = {
            "status": "completed",
            "input": given,
            "output": output,
            "time": {"start": BEGUN, "end": BEGUN + 1_400},
            **more,
        }
        return self.part(type="tool", call_id=f"call_{self._count}", tool=tool, state=state)

    def decide(self, action: Any, rule: str, before: int, after: int) -> "SampleSession":
        """Add a decision about the newest part."""
        decision = Decision(
            id=f"dec_{self._number():04}",
            action=action,
            rule=rule,
            message_id=self._message,
            part_id=f"prt_{self._count - 1:04}",
            tokens_before=before,
            tokens_after=after,
        )
        self.events.append(DecisionMade(decision=decision))
        return self

    def write(self, store: Store) -> SessionInfo:
        """Write the session into a store."""
        writer = store.acquire(self.session.id, OWNER, create=True)
        writer.append(records(self.events))
        writer.close()
        return self.session


def everything() -> SampleSession:
    """Return a session with every kind of content."""
    session = SampleSession()
    csv = data_url("text/csv", b"species,n\nAdelie,152\nGentoo,124\n")
    session.prompt(
        "Look at `penguins.csv` and say how the species differ. *Briefly*, please.",
        {"type": "file", "mime": "text/csv", "filename": "sample.csv", "url": csv},
        {
            "type": "file",
            "mime": "image/png",
            "filename": "sketch.png",
            "url": data_url("image/png", picture(200, 80)),
        },
    )
    session.answer(finish="tool-calls")
    session.part(
        type="reasoning",
        text="First I look at the columns, then I compare the means.",
        time={"start": BEGUN, "end": BEGUN + 3_200},
    )
    session.part(type="text", text="Let me look at the file first.")
    session.call("read", {"path": "penguins.csv"}, LONG, title="penguins.csv")
    session.decide("clear", "prune/default", 2_000, 12)
    session.call(
        "python",
        {"code": "import pandas as pd\npenguins = pd.read_csv('penguins.csv')\npenguins.plot()"},
        "[result]\n<Axes: >",
        attachments=[
            {
                "mime": "image/png",
                "filename": "figure 1.png",
                "url": data_url("image/png", picture()),
            }
        ],
    )
    session.call("edit", {"path": "src/plot.py"}, "Edited.", metadata={"diff": DIFF})
    failed = {
        "status": "error",
        "input": {"command": "make plot"},
        "error": "exit code 2",
        "metadata": {"output": "make: *** No rule to make target 'plot'.  Stop."},
        "time": {"start": BEGUN, "end": BEGUN + 300},
    }
    session.part(type="tool", call_id="call_x", tool="bash", state=failed)
    session.part(
        type="step-finish",
        reason="tool-calls",
        cost=0.0123,
        tokens={"input": 1200, "output": 240, "cache_read": 800},
        seconds=4.2,
        context_tokens=46_000,
        window=200_000,
    )
    session.answer()
    session.part(type="text", text=ANSWER)
    session.prompt().part(type="compaction", auto=True)
    session.answer(summary=True)
    session.part(
        type="text", text="## Goal\n\nSay how the species differ.\n\n## Done\n\n- read the file"
    )
    session.prompt("And now draw it, with <script>alert('no')</script> in the title.")
    retry = ApiError(message="The provider is busy", status=529, retryable=True)
    session.answer(
        error=ApiError(message="The provider answered with an error.", status=500), cost=None
    )
    session.part(type="retry", attempt=1, error=retry.model_dump(), time={"start": 0, "end": 2_000})
    session.part(type="text", text="I was about to draw")
    session.events.append(
        TodoUpdated(
            todos=(
                Todo(content="Read the file", status="completed"),
                Todo(content="Draw the figure", status="in_progress"),
                Todo(content="Write it up"),
                Todo(content="Ask a penguin", status="cancelled"),
            )
        )
    )
    return session


def long_session(turns: int, words: int = 20_000) -> Iterator[Event]:
    """Yield the events of a session of many turns, each with an output."""
    session = SampleSession(title="A long one")
    for turn in range(turns):
        session.prompt(f"Question {turn}").answer()
        session.call("python", {"code": f"look({turn})"}, f"{turn} " * (words // 5))
        session.part(type="text", text="Done.")
    yield from session.events
