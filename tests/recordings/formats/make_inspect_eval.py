"""Writes samples/inspect_*.eval with the real writer, inspect-ai 0.3.285 (Python 3.11); not run by the tests.

A mocked model answers an agent with a tool; the second log's history is compacted by a summary, the
third's by clearing tool results. Its usage is scripted, too. The program packs with Zstandard, which Python
cannot unpack: one log is kept as it was written, all are packed again by the common method.
"""

import shutil
import tempfile
import zipfile
from pathlib import Path

import inspect_ai
import tiktoken
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    CompactionEdit,
    CompactionSummary,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import includes
from inspect_ai.tool import Tool, tool


class FourCharacters:
    """Counts a token for four characters, since the tokenizer's table has to be fetched."""

    def encode(self, text: str, **_: object) -> list[int]:
        return [0] * (len(text) // 4)


tiktoken.get_encoding = lambda _: FourCharacters()
TARGET = Path(__file__).parent / "samples"


@tool
def read() -> Tool:
    async def execute(name: str) -> str:
        """Read a file.

        Args:
            name: Its name.
        """
        return f"{name}: " + "some words of it " * 120

    return execute


def counted(output: ModelOutput, number: int) -> ModelOutput:
    output.usage = ModelUsage(
        input_tokens=100 + number,
        input_tokens_cache_read=1_000 * number,
        input_tokens_cache_write=200,
        output_tokens=30,
        reasoning_tokens=5,
        total_tokens=330 + 1_001 * number,
    )
    return output


def outputs(names: str, *, summary: bool) -> list[ModelOutput]:
    made = [
        counted(
            ModelOutput.for_tool_call(
                "mockllm/model", "read", {"name": name}, content=f"I read {name}."
            ),
            number,
        )
        for number, name in enumerate(names)
    ]
    if summary:
        made.append(
            counted(ModelOutput.from_content("mockllm/model", "Files a to c were read."), 7)
        )
    done = ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "yes"})
    return [*made, counted(done, 9)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, names, compaction in (
            ("plain", "ab", None),
            ("summary", "abc", CompactionSummary(threshold=2_600, memory=False)),
            ("edit", "abcdef", CompactionEdit(threshold=2_600, keep_tool_uses=1, memory=False)),
        ):
            task = inspect_ai.Task(
                name=name,
                dataset=[Sample(id="first", input="Is it in the files?", target="yes")],
                solver=react(prompt="You read files.", tools=[read()], compaction=compaction),
                scorer=includes(),
                message_limit=40,
            )
            model = get_model(
                "mockllm/model",
                custom_outputs=outputs(names, summary=name == "summary"),
                memoize=False,
            )
            log = inspect_ai.eval(
                task, model=model, log_dir=folder, display="none", log_model_api=False
            )[0]
            print(name, log.status, log.error.message if log.error else "")  # noqa: T201
            written = log.location.removeprefix("file://")
            if name == "plain":
                shutil.copy(written, TARGET / "inspect_zstandard.eval")
            with (
                zipfile.ZipFile(written) as source,
                zipfile.ZipFile(TARGET / f"inspect_{name}.eval", "w", zipfile.ZIP_DEFLATED) as made,
            ):
                for member in source.namelist():
                    made.writestr(member, source.read(member))


if __name__ == "__main__":
    main()
