"""What the model sees, what is taken back, and what there is in the project: by command, by Python and by a page."""

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
def hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    folder = tmp_path_factory.mktemp("notebooks")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    servers = '[mcp.gone]\ncommand = "no-such-program"\n'
    with Kernel(cwd=folder, env={"PALIMPSEST_CONFIG_CONTENT": servers}) as kernel:
        yield ThreeInterfaces(kernel)


def said(hands: ThreeInterfaces) -> str:
    """Begin a session in which one thing was said; returns the id of the answer."""
    hands.begin("says('It is a walrus.')", "says('As I said.')")
    hands.says("What is it?")
    identifier: str = hands.look("now().messages[1].id")
    return identifier


def chosen(hands: ThreeInterfaces, way: str, action: str, name: str) -> None:
    match way:
        case "command":
            hands.says(f"{action} {name}")
        case "Python":
            hands.cell(f"now().{action}({name!r})")
        case _:
            hands.sends(type="context-edit", action=action, target=name)


def next_request(hands: ThreeInterfaces) -> str:
    hands.says("And now?")
    sent: str = hands.look("str(room.model.requests[-1].messages)")
    return sent


@each_way
def test_a_message_is_left_out_of_every_request(hands: ThreeInterfaces, way: str) -> None:
    name = said(hands)

    chosen(hands, way, "exclude", name)

    assert hands.told("decision")["decision"]["rule"] == "user/exclude"
    assert "walrus" not in next_request(hands)
    assert "walrus" in hands.look("str(now().messages[1])")


@each_way
def test_what_was_left_out_comes_back(hands: ThreeInterfaces, way: str) -> None:
    name = said(hands)
    hands.sends(type="context-edit", action="exclude", target=name)

    chosen(hands, way, "restore", name)

    assert "walrus" in next_request(hands)


@each_way
def test_a_message_is_kept_in_every_request_until_it_is_let_go(
    hands: ThreeInterfaces, way: str
) -> None:
    more = ("says('As I said. ' * 400)", f"says('{SUMMARY}')", "says('One.')", "says('Two.')")
    hands.begin("says('It is a walrus.')", *more)
    hands.says("What is it?")
    name = hands.look("now().messages[1].id")
    hands.says("Sure?")

    chosen(hands, way, "pin", name)
    hands.sends(type="compact")
    kept = next_request(hands)
    chosen(hands, way, "unpin", name)

    assert "It is a walrus." in kept
    assert "walrus" not in next_request(hands)


