"""Any damaged byte in the files of settings, trust and approvals is reported, and allows nothing more."""

import json
from pathlib import Path

import pytest
from tests.sample_size import sample_size, seeds
from tests.store.byte_damage import damaged
from tests.store.test_irregular_files import PUTS, Put, replaced

from palimpsest.app.loaded_config import load, trust_project
from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.session.permissions.effective_rules import Approvals
from palimpsest.session.permissions.grants import Grants, grants_file
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Rule

SEEDS = seeds(60, 20_000)
GIT = Rule(permission="bash", pattern="git status *", action="allow")
SETTINGS = """\
model = "rehearsal/small"
max_steps = 12
[permission]
bash = { "*" = "ask", "rm *" = "deny" }
[budget]
usd = 1.5
[compaction]
tail_turns = 3
"""
AS_JSON = json.dumps(
    {"model": "rehearsal/small", "permission": {"bash": "ask"}, "budget": {"usd": 1.5}}
)


@pytest.fixture
def places(tmp_path: Path) -> ConfigFolders:
    return ConfigFolders((tmp_path / "etc",), (tmp_path / "xdg",), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".palimpsest").mkdir()
    return folder


def approvals(project: Path, state: Path) -> Approvals:
    """Return the approvals as a kernel that opens the project reads them."""
    number = ProjectNumber(project / ".palimpsest")
    return Approvals(Grants(project, number, folder=state / "grants", author="ada"))


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
def test_any_byte_of_the_grants_may_be_wrong(project: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    approvals(project, state).add((GIT,), "ses_1")
    path = grants_file(state / "grants", project.resolve())
    content = path.read_bytes()
    for seed in SEEDS:
        problem, wrong = damaged(seed, content)
        path.write_bytes(wrong)
        try:
            opened = approvals(project, state)
            rules = opened.rules()
            assert len(rules) <= 1
            opened.list()
            opened.add((GIT,), "ses_2")
            assert GIT in approvals(project, state).rules()
        except Exception as error:
            raise AssertionError(f"seed {seed}, {problem}: {error!r}"[:400]) from error
        for other in path.parent.glob("*.broken-*"):
            other.unlink()


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
@pytest.mark.parametrize(
    ("name", "content"), [("palimpsest.toml", SETTINGS), ("palimpsest.json", AS_JSON)]
)
def test_any_byte_of_the_settings_may_be_wrong(
    project: Path, places: ConfigFolders, name: str, content: str
) -> None:
    places.user[-1].mkdir()
    for seed in SEEDS:
        said, wrong = damaged(seed, content.encode())
        (project / name).write_bytes(wrong)
        try:
            config = load(project, {}, folders=places)
            config.rules("permission", config.value.permission)
            assert all(len(problem) < 2_000 for problem in config.problems), config.problems
        except UserError as sentence:
            raise AssertionError(f"seed {seed}, {said}: {sentence}"[:400]) from sentence
        except Exception as error:
            raise AssertionError(f"seed {seed}, {said}: {error!r}"[:400]) from error


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
def test_any_byte_of_what_is_trusted_may_be_wrong(project: Path, places: ConfigFolders) -> None:
    (project / "palimpsest.toml").write_text('model = "openai/gpt-5"\n')
    trust_project(project, {}, places)
    assert places.trust_folder is not None
    (path,) = places.trust_folder.glob("*.json")
    content = path.read_bytes()
    for seed in SEEDS:
        problem, wrong = damaged(seed, content)
        path.write_bytes(wrong)
        try:
            load(project, {}, folders=places)
        except Exception as error:
            raise AssertionError(f"seed {seed}, {problem}: {error!r}"[:400]) from error
        trust_project(project, {}, places)
        assert load(project, {}, folders=places).untrusted_settings == ()


@pytest.mark.parametrize("put", PUTS)
def test_settings_and_grants_that_are_no_files_stop_nobody(
    project: Path, places: ConfigFolders, tmp_path: Path, put: Put
) -> None:
    state = tmp_path / "state"
    approvals(project, state).add((GIT,), "ses_1")
    replaced(grants_file(state / "grants", project.resolve()), put)
    replaced(project / "palimpsest.toml", put)
    replaced(project / ".palimpsest" / "permissions.json", put)

    opened = approvals(project, state)
    assert opened.rules() == ()
    load(project, {}, folders=places)
    opened.add((GIT,), "ses_2")
    assert opened.rules() == (GIT,)
