"""Sample parts to render: every kind of part, and the payloads that must never become active."""

import json
from pathlib import Path
from typing import Any

from tests.sample_size import sampled_cases

from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import ApiError, ContextOverflowError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import (
    AgentPart,
    CompactionPart,
    FilePart,
    NotebookPart,
    NotedCell,
    NotedEdit,
    Part,
    PatchPart,
    ReasoningPart,
    RetryPart,
    Span,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
    ToolState,
)
from palimpsest.transcript.values import Ask, ModelRef, Reply, Usage

IDS = {"session_id": "ses_1", "message_id": "msg_2"}
T0 = 1_790_000_000_000

_KEPT = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "payloads.json").read_text("utf-8")
)["payloads"]
PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<a href=javascript:alert(1)>click</a>",
    "[click](javascript:alert(1))",
    "[click](java\\script:alert(1))",
    "[click](javascript&colon;alert(1))",
    "[click](<javascript:alert(1)>)",
    "[click](\n  JaVaScRiPt:alert(1) 'title')",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](vbscript:msgbox(1))",
    "[click][ref]\n\n[ref]: javascript:alert(1)",
    "![x](http://evil.example/pixel.png)",
    "![x](//evil.example/pixel.png)",
    "![a [b] c](http://evil.example/pixel.png)",
    "![x][ref]\n\n[ref]: http://evil.example/pixel.png",
    "![x](/hub/logout)",
    "<svg/onload=alert(1)>",
    "<iframe src=//evil.example></iframe>",
    "<!-- --><img src=x onerror=alert(1)>",
    "<?x <img src=x onerror=alert(1)> ?>",
    "`<img src=x onerror=alert(1)>`",
    "$ ` $ <img src=x onerror=alert(1)> `",
    "$$ ` $$ <img src=x onerror=alert(1)> `",
    "| a ` | <img src=x onerror=alert(1)> ` |\n|---|---|\n| ` | <img src=x onerror=alert(1)> ` |",
    "$$\n\n```html\n$$\n<img src=x onerror=alert(1)>\n```",
    "\\begin{a}\n\n```\n\\end{a}\n\n<img src=x onerror=alert(1)>\n```",
    "# a $$ b\n\nc $$ d\n\n```\n$$ <img src=x onerror=alert(1)>\n```",
    "- a\n\n  ```\n  b\n ```\n<img src=x onerror=alert(1)>\n```",
    "> ```\n<img src=x onerror=alert(1)>\n> ```",
    "1. ```\n   x\n<script>alert(1)</script>\n```",
    "~~~\n```\n~~~\n<script>alert(1)</script>",
    "``` `\n<script>alert(1)</script>\n```",
    "    ```\n<script>alert(1)</script>\n    ```",
    '[a]: http://x.example "title\n\n```text\nfoo" <img src=x onerror=alert(1)>\n```',
    "\\`<img src=x onerror=alert(1)>`",
    "`` ` `<img src=x onerror=alert(1)>`` `",
    "a\u2028```\u2028<img src=x onerror=alert(1)>\u2028```",
    "$\\href{javascript:alert(1)}{click}$",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
    "```mermaid\ngraph TD\nA[<img src=x onerror=alert(1)>]\n```",
    "```{=html}\n<script>alert(1)</script>\n```",
    *(
        part["text"].replace("RUN", "top.ran=1").replace("LEAK", "http://127.0.0.1:9/leak")
        for part in _KEPT
    ),
)
"""The payloads of the front end's tests, and some about our own way of writing Markdown."""
SOME_PAYLOADS = sampled_cases(PAYLOADS, *PAYLOADS[::4])
"""For what is drawn with the same escapes as a message, which is tested with all of them."""


def text(words: str, **fields: Any) -> TextPart:
    return TextPart(id="prt_t", **IDS, text=words, **fields)


def tool(name: str, state: ToolState, id: str = "prt_c") -> ToolPart:
    return ToolPart(id=id, **IDS, call_id=f"call_{id}", tool=name, state=state)


def ran(name: str, output: str, id: str = "prt_c", title: str = "", **given: Any) -> ToolPart:
    span = Span(start=T0, end=T0 + 210)
    state = ToolCompleted(input=given, output=output, title=title, time=span)
    return tool(name, state, id)


def failed(name: str, error: str, id: str = "prt_f", **metadata: Any) -> ToolPart:
    span = Span(start=T0, end=T0 + 1_400)
    return tool(
        name, ToolFailed(input={"code": "1 / 0"}, error=error, metadata=metadata, time=span), id
    )


DESCRIBE = """           count  mean  std   min   25%   50%   75%   max
Adelie     151.0  38.8  2.7  32.1  36.8  38.8  40.8  46.0
Chinstrap   68.0  48.8  3.3  40.9  46.3  49.6  51.1  58.0
Gentoo     123.0  47.5  3.1  40.9  45.3  47.3  49.5  59.6"""