@each_way
def test_a_compaction_is_undone(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('It is a walrus. ' * 400)", f"says('{SUMMARY}')", "says('As I said.')")
    hands.says("What is it?")
    hands.sends(type="compact")

    match way:
        case "command":
            hands.says("restore summary")
        case "Python":
            hands.cell("now().undo_compaction()")
        case _:
            hands.sends(type="context-edit", action="undo")

    assert "walrus" in next_request(hands)


@each_way
def test_a_prompt_is_taken_back_with_its_file_and_comes_again(
    hands: ThreeInterfaces, way: str
) -> None:
    name = f"new-{way}.txt"
    hands.begin(WRITES.format(name=name), "says('Written.')")
    hands.says("Write it.")
    file = hands.folder / name

    match way:
        case "command":
            assert "Would revert 3 messages" in hands.says("revert --preview")
            assert file.exists()
            hands.says("revert")
        case "Python":
            assert hands.look("len(now().preview().messages)") == 3
            assert file.exists()
            hands.cell("now().revert()")
        case _:
            looked = hands.sends(type="revert", action="preview")["revert"]
            assert (len(looked["messages"]), looked["done"], file.exists()) == (3, False, True)
            assert hands.sends(type="revert", action="revert")["revert"]["done"] is True
    gone = not file.exists()
    standing = hands.look("now().snapshot.session.revert['message_id'] == now().messages[0].id")
    match way:
        case "command":
            assert "are here again" in hands.says("unrevert")
        case "Python":
            hands.cell("now().unrevert()")
        case _:
            hands.sends(type="revert", action="unrevert")

    assert (gone, standing) == (True, True)
    assert file.read_text() == "one\ntwo\n"
    assert hands.look("now().snapshot.session.revert") is None


@each_way
def test_what_is_taken_back_is_removed_for_good(hands: ThreeInterfaces, way: str) -> None:
    said(hands)
    first, second = hands.look("[m.id for m in now().messages]")
    hands.sends(type="revert", action="revert", target=first)

    match way:
        case "command":
            assert "Removed 2 messages" in hands.says("cleanup")
        case "Python":
            hands.cell("gone = now().cleanup()")
            assert hands.look("gone") == 2
        case _:
            hands.sends(type="revert", action="cleanup")

    assert hands.told("message.removed", message_id=first)
    assert hands.told("message.removed", message_id=second)
    assert hands.look("len(now().messages)") == 0


@each_way
def test_settings_are_listed_with_where_they_come_from(hands: ThreeInterfaces, way: str) -> None:
    match way:
        case "command":
            words = hands.says("config")
            (row,) = [line for line in words.splitlines() if "`max_steps`" in line]
            assert "| 40 |" in row.replace("`40`", "40")
            assert "palimpsest.toml" in row
            assert "Waits until you trust this project" in words
        case "Python":
            rows = hands.look("[r for r in palimpsest.config().rows() if r[0] == 'max_steps']")
            ((_, value, origin),) = rows
            assert (value, "palimpsest.toml" in origin) == ("40", True)
        case _:
            found = hands.sends(type="config")
            row = {one["key"]: one for one in found["settings"]}["max_steps"]
            assert (row["value"], "palimpsest.toml" in row["origin"]) == ("40", True)


@each_way
def test_models_are_listed(hands: ThreeInterfaces, way: str) -> None:
    match way:
        case "command":
            assert "| `scripted/model` | 200,000 |" in hands.says("models")
        case "Python":
            rows = hands.look("palimpsest.models()")
            assert ("scripted/model", "200,000") in [row[:2] for row in rows]
        case _:
            rows = hands.sends(type="choices")["choices"]["models"]
            assert ("scripted/model", "200,000") in [(one["id"], one["window"]) for one in rows]


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
    hands: ThreeInterfaces, way: str, what: str, name: str, words: str
) -> None:
    match way:
        case "command":
            listed = hands.says(what)
            assert name in listed
            assert words in listed
        case "Python":
            rows = hands.look(f"[(one.name, one.description) for one in palimpsest.{what}()]")
            assert (name, words) in rows
        case _:
            rows = hands.sends(type="choices")["choices"][what]
            assert {"name": name, "description": words} in rows


@each_way
def test_mcp_servers_are_tried_again_and_listed(hands: ThreeInterfaces, way: str) -> None:
    def found() -> tuple[str, bool]:
        match way:
            case "command":
                (row,) = [line for line in hands.says("mcp").splitlines() if "`gone`" in line]
                return "failed" if "failed" in row else "", NO_PROGRAM in row
            case "Python":
                ((state, problem),) = hands.look("[(s.state, s.problem) for s in now().servers]")
                return state, NO_PROGRAM in problem
            case _:
                (told,) = hands.sends(type="extensions")["servers"]
                return told["state"], NO_PROGRAM in told.get("problem", "")

    match way:
        case "command":
            hands.says("mcp connect")
        case "Python":
            hands.cell("now().connect_servers()")
        case _:
            hands.sends(type="extensions", connect=True)

    eventually(lambda: found() == ("failed", True))


@each_way
def test_hooks_are_listed_with_what_they_did(hands: ThreeInterfaces, way: str) -> None:
    hands.cell(
        "@palimpsest.hook('prompt')\ndef look(event):\n    return None\n", store_history=False
    )
    hands.begin("says('Hi.')")
    hands.says("Hello.")

    match way:
        case "command":
            assert "look" in hands.says("hooks")
        case "Python":
            assert hands.look("[(h.name, h.failures, h.calls > 0) for h in now().hooks]") == [
                ("prompt", 0, True)
            ]
        case _:
            (row,) = hands.sends(type="extensions")["hooks"]
            assert (row["name"], row["failures"], row["calls"] > 0) == ("prompt", 0, True)
    hands.cell("palimpsest.unhook(look)")


