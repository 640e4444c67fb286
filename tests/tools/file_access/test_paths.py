"""Paths are resolved, links included, before they are checked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.tools import ToolHarness
from tests.sample_size import thinned

from palimpsest.session.definitions.agents import BUILT_IN, rules_within
from palimpsest.tools.file_access.paths import (
    ResolvedPath,
    is_protected,
    protection_of,
    resolve_path,
)
from palimpsest.tools.permission_rules.modes import MODE_APPROVALS
from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    Denied,
    MustAsk,
    decide_call,
    from_config,
    last_matching_rule,
)
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.errors import NotFound, PermissionDenied, UserError
from palimpsest.transcript.strings.relative_paths import comparable_path
from palimpsest.transcript.values import Reply, Rule


def test_a_link_out_of_the_project_is_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "project"
    root.mkdir()
    (root / "door").symlink_to(outside)

    place = resolve_path("door/secret.txt", root, root)

    assert not place.is_inside
    assert place.path == outside / "secret.txt"
    assert place.folder_pattern == f"{outside}/*"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "~/x", "~root/x"])
def test_roads_out_of_the_project_are_seen(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()

    assert not resolve_path(path, root, root).is_inside


def test_a_project_reached_through_a_link_is_still_itself(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)

    place = resolve_path("a.txt", tmp_path / "link", tmp_path / "link")

    assert place.is_inside
    assert place.display_path == "a.txt"


def test_a_name_that_begins_like_the_project_is_not_inside_it(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()

    assert not resolve_path("../project-two/a", root, root).is_inside


@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b"])
def test_what_is_no_path_is_refused_in_words(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError, match="is not a path"):
        resolve_path(path, tmp_path, tmp_path)


async def test_reading_outside_asks_for_the_folder(harness: ToolHarness, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("42\n")

    outcome = await harness.call("read", path="../data.txt")

    assert outcome.output == "1: 42"
    assert [(a.permission, a.patterns) for a in harness.user.asked] == [
        ("external_directory", (f"{tmp_path}/*",))
    ]


async def test_a_refused_folder_is_not_read(harness: ToolHarness, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("42\n")
    harness.user.reply = Reply(answer="reject")

    with pytest.raises(PermissionDenied):
        await harness.call("read", path="../data.txt")


async def test_reading_inside_asks_nothing(harness: ToolHarness) -> None:
    harness.write("a.txt", "hello\n")

    await harness.call("read", path="a.txt")

    assert harness.user.asked == []


async def test_a_file_of_keys_asks(harness: ToolHarness) -> None:
    harness.write(".env", "A=1\n")

    await harness.call("read", path=".env")

    assert [(a.permission, a.patterns) for a in harness.user.asked] == [("read", (".env",))]


@pytest.mark.parametrize("path", [".palimpsest/layout", "a/../.palimpsest/x"])
async def test_the_record_of_the_session_cannot_be_written(harness: ToolHarness, path: str) -> None:
    with pytest.raises(UserError, match="record of this session"):
        await harness.call("write", path=path, content="x")

    assert harness.user.asked == []


async def test_a_missing_file_comes_with_close_names(harness: ToolHarness) -> None:
    harness.write("Penguins.csv", "a\n")

    with pytest.raises(NotFound, match=r"'Penguins\.csv'"):
        await harness.call("read", path="penguin.csv")


@pytest.mark.parametrize("tool", ["read", "list", "write", "edit", "grep"])
@pytest.mark.parametrize("path", ["x" * 5_000, "a/" * 3_000])
async def test_a_path_that_no_disk_takes_gets_one_short_sentence(
    harness: ToolHarness, tool: str, path: str
) -> None:
    more = {"write": {"content": ""}, "edit": {"old": "a", "new": "b"}, "grep": {"pattern": "x"}}

    with pytest.raises(UserError, match="cannot be followed: File name too long") as problem:
        await harness.call(tool, path=path, **more.get(tool, {}))

    assert len(str(problem.value)) < 300


def words(text: str) -> list[str]:
    return text.split()


KEYS = words("""
.env .ENV app/.Env.local prod.env .env~ .env.bak #.env# .env.swp .#.env .env.old .env.save .env.~1~ .env.orig
.env_backup ._.env .env.bak.1 .envrc .ENV::$DATA .env. .env:x
.ssh/id_rsa id_ed25519 backup/id_ed25519_sk .id_rsa.swp .ssh/config deploy.pem tls/server.key SERVER.KEY
cert.p12 cert.pfx site.jks my.keystore vault.kdbx
.aws/credentials .aws/config .aws/sso/cache/x.json /home/ada/.AWS/Credentials
.config/gcloud/application_default_credentials.json credentials.json Credentials.JSON my-credentials.json
credentials.yml client_secret_123.apps.json service-account.json service_account_key.json x-firebase-adminsdk-1.json
.kube/config kubeconfig .docker/config.json .dockercfg .azure/accessTokens.json
.netrc _netrc .npmrc .pypirc .git-credentials .pgpass .my.cnf .htpasswd pip.conf auth.json .databrickscfg
terraform.tfstate prod.tfstate terraform.tfstate.backup prod.tfvars .terraformrc credentials.tfrc.json
.streamlit/secrets.toml secrets.yaml secrets.json group_vars/all/vault.yml .vault_pass.txt config/master.key
.vault-token .huggingface/token /home/ada/.cache/huggingface/token .kaggle/kaggle.json rclone.conf
/home/ada/.local/share/jupyter/runtime/kernel-1.json kernel-0fd1c2aa-1b2c-4d3e-8f90-0123456789ab.json
jpserver-12.json jupyter_cookie_secret .jupyter/jupyter_server_config.json .ipython/profile_x/security/a.json
/home/ada/.local/share/keyrings/login.keyring .gnupg/private-keys-v1.d/x.key .password-store/bank.gpg
.bash_history .python_history .Renviron .m2/settings.xml .gem/credentials .cargo/credentials.toml
/proc/self/environ /proc/1234/environ /run/secrets/db /etc/shadow wp-config.php .claude/.credentials.json
""")

CONTROLS = words("""
palimpsest.toml PALIMPSEST.json sub/palimpsest.jsonc .palimpsest/agents/a.md .Palimpsest/layout .palimpsest./x
.git/hooks/post-checkout .GIT/config .git .git\u200c/config GIT~1/config sub/.git/hooks/pre-commit .gitmodules
.github/workflows/ci.yml .gitlab-ci.yml Jenkinsfile .circleci/config.yml .vscode/tasks.json .idea/x.xml
.devcontainer/devcontainer.json AGENTS.md agents.md sub/CLAUDE.md .claude/agents/x.md .agents/skills/y/SKILL.md
.opencode/command/z.md .cursor/mcp.json .mcp.json .bashrc .zshenv .profile sitecustomize.py x.pth conftest.py
tests/conftest.py setup.py pyproject.toml package.json Makefile GNUmakefile .pre-commit-config.yaml .husky/pre-push
.jupyter/jupyter_server_config.py .ipython/profile_default/startup/00.py ipython_config.py kernel.json
.venv/lib/python3.12/site-packages/numpy/__init__.py /home/ada/.ssh/authorized_keys.d
/home/ada/.local/state/palimpsest/trusted.json /srv/state/palimpsest/grants/0a1b.json
""")

PLAIN = words("""
src/a.py data/penguins.csv README.md .env.example app/.env.sample id_rsa.pub known_hosts notebook.ipynb
environment.yml keys.py keyboard.key.md tokens.csv credentials.go secrets.md monkey.py credential_store/a.py
.gitignore docs/agents.txt gitignore/x git.md environ package-lock.json token_counts.csv historical.csv
""")


@pytest.mark.parametrize("path", KEYS)
def test_a_file_of_keys_is_known_under_any_name_it_goes_by(path: str) -> None:
    assert protection_of(path) == "key"
    assert protection_of(f"/home/ada/project/{path.lstrip('/')}") == "key"


@pytest.mark.parametrize("path", CONTROLS)
def test_a_file_that_says_what_runs_is_known(path: str) -> None:
    assert is_protected("write", path)
    assert is_protected("edit", f"/home/ada/project/{path.lstrip('/')}")


@pytest.mark.parametrize("path", PLAIN)
def test_other_files_are_not_protected(path: str) -> None:
    assert protection_of(path) is None


def test_reading_a_control_file_is_reading() -> None:
    assert decide_call("read", ["pyproject.toml"], DEFAULT_RULES) == Allowed()
    assert decide_call("read", ["AGENTS.md"], DEFAULT_RULES) == Allowed()


@pytest.mark.parametrize("path", thinned(KEYS, 3))
def test_reading_a_file_of_keys_asks(path: str) -> None:
    assert decide_call("read", [path], DEFAULT_RULES) == MustAsk((path,))


ALWAYS = tuple(Rule(permission=p, pattern="*", action="allow") for p in ("read", "edit", "write"))


@pytest.mark.parametrize("path", thinned([*KEYS, *CONTROLS], 3))
def test_no_always_no_accepted_edits_and_no_rule_for_a_folder_covers_them(path: str) -> None:
    exact = (Rule(permission="edit", pattern=path, action="allow"),)
    folder = from_config({"edit": {"*": "allow"}, "write": {"*/*": "allow"}}, home="/h")

    for permission in ("edit", "write"):
        asked = MustAsk((path,))
        assert (
            decide_call(permission, [path], DEFAULT_RULES, MODE_APPROVALS["accept-edits"]) == asked
        )
        assert decide_call(permission, [path], DEFAULT_RULES, ALWAYS) == asked
        assert decide_call(permission, [path], DEFAULT_RULES, exact) == asked
        assert decide_call(permission, [path], (*DEFAULT_RULES, *folder)) == asked
        assert decide_call(permission, [path], DEFAULT_RULES, MODE_APPROVALS["bypass"]) == Allowed()


def test_a_rule_that_names_them_counts() -> None:
    config = {"edit": {".github/*": "allow"}, "read": {"*.env": "allow"}, "write": "allow"}
    rules = (*DEFAULT_RULES, *from_config(config, home="/h"))

    assert decide_call("edit", [".github/workflows/ci.yml"], rules) == Allowed()
    assert decide_call("read", ["app/.env"], rules) == Allowed()
    assert decide_call("write", ["app/.env"], rules) == MustAsk(("app/.env",))
    assert decide_call("read", ["x.pem"], rules) == MustAsk(("x.pem",))


@pytest.mark.parametrize(
    ("pattern", "counts"),
    [
        (".env", True), (".env*", True), ("*.env", True), ("**/.env.test", True), ("app/.env", True),
        ("*", False), ("**", False), ("*/*", False), ("app/*", False), ("secrets/*", False),
        ("*env", False), (".*", False), ("?env", False), ("app/**", False),
    ],
)  # fmt: skip
def test_a_pattern_means_them_by_their_name(pattern: str, counts: bool) -> None:  # noqa: FBT001
    path = {"**/.env.test": "app/.env.test", "secrets/*": "secrets/.env"}.get(pattern, "app/.env")
    path = path if "/" in pattern or pattern.startswith("*") else ".env"
    rules = (*DEFAULT_RULES, *from_config({"read": {pattern: "allow"}}, home="/h"))

    assert (decide_call("read", [path], rules) == Allowed()) is counts


def test_everything_allowed_is_everything_but_what_is_said_behind_it() -> None:
    everything = from_config("allow", home="/h")
    asking = from_config({"*": "allow", "edit": "ask"}, home="/h")

    assert decide_call("write", [".env"], (*DEFAULT_RULES, *everything)) == Allowed()
    assert decide_call("edit", [".env"], (*DEFAULT_RULES, *asking)) == MustAsk((".env",))


@pytest.mark.parametrize("path", [".ENV", "sub/.Env", ".env."])
def test_a_deny_holds_in_any_spelling(path: str) -> None:
    rules = (*DEFAULT_RULES, *from_config({"read": {"*.env": "deny"}}, home="/h"))

    verdict = decide_call("read", [path], rules, MODE_APPROVALS["bypass"])

    assert isinstance(verdict, Denied)


def test_an_agents_list_of_files_allows_no_keys() -> None:
    allowing = [Rule(permission="read", pattern=p, action="allow") for p in ("*", ".env", "*.pem")]
    explore = BUILT_IN["explore"].rules

    for rules in (rules_within(allowing, DEFAULT_RULES), explore):
        assert decide_call("read", [".env"], (*DEFAULT_RULES, *rules)) == MustAsk((".env",))
    assert last_matching_rule("read", ".env", DEFAULT_RULES).action == "ask"


@given(st.text(max_size=20))
def test_names_are_compared_as_disks_compare_them(name: str) -> None:
    assert comparable_path(comparable_path(name)) == comparable_path(name)
    assert protection_of(name) == protection_of(comparable_path(name))


@pytest.mark.parametrize("folder", [".git ", ".git.", ".GIT. ", ".git::$INDEX_ALLOCATION"])
@pytest.mark.parametrize("sign", ["/", "\\"])
def test_what_a_disk_drops_at_the_end_of_a_folders_name_protects_no_less(
    folder: str, sign: str
) -> None:
    assert comparable_path(f"{folder}{sign}config") == ".git/config"
    assert protection_of(f"{folder}{sign}config") == protection_of(".git/config") is not None


@pytest.mark.parametrize("name", [".ENV", "credentials.json", "tls.key", ".env~", "x.tfstate"])
async def test_tools_read_no_keys_unasked(harness: ToolHarness, name: str) -> None:
    harness.write(name, "CANARY=1\n")
    harness.write("a.txt", "CANARY of a\n")
    (harness.root / "link.txt").symlink_to(harness.root / name)

    for path in (name, "link.txt"):
        await harness.call("read", path=path)
        await harness.call("grep", pattern="CANARY", path=path)
    found = await harness.call("grep", pattern="CANARY")

    assert [(a.permission, a.patterns, a.always) for a in harness.user.asked] == [
        ("read", (name,), ())
    ] * 4
    assert found.output == "a.txt\n  1: CANARY of a"


async def test_always_for_a_file_is_for_that_file(harness: ToolHarness) -> None:
    harness.write("a.txt", "one\n")
    (harness.root / "link.txt").symlink_to(harness.root / "a.txt")

    await harness.call("write", path="sub/../new.txt", content="x\n")
    await harness.call("edit", path="link.txt", old="one", new="two")
    await harness.call("write", path="*", content="x\n")
    await harness.call("write", path=".git/hooks/post-checkout", content="x\n")

    assert [(a.patterns, a.always) for a in harness.user.asked] == [
        (("new.txt",), ("new.txt",)),
        (("a.txt",), ("a.txt",)),
        (("*",), ()),
        ((".git/hooks/post-checkout",), ()),
    ]


@pytest.mark.parametrize(
    ("path", "asked", "always"),
    [
        ("/x.txt", "/x.txt", ["/x.txt"]),
        ("/etc/hosts", "/etc/hosts", ["/etc/hosts"]),
        ("/srv/data/a.csv", "/srv/data/*", ["/srv/data/*"]),
        ("/srv/*/a.csv", "/srv/*/*", []),
        ("/", "/*", []),
        ("~/a.csv", "~/a.csv", ["~/a.csv"]),
    ],
)
def test_a_folder_that_holds_everything_is_not_allowed_for_one_file(
    path: str, asked: str, always: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/srv/people/ada")
    place = ResolvedPath(Path(path).expanduser(), path, is_inside=False)

    home = [text.replace("~", "/srv/people/ada") for text in (asked, *always)]
    assert place.folder_pattern == home[0]
    assert place.always_folder_patterns == home[1:]


@pytest.mark.parametrize("path", [".Palimpsest/layout", ".PALIMPSEST/x", ".palimpsest./x"])
async def test_our_own_folder_is_known_where_case_does_not_matter(
    harness: ToolHarness, path: str
) -> None:
    with pytest.raises(Exception, match="record of this session"):
        await harness.call("write", path=path, content="x")
