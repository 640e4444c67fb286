"""Context, reverts and project data by subcommand, by Python and by a page's command."""

from collections.abc import Iterator

import pytest
from tests.frontends.three_interfaces import WAYS, ThreeInterfaces
from tests.harness.kernel import Kernel
from tests.waiting import eventually

pytestmark = pytest.mark.slow
each_way = pytest.mark.parametrize("way", WAYS)

NO_PROGRAM = "there is no program 'no-such-program'"
SUMMARY = (
    "## Goal\\n- know the penguins\\n\\n## Numbers and facts\\n- mean 43.92\\n" + "- none\\n" * 30
)
WRITES = "calls('write', path='{name}', content='one\\ntwo\\n')"
FILES = {
    "palimpsest.toml": 'system = "Say where a number comes from."\nmax_steps = 40\n',
    ".palimpsest/agents/teacher.md": "---\ndescription: Explains each step.\n---\nYou teach.\n",
    ".palimpsest/commands/tidy.md": "---\ndescription: Tidies a file.\n---\nTidy $1.\n",
    ".palimpsest/skills/plots/SKILL.md": "---\nname: plots\ndescription: How we plot.\n---\nIn grey.\n",
}


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    folder = tmp_path_factory.mktemp("notebooks")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    servers = '[mcp.gone]\ncommand = "no-such-program"\n'
    with Kernel(cwd=folder, env={"PALIMPSEST_CONFIG_CONTENT": servers}) as kernel:
        yield ThreeInterfaces(kernel)


def said(interfaces: ThreeInterfaces) -> str:
    """Begin a session with one answered prompt; return the id of the answer."""
    interfaces.begin("says('It is a walrus.')", "says('As I said.')")
    interfaces.says("What is it?")
    identifier: str = interfaces.look("now().messages[1].id")
    return identifier


def next_request(interfaces: ThreeInterfaces) -> str:
    interfaces.says("And now?")
    sent: str = interfaces.look("str(harness.model.requests[-1].messages)")
    return sent


def test_what_was_left_out_comes_back(interfaces: ThreeInterfaces) -> None:
    name = said(interfaces)
    interfaces.sends(type="context-edit", action="exclude", target=name)

    interfaces.sends(type="context-edit", action="restore", target=name)

    assert "walrus" in next_request(interfaces)


@pytest.mark.parametrize("edit", [{"action": "undo"}, {"action": "restore", "target": "summary"}])
def test_a_compaction_is_undone(interfaces: ThreeInterfaces, edit: dict[str, str]) -> None:
    interfaces.begin(
        "says('It is a walrus. ' * 400).in_pieces(4_000)",
        f"says('{SUMMARY}')",
        "says('As I said.')",
    )
    interfaces.says("What is it?")
    interfaces.sends(type="compact")

    interfaces.sends(type="context-edit", **edit)

    assert "walrus" in next_request(interfaces)


def test_a_prompt_is_taken_back_with_its_file_and_comes_again(interfaces: ThreeInterfaces) -> None:
    name = "new-protocol.txt"
    interfaces.begin(WRITES.format(name=name), "says('Written.')")
    interfaces.says("Write it.")
    file = interfaces.folder / name

    looked = interfaces.sends(type="revert", action="preview")["revert"]
    assert (len(looked["messages"]), looked["done"], file.exists()) == (3, False, True)
    assert interfaces.sends(type="revert", action="revert")["revert"]["done"] is True
    gone = not file.exists()
    standing = interfaces.look(
        "now().snapshot.session.revert['message_id'] == now().messages[0].id"
    )
    interfaces.sends(type="revert", action="unrevert")

    assert (gone, standing) == (True, True)
    assert file.read_text() == "one\ntwo\n"
    assert interfaces.look("now().snapshot.session.revert") is None


def test_what_is_taken_back_is_removed_for_good(interfaces: ThreeInterfaces) -> None:
    said(interfaces)
    first, second = interfaces.look("[m.id for m in now().messages]")
    interfaces.sends(type="revert", action="revert", target=first)

    interfaces.sends(type="revert", action="cleanup")

    assert interfaces.told("message.removed", message_id=first)
    assert interfaces.told("message.removed", message_id=second)
    assert interfaces.look("len(now().messages)") == 0


def test_settings_are_listed_with_where_they_come_from(interfaces: ThreeInterfaces) -> None:
    reply = interfaces.sends(type="config")
    row = {setting["key"]: setting for setting in reply["settings"]}["max_steps"]
    assert (row["value"], "palimpsest.toml" in row["origin"]) == ("40", True)


@each_way
def test_models_are_listed(interfaces: ThreeInterfaces, way: str) -> None:
    match way:
        case "command":
            assert "| `scripted/model` | 200,000 |" in interfaces.says("models")
        case "Python":
            rows = interfaces.look("palimpsest.models()")
            assert ("scripted/model", "200,000") in [row[:2] for row in rows]
        case _:
            rows = interfaces.sends(type="choices")["models"]
            assert ("scripted/model", "200,000") in [
                (summary["id"], summary["window"]) for summary in rows
            ]


@each_way
@pytest.mark.parametrize(
    ("what", "name", "words"),
    [
        ("agents", "teacher", "Explains each step."),
        ("commands", "tidy", "Tidies a file."),
        ("skills", "plots", "How we plot."),
    ],
)
def test_what_a_prompt_can_name_is_listed(
    interfaces: ThreeInterfaces, way: str, what: str, name: str, words: str
) -> None:
    match way:
        case "command":
            listed = interfaces.says(what)
            assert name in listed
            assert words in listed
        case "Python":
            rows = interfaces.look(f"[(one.name, one.description) for one in palimpsest.{what}()]")
            assert (name, words) in rows
        case _:
            rows = interfaces.sends(type="choices")[what]
            assert {"name": name, "description": words} in rows


