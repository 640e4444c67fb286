"""%agent and %%agent in a real kernel: they send prompts as typed and leave no variables behind."""

import pytest
from tests.harness.kernel import Kernel

PROMPT = "harness.model.requests[-1].messages[-1]['content']"
pytestmark = pytest.mark.slow


def asked(kernel: Kernel) -> str:
    """Return the newest prompt's text, as it was sent to the model."""
    return kernel.value(
        f"[p['text'] for p in {PROMPT}] if isinstance({PROMPT}, list) else {PROMPT}"
    )


def test_answers_in_the_cell(kernel: Kernel) -> None:
    kernel.script("says('Hello **there**.')")

    run = kernel.run("%%agent\nhi")

    assert run.status == "ok"
    assert "Hello **there**." in run.markdown()
    assert run.stream() == run.stream("stderr") == ""


@pytest.mark.parametrize(
    "prompt",
    [
        "use {x} and {{y}} and $HOME and $x",
        "what is this?",
        "100% sure \\n \\t 'q' \"d\"",
        "%timeit !ls",
    ],
)
def test_a_prompt_reaches_the_model_as_typed(kernel: Kernel, prompt: str) -> None:
    kernel.script("says('ok')", "says('ok')")
    kernel.run("x = 1")

    assert kernel.run(f"%%agent\n{prompt}").status == "ok"
    assert kernel.value(f"{prompt!r} in str({asked(kernel)})") == "True"
    assert kernel.run(f"%agent {prompt}").status == "ok"
    assert kernel.value(f"{prompt!r} in str({asked(kernel)})") == "True"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%agent --modle x hi", "Did you mean '--model'?"),
        ("%%agent --max-steps many\nhi", "a whole number of at least 1"),
        ("%%agent\n", "the cell body is empty"),
        ("%%agent -y\n\n", "There is no prompt"),
        ("%agent use nothing-like-it", "no session 'nothing-like-it'"),
        ("%%agent --tools pyton\nhi", "pyton"),
        ("%%agent --agent nobody\nhi", "nobody"),
    ],
)
def test_wrong_input_gets_one_line_and_no_traceback(kernel: Kernel, cell: str, words: str) -> None:
    kernel.script()

    run = kernel.run(cell)

    assert run.status == "error"
    assert words in run.stream("stderr")
    assert len(run.stream("stderr").strip().splitlines()) == 1
    assert run.of("error") == []
    assert run.outputs() == []


def test_what_could_not_be_sent_is_said_in_the_cell(kernel: Kernel) -> None:
    kernel.script()
    kernel.run("from tests.harness import kernel_session")
    kernel.run("small = kernel_session.INFO.model_copy(update={'window': 8_000})")
    kernel.run("was = harness.services.models.info")
    kernel.run("object.__setattr__(harness.services.models, 'info', lambda name, variant: small)")

    run = kernel.run("%%agent\nhi")

    kernel.run("object.__setattr__(harness.services.models, 'info', was)")
    assert "has a context window of 8,000 tokens" in run.markdown()
    assert "Ask again" not in run.markdown()
    assert kernel.value("harness.model.requests") == "[]"


def test_what_breaks_inside_is_said_in_the_cell(kernel: Kernel) -> None:
    kernel.script("says('Never.')")

    kernel.run("was = harness.services.models.count")
    kernel.run("object.__setattr__(harness.services.models, 'count', lambda name: None)")

    run = kernel.run("%%agent\nhi", stdin=True)

    kernel.run("object.__setattr__(harness.services.models, 'count', was)")
    assert "Palimpsest itself failed" in run.markdown()
    assert run.of("error") == []


def test_the_answer_is_a_value(kernel: Kernel) -> None:
    kernel.script("says('Forty-two.')")

    run = kernel.run("answer = %agent how many?")

    assert "Forty-two." in run.markdown()
    assert (
        kernel.value("(str(answer), answer.text, answer.steps)")
        == "('Forty-two.', 'Forty-two.', 1)"
    )
    assert kernel.value("[p.type for p in answer.parts]") == "['step-start', 'text', 'step-finish']"
    assert kernel.value("answer.usage.output > 0 and answer.session.startswith('ses_')") == "True"
    assert kernel.value("answer.error is None and answer.turn.startswith('msg_')") == "True"
    assert kernel.run("answer").outputs()[0]["data"]["text/plain"] == "Forty-two."


def test_a_cell_of_its_own_leaves_no_trace(kernel: Kernel) -> None:
    kernel.run("'before'")
    names, last, out = "sorted(get_ipython().user_ns)", "repr(_)", "repr(Out)"
    before = [kernel.value(expression) for expression in (names, last, out)]
    count = int(kernel.value("get_ipython().execution_count"))
    kernel.script(
        "calls('python', code='mine = [1]\\nmine\\n').calls('python', code='1/0').says('')",
        "says('done')",
    )

    run = kernel.run("%%agent -y\nhi")

    assert run.of("error") == run.of("execute_result") == []
    assert [kernel.value(expression) for expression in (last, out)] == before[1:]
    assert kernel.value(f"[n for n in {names} if n not in {before[0]}]") == f"['_i{count}', 'mine']"
    assert kernel.value("mine") == "[1]"
    assert int(kernel.value("get_ipython().execution_count")) == count + 1
    assert "hi" in kernel.value("In[-1]")
    kernel.run("del mine")


def test_the_prompt_number_of_the_cell_stays(kernel: Kernel) -> None:
    kernel.script("calls('python', code='1+1\\n').says('')", "says('done')")

    run = kernel.run("%%agent -y\nhi")

    sent = run.of("execute_input")[0]["execution_count"]
    assert run.reply["content"]["execution_count"] == sent
    assert len(run.of("execute_input")) == 1


