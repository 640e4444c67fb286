"""Execute notebooks/00-start.ipynb in a real kernel, without a browser, and write the results into build/.

The agent's permission questions are answered over the kernel's stdin channel with "once"; each question and
answer is printed. It writes the executed notebook, the notebook as an HTML page, and the session as an HTML
page rendered from the log without a kernel. The rehearsal model (an offline model without a key) answers,
whatever API keys the environment holds.
"""

import asyncio
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from palimpsest.session.sharing.share_page import page_html
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
NAME = "00-start"
STYLE = """
.jp-RenderedMarkdown.jp-OutputArea-output { border-left: 2px solid #5b49b4; padding: 4px 0 4px 16px; }
.jp-RenderedMarkdown.jp-OutputArea-output pre { font-family: var(--jp-code-font-family);
  font-size: 12px; line-height: 1.4; background: #f7f7f8; padding: 6px 10px; margin: 6px 0;
  word-break: normal; }
.jp-RenderedMarkdown.jp-OutputArea-output pre code { background: none; }
.jp-RenderedMarkdown.jp-OutputArea-output blockquote { margin: 4px 0; color: #63636b; }
"""
"""CSS that nbconvert lacks: a monospace font for code in Markdown outputs, and our thin rule at the left."""
ANSWER = "1"
"""The choice "allow once"."""


class Demo(NotebookClient):
    """A notebook client that answers the kernel's questions on stdin."""

    asked: int = 0

    async def async_start_new_kernel_client(self) -> Any:
        """Start the client and a task beside it that listens for questions."""
        client = await super().async_start_new_kernel_client()
        client.allow_stdin = True
        self._listening = asyncio.ensure_future(self._answer(client))
        return client

    async def _answer(self, client: Any) -> None:
        while True:
            message = await client.get_stdin_msg()
            if message["msg_type"] == "input_request":
                self.asked += 1
                print(f"{message['content']['prompt'].rstrip()} {ANSWER}\n", flush=True)
                client.input(ANSWER)


def run(folder: Path) -> tuple[nbformat.NotebookNode, int]:
    """Execute the notebook in ``folder``; return it and the number of questions answered."""
    notebook = nbformat.read(folder / f"{NAME}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    client = Demo(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook, client.asked


def page(notebook: nbformat.NotebookNode) -> str:
    """Return the notebook as an HTML page without scripts, so that it can be read offline."""
    exporter = HTMLExporter(template_name="lab", exclude_input_prompt=False)
    body, _ = exporter.from_notebook_node(notebook)
    body = re.sub(r"<script\b.*?</script>", "", body, flags=re.DOTALL | re.IGNORECASE)
    return body.replace("</head>", f"<style>{STYLE}</style></head>", 1)


def session_page(folder: Path) -> tuple[str, list[str]]:
    """Return the notebook's session as an HTML page, rendered from its log, and its errors."""
    store = JsonlStore(open_project_folder(folder))
    (summary,) = store.list()
    state = store.load(summary.id)
    infos = [message.info for message in state.messages() if message.info.role == "assistant"]
    errors = [info.error.message for info in infos if info.error]
    return "".join(page_html(store, summary.id, os.environ)), errors


def copy_notebooks(folder: Path) -> None:
    """Copy the notebooks and their data to a folder that is a project of its own."""
    ignored = shutil.ignore_patterns(".palimpsest", "notes.md", ".ipynb*")
    shutil.copytree(ROOT / "notebooks", folder, ignore=ignored)
    (folder / ".palimpsest").mkdir(mode=0o700)  # so that no parent folder is found as the project


def rehearse() -> None:
    """Make kernels started from this process use the rehearsal model, whatever API keys there are."""
    os.environ["PALIMPSEST_CONFIG_CONTENT"] = json.dumps({"model": "rehearsal/rehearsal"})


def main() -> None:
    """Execute the notebook, check the result, and write the pages."""
    began = time.monotonic()
    folder = BUILD / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    copy_notebooks(folder)
    rehearse()
    notebook, asked = run(folder)
    nbformat.validate(notebook)  # type: ignore[no-untyped-call]
    nbformat.write(notebook, BUILD / f"{NAME}.ipynb")  # type: ignore[no-untyped-call]
    (BUILD / f"{NAME}.html").write_text(page(notebook), encoding="utf-8")
    session, errors = session_page(folder)
    (BUILD / f"{NAME}-session.html").write_text(session, encoding="utf-8")
    print(f"{asked} questions answered, {time.monotonic() - began:.1f} s. Written:")
    for suffix in (".ipynb", ".html", "-session.html"):
        print(f"  build/{NAME}{suffix}")
    if errors:
        sys.exit(f"A turn ended in an error: {errors[0][:300]}")


if __name__ == "__main__":
    main()