def test_mcp_servers_are_tried_again_and_listed(interfaces: ThreeInterfaces) -> None:
    def found() -> tuple[str, bool]:
        (told,) = interfaces.sends(type="extensions")["servers"]
        return told["state"], NO_PROGRAM in told.get("problem", "")

    interfaces.sends(type="extensions", connect=True)

    eventually(lambda: found() == ("failed", True))


def test_hooks_are_listed_with_what_they_did(interfaces: ThreeInterfaces) -> None:
    interfaces.cell(
        "@palimpsest.hook('prompt')\ndef look(event):\n    return None\n", store_history=False
    )
    interfaces.begin("says('Hi.')")
    interfaces.says("Hello.")

    (row,) = interfaces.sends(type="extensions")["hooks"]
    assert (row["name"], row["failures"], row["calls"] > 0) == ("prompt", 0, True)
    interfaces.cell("palimpsest.unhook(look)")


def test_another_policy_holds_from_the_next_request_on(interfaces: ThreeInterfaces) -> None:
    interfaces.begin("says('Hi.')")

    interfaces.sends(type="policy", words=["opencode-1.18", "prune.protect_tokens=9000"])

    assert interfaces.look("(now().policy.name, now().policy.prune.protect_tokens)") == (
        "opencode-1.18",
        9000,
    )
    interfaces.says("Hello.")
    interfaces.told("step.requested")
    chosen = interfaces.look("now().snapshot.session.policy_choice.model_dump()")
    assert "opencode-1.18" in str(chosen)


@each_way
def test_a_mode_holds_from_the_next_call_on(interfaces: ThreeInterfaces, way: str) -> None:
    name = f"plan-{way}.txt"
    interfaces.begin(WRITES.format(name=name), "says('I may not.')")

    match way:
        case "command":
            interfaces.says("mode plan")
        case "Python":
            interfaces.cell("now().control.use_mode('plan')")
        case _:
            interfaces.sends(type="mode", mode="plan")

    assert interfaces.look("now().control.mode") == "plan"
    interfaces.says("--yes Write it.")
    assert not (interfaces.folder / name).exists()


@each_way
def test_a_spending_limit_is_set(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin("says('Hi.')")

    match way:
        case "command":
            interfaces.says("budget 2usd 500k tokens")
        case "Python":
            interfaces.cell("now().control.set_budget(usd=2, tokens=500_000)")
        case _:
            interfaces.sends(type="budget", usd=2, tokens=500_000)

    budget = interfaces.told("session.updated")["session"]["budget"]
    assert (budget["usd"], budget["tokens"]) == (2.0, 500_000)


@each_way
def test_what_fills_the_window_is_shown(interfaces: ThreeInterfaces, way: str) -> None:
    said(interfaces)

    match way:
        case "command":
            words = interfaces.says("context")
        case "Python":
            words = interfaces.look("now().context().text")
            used, whole = interfaces.look(
                "(lambda w: (w.used_tokens + w.free_tokens + w.reserve, w.window))(now().context())"
            )
            assert used == whole == 200_000
        case _:
            words = interfaces.sends(type="context")["bundle"]["text/plain"]
    assert "It is a walrus." in words
    assert "200,000" in words


def test_what_the_folder_takes_is_weighed_and_old_sessions_go(interfaces: ThreeInterfaces) -> None:
    said(interfaces)
    used = interfaces.look("now().id")

    report = interfaces.sends(type="storage", days=0)
    assert report["total"] >= report["logs"] > 0
    assert (used, "in use") in [(session["id"], session["why"]) for session in report["spared"]]


@each_way
def test_a_project_is_trusted_and_distrusted(interfaces: ThreeInterfaces, way: str) -> None:
    waits = "[h.words for h in palimpsest.config().untrusted_settings]"
    before = interfaces.look(waits)

    match way:
        case "command":
            interfaces.says("config trust")
        case "Python":
            interfaces.cell("palimpsest.trust()")
        case _:
            interfaces.sends(type="trust", trusted=True)
    trusted = interfaces.look(waits)
    match way:
        case "command":
            interfaces.says("config distrust")
        case "Python":
            interfaces.cell("palimpsest.distrust()")
        case _:
            interfaces.sends(type="trust", trusted=False)

    assert before
    assert (trusted, interfaces.look(waits)) == ([], before)


@each_way
def test_what_is_always_allowed_is_listed_and_revoked(
    interfaces: ThreeInterfaces, way: str
) -> None:
    interfaces.begin("calls('python', code='1 + 1')", "says('Two.')")
    interfaces.posts(type="prompt", text="Add.")
    ask = interfaces.told("permission.asked")["ask"]["id"]
    interfaces.sends(type="reply", ask_id=ask, answer="always")
    interfaces.told("message.updated")

    match way:
        case "command":
            assert "python" in interfaces.says("permissions")
            interfaces.says("permissions revoke 1")
        case "Python":
            value = interfaces.look(
                "[(a.number, a.rule.permission) for a in now().control.allowances]"
            )
            assert value == [(1, "python")]
            interfaces.cell("now().control.revoke(1)")
        case _:
            (row,) = interfaces.sends(type="approvals")["approvals"]
            assert (row["number"], row["permission"]) == (1, "python")
            assert "approvals" in interfaces.sends(type="approvals", revoke=[1])

    assert interfaces.look("now().control.allowances") == ()