EVERYTHING: tuple[Part, ...] = (
    StepStartPart(id="p0", **IDS),
    ReasoningPart(
        id="p1",
        **IDS,
        text="The user wants to know which species has odd bill lengths. I should look at them.",
        time=Span(start=T0, end=T0 + 3_200),
    ),
    text("I'll look at the distribution per species first."),
    ran(
        "python",
        DESCRIBE,
        "prt_c1",
        title='penguins.groupby("species").bill_length_mm.describe()',
        code='penguins.groupby("species").bill_length_mm.describe().round(1)',
    ),
    ran("read", "1: # Penguins\n2: 344 rows", "prt_c2", path="data/README.md"),
    failed("python", "ZeroDivisionError: division by zero", "prt_c3"),
    failed("python", "Stopped.", "prt_c4", interrupted=True, output="12 of 90 files"),
    failed("bash", "A person refused this call.", "prt_c5"),
    tool(
        "write",
        ToolRunning(
            input={"path": "data/penguins_clean.csv", "content": "species,island\n"},
            title="data/penguins_clean.csv",
            metadata={"diff": "--- /dev/null\n+++ data/penguins_clean.csv\n@@\n+species,island"},
            time=Span(start=T0),
        ),
        "prt_c6",
    ),
    tool("bash", ToolPending(raw='{"command": "ls'), "prt_c7"),
    ran("bash", "\n".join(f"line {n}" for n in range(3_000)), "prt_c8", command="seq 3000"),
    RetryPart(
        id="p2",
        **IDS,
        attempt=2,
        error=ApiError(message="The provider is overloaded (529)", status=529, retryable=True),
        time=Span(start=T0, end=T0 + 4_000),
    ),
    FilePart(id="p3", **IDS, mime="image/png", filename="plot.png", url="data:image/png;base64,AA"),
    PatchPart(id="p4", **IDS, hash="abc", files=("data/a.csv", "b.py")),
    AgentPart(id="p5", **IDS, name="reviewer"),
    SubtaskPart(id="p6", **IDS, prompt="p", description="look at the tests", agent="explore"),
    NotebookPart(
        id="p9",
        **IDS,
        text='<notebook>\n<cell number="4" id="a" status="error">\n</cell>\n</notebook>',
        cells=(
            NotedCell(serial=3, number=3),
            NotedCell(serial=4, number=4, status="error"),
        ),
        edits=(
            NotedEdit(cell_id="b", number=2, serial=2, mark="0a1b"),
            NotedEdit(cell_id="c", state="deleted"),
        ),
        hidden=1,
        tokens=1_240,
    ),
    CompactionPart(id="p7", **IDS, auto=True),
    text(
        "The **Chinstraps** are odd: $\\mu < 50$ and a *bimodal* shape.\n\n"
        "| species | mean |\n|---|---:|\n| Adelie | 38.8 |\n| Chinstrap | 48.8 |\n\n"
        "1. Use `penguins[penguins.species == 'Chinstrap']`\n2. Then:\n\n"
        "```python\nif a < b and List<int>:\n    pass\n```\n\n"
        "See [the data](data/README.md) and [the web](https://example.org/?a=1&b=2)."
    ),
    StepFinishPart(
        id="p8",
        **IDS,
        reason="stop",
        cost=0.0123,
        tokens=Usage(input=1_460, cache_read=11_020, output=300, reasoning=11),
        seconds=4.1,
        context_tokens=46_000,
        window=200_000,
    ),
    StepFinishPart(id="p9", **IDS, reason="length", tokens=Usage(input=12, output=5)),
)

ASKS = (
    Ask(
        id="per_1",
        permission="bash",
        patterns=("rm x",),
        title="run rm x",
        input={},
        call_id="call_prt_c5",
    ),
    Ask(
        id="per_2",
        permission="python",
        patterns=("*",),
        title="run Python",
        input={},
        call_id="call_prt_c1",
    ),
    Ask(
        id="per_3",
        permission="write",
        patterns=("data/penguins_clean.csv",),
        title="write data/penguins_clean.csv (new file, 15.2 kB)",
        input={},
        call_id="call_prt_c6",
    ),
)
REPLIES = (
    ("per_1", Reply(answer="reject", feedback="not there")),
    ("per_2", Reply(answer="once")),
)
DECISIONS = (
    Decision(
        id="dec_1",
        action="truncate",
        rule="truncate",
        part_id="prt_c8",
        tokens_before=12_000,
        tokens_after=2_400,
    ),
)


def user(words: str) -> Message:
    info = UserMessage(
        id="msg_1",
        session_id="ses_1",
        time=MessageTime(created=T0),
        agent="build",
        model=ModelRef(provider="rehearsal", name="rehearsal"),
    )
    return Message(info=info, parts=(text(words),))


def assistant(*parts: Part, error: ContextOverflowError | ApiError | None = None) -> Message:
    info = AssistantMessage(
        id="msg_2",
        session_id="ses_1",
        parent_id="msg_1",
        time=MessageTime(created=T0),
        agent="build",
        model=ModelRef(provider="rehearsal", name="rehearsal"),
        path=MessagePath(cwd="/p", root="/p"),
        error=error,
    )
    return Message(info=info, parts=parts)


def everywhere(payload: str) -> tuple[Part, ...]:
    """The payload in every field that a model, a tool or a file can write."""
    span = Span(start=T0, end=T0 + 5)
    state = ToolCompleted(
        input={"path": payload, payload: payload},
        output=payload,
        title=payload,
        metadata={"diff": payload},
        time=span,
    )
    return (
        ReasoningPart(id="r", **IDS, text=payload, time=span),
        text(payload),
        tool(payload, state),
        ran("python", payload, "prt_d", code=payload),
        failed("bash", payload),
        FilePart(id="f", **IDS, mime=payload, filename=payload, url=payload),
        NotebookPart(
            id="n",
            **IDS,
            text=payload,
            cells=(NotedCell(serial=1, number=1, cell_id=payload),),
            edits=(NotedEdit(cell_id=payload, mark=payload),),
        ),
        PatchPart(id="h", **IDS, hash=payload, files=(payload,)),
        text(f"after {payload}"),
    )