@pytest.mark.parametrize(
    ("cell", "count"),
    [
        ("%%time\n%agent hi", 1),
        ("for i in range(2):\n    %agent hi {i}", 2),
        ("def f():\n    return get_ipython().run_line_magic('agent', 'hi')\nanswer = f()", 1),
        ("x = [str(get_ipython().run_line_magic('agent', 'hi')) for _ in range(2)]", 2),
        ("%agent hi\n%agent hi", 2),
        ("import asyncio\nawait asyncio.sleep(0)\nif True:\n    %agent hi", 1),
    ],
)
def test_works_wherever_a_magic_works(kernel: Kernel, cell: str, count: int) -> None:
    kernel.script(*["says('So it is.')"] * count)

    run = kernel.run(cell)

    assert run.status == "ok", run.reply["content"]
    assert run.markdown().count("So it is.") == count
    assert kernel.value("len(harness.model.requests)") == str(count)


def test_works_with_autoawait_off(kernel: Kernel) -> None:
    kernel.script("calls('python', code='await x').says('')", "says('So it is.')")
    kernel.run("%autoawait False")
    try:
        run = kernel.run("answer = %agent -y hi")
    finally:
        kernel.run("%autoawait True")

    assert "So it is." in run.markdown()
    assert "top-level 'await' is not possible" in run.markdown()


def test_under_capture_nothing_is_shown_until_it_is_asked_for(kernel: Kernel) -> None:
    kernel.script("calls('python', code='1/0').says('')", "says('So it is.')")

    run = kernel.run("%%capture caught\n%agent -y hi")
    shown = kernel.run("caught.show()")

    assert run.outputs() == []
    assert "So it is." in shown.markdown()


def test_the_blocking_form_refuses_top_level_await_clearly(kernel: Kernel) -> None:
    kernel.script(
        "calls('python', code='import asyncio\\nawait asyncio.sleep(0)').says('')", "says('')"
    )

    run = kernel.run("%%time\n%agent -y hi")

    assert "top-level 'await' is not possible in this call" in run.markdown()


def test_the_awaited_form_runs_top_level_await(kernel: Kernel) -> None:
    code = "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')"
    kernel.script(f"calls('python', code={code!r}).says('')", "says('')")

    run = kernel.run("%%agent -y\nhi")

    assert "awaited" in run.markdown()
    assert "error" not in run.markdown()


def test_the_agent_cannot_ask_itself(kernel: Kernel) -> None:
    kernel.script("calls('python', code='%agent hi').says('')", "says('I see.')")

    run = kernel.run("%%agent -y\nhi")

    assert "cannot ask the agent" in run.markdown()
    assert "I see." in run.markdown()


def test_quiet_shows_the_final_text_alone(kernel: Kernel) -> None:
    kernel.script("says('Let me see.').calls('python', code='1')", "says('It is one.')")

    run = kernel.run("%%agent -q -y\nhi")

    assert run.markdown() == "It is one."


def test_help_is_shown_for_the_magic_with_a_question_mark(kernel: Kernel) -> None:
    for cell in ("%agent?", "%%agent?"):
        payload = kernel.run(cell).reply["content"]["payload"]
        assert "--max-steps" in payload[0]["data"]["text/plain"]
    assert "--max-steps" in kernel.run("%agent help").stream()
    assert "--max-steps" in kernel.run("%agent").stream()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("%%agent --m", {"--model", "--max-steps"}),
        ("%agent st", {"status", "stop"}),
        ("%agent --variant ", {"low", "medium", "high"}),
    ],
)
def test_completes_options_and_subcommands(kernel: Kernel, code: str, words: set[str]) -> None:
    completions = kernel.complete(code)

    assert words <= set(completions)


def test_completes_session_ids(kernel: Kernel) -> None:
    kernel.script("says('ok')")
    kernel.run("answer = %agent hi")
    session = kernel.value("answer.session").strip("'")

    assert session in kernel.complete("%agent use ")
    assert session in kernel.complete("%%agent -s ses")


def test_sessions_are_listed_switched_and_begun(kernel: Kernel) -> None:
    kernel.script("says('one')", "says('two')", "says('three')")
    kernel.run("first = %agent hi")

    kernel.run("second = %agent --new hi")
    listed = kernel.run("%agent sessions")
    kernel.run("get_ipython().run_line_magic('agent', f'use {first.session}')")
    kernel.run("third = %agent hi")

    assert kernel.value("first.session != second.session") == "True"
    assert kernel.value("first.session == third.session") == "True"
    for name in ("first", "second"):
        assert kernel.value(f"{name}.session").strip("'") in listed.markdown()


def test_status_says_what_runs(kernel: Kernel) -> None:
    story = kernel.run("%agent status").markdown()

    assert "idle" in story
    assert "test/scripted" in story


def test_loading_twice_and_unloading_are_harmless(kernel: Kernel) -> None:
    kernel.run(
        "from palimpsest import load_ipython_extension as load_again, unload_ipython_extension"
    )
    before = kernel.value("len(get_ipython().input_transformers_post)")

    assert kernel.run("load_again(get_ipython())").status == "ok"

    assert kernel.value("len(get_ipython().input_transformers_post)") == before


def test_a_failed_model_is_told_with_what_to_do_and_is_no_exception(kernel: Kernel) -> None:
    kernel.script("fails(401, 'bad key')")

    run = kernel.run("answer = %agent hi", stdin=True)

    assert run.status == "ok"
    assert "Set the environment variable TEST_API_KEY" in run.markdown()
    assert kernel.value("answer.error.type") == "'auth'"
