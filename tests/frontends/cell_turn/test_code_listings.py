"""The Python listings of an answer can be put into cells."""

import pytest
from tests.harness.kernel import Kernel
from tests.harness.notebook_page import NotebookPage

from palimpsest.frontends.cell_turn.agent_answer import python_listings

ANSWER = "First:\n\n```python\nx = 1\n```\n\nThen:\n\n~~~\ny = x + 1\n\ny\n~~~\n\n```bash\nls\n```\n\n```py\n```"


@pytest.mark.parametrize(
    ("markdown", "found"),
    [
        (ANSWER, ("x = 1", "y = x + 1\n\ny")),
        ("no code, `x = 1`\n\n    indented = 1", ()),
        ("- in a list:\n\n  ```ipython3\n  z = 2\n  ```", ("z = 2",)),
        ("```python title=x\na\n```\n```\nnever closed", ("a", "never closed")),
    ],
)
def test_fences_that_name_python_or_nothing_are_listings(
    markdown: str, found: tuple[str, ...]
) -> None:
    assert python_listings(markdown) == found


@pytest.mark.slow
class TestInAKernel:
    """In a kernel, with a client that behaves like a page."""

    def test_without_a_page_one_cell_holds_all(self, kernel: Kernel) -> None:
        kernel.script(f"says({ANSWER!r})")
        kernel.run("answer = %agent --new Write it.")

        run = kernel.run("answer.to_cells()")

        assert run.reply["content"]["payload"] == [
            {"source": "set_next_input", "text": "x = 1\n\ny = x + 1\n\ny", "replace": False}
        ]

    def test_the_page_that_shows_the_cell_inserts_a_cell_for_each(self, kernel: Kernel) -> None:
        kernel.script(f"says({ANSWER!r})", "says('No code.')")
        kernel.run("answer = %agent --new Write it.\nother = %agent Again.")
        with NotebookPage(kernel, "b.ipynb") as elsewhere, NotebookPage(kernel) as page:
            elsewhere.shows("z = 1")
            page.shows(**{"cell-7": "answer.to_cells()", "last": "end"})
            run = kernel.run("answer.to_cells(), other.to_cells()", cellId="cell-7")

            assert [cell["source"] for cell in page.cells] == [
                "answer.to_cells()",
                "x = 1",
                "y = x + 1\n\ny",
                "end",
            ]
            assert elsewhere.changed == []
        assert run.reply["content"]["payload"] == []
        assert "((" in run.markdown()
        assert ", ())" in run.markdown()