@each_way
def test_another_policy_holds_from_the_next_request_on(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('Hi.')")

    match way:
        case "command":
            hands.says("policy opencode-1.18 prune.protect_tokens=9000")
        case "Python":
            hands.cell("now().use_policy('opencode-1.18', 'prune.protect_tokens=9000')")
        case _:
            hands.sends(type="policy", words=["opencode-1.18", "prune.protect_tokens=9000"])

    assert hands.look("(now().policy.name, now().policy.prune.protect_tokens)") == (
        "opencode-1.18",
        9000,
    )
    hands.says("Hello.")
    hands.told("step.requested")
    chosen = hands.look("now().snapshot.session.policy_choice.model_dump()")
    assert "opencode-1.18" in str(chosen)


@each_way
def test_a_mode_holds_from_the_next_call_on(hands: ThreeInterfaces, way: str) -> None:
    name = f"plan-{way}.txt"
    hands.begin(WRITES.format(name=name), "says('I may not.')")

    match way:
        case "command":
            hands.says("mode plan")
        case "Python":
            hands.cell("now().control.use_mode('plan')")
        case _:
            hands.sends(type="mode", mode="plan")

    assert hands.look("now().control.mode") == "plan"
    hands.says("--yes Write it.")
    assert not (hands.folder / name).exists()


@each_way
def test_a_spending_limit_is_set(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('Hi.')")

    match way:
        case "command":
            hands.says("budget 2usd 500k tokens")
        case "Python":
            hands.cell("now().control.set_budget(usd=2, tokens=500_000)")
        case _:
            hands.sends(type="budget", usd=2, tokens=500_000)

    budget = hands.told("session.updated")["session"]["budget"]
    assert (budget["usd"], budget["tokens"]) == (2.0, 500_000)


@each_way
def test_what_fills_the_window_is_shown(hands: ThreeInterfaces, way: str) -> None:
    said(hands)

    match way:
        case "command":
            words = hands.says("context")
        case "Python":
            words = hands.look("now().context().text")
            used, whole = hands.look(
                "(lambda w: (w.used + w.free + w.reserve, w.window))(now().context())"
            )
            assert used == whole == 200_000
        case _:
            words = hands.sends(type="context")["bundle"]["text/plain"]
    assert "It is a walrus." in words
    assert "200,000" in words


@each_way
def test_what_the_folder_takes_is_weighed_and_old_sessions_go(
    hands: ThreeInterfaces, way: str
) -> None:
    said(hands)
    used = hands.look("now().id")

    match way:
        case "command":
            assert "| `sessions` |" in hands.says("storage")
            assert "in use" in hands.says("storage prune --days 0")
        case "Python":
            assert hands.look("palimpsest.storage().sizes.total") > 0
            spared = hands.look("[(s.ids[-1], s.stays) for s in palimpsest.prune(0).plan.spared]")
            assert (used, "in use") in spared
        case _:
            report = hands.sends(type="storage", days=0)["storage"]
            assert report["total"] >= report["logs"] > 0
            assert (used, "in use") in [(one["id"], one["why"]) for one in report["spared"]]


@each_way
def test_a_project_is_trusted_and_distrusted(hands: ThreeInterfaces, way: str) -> None:
    waits = "[h.words for h in palimpsest.config().held]"
    before = hands.look(waits)

    match way:
        case "command":
            hands.says("config trust")
        case "Python":
            hands.cell("palimpsest.trust()")
        case _:
            hands.sends(type="trust", trusted=True)
    trusted = hands.look(waits)
    match way:
        case "command":
            hands.says("config distrust")
        case "Python":
            hands.cell("palimpsest.distrust()")
        case _:
            hands.sends(type="trust", trusted=False)

    assert before
    assert (trusted, hands.look(waits)) == ([], before)


@each_way
def test_what_is_always_allowed_is_listed_and_revoked(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("calls('python', code='1 + 1')", "says('Two.')")
    hands.posts(type="prompt", text="Add.")
    ask = hands.told("permission.asked")["ask"]["id"]
    hands.sends(type="reply", ask_id=ask, answer="always")
    hands.told("message.updated")

    match way:
        case "command":
            assert "python" in hands.says("permissions")
            hands.says("permissions revoke 1")
        case "Python":
            found = hands.look("[(a.number, a.rule.permission) for a in now().control.allowances]")
            assert found == [(1, "python")]
            hands.cell("now().control.revoke(1)")
        case _:
            (row,) = hands.sends(type="approvals")["approvals"]
            assert (row["number"], row["permission"]) == (1, "python")
            assert "approvals" in hands.sends(type="approvals", revoke=[1])

    assert hands.look("now().control.allowances") == ()
