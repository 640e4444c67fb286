"""Settings of an administrator or an organisation restrict what users may change, or set it for good."""

import http.server
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.loaded_config import LoadedConfig, load
from palimpsest.session.config import remote_defaults
from palimpsest.session.config.setting_files import ConfigFolders


@pytest.fixture
def places(tmp_path: Path) -> ConfigFolders:
    admin = (tmp_path / "system", tmp_path / "env")
    return ConfigFolders(
        (tmp_path / "org",), (tmp_path / "user",), tmp_path, admin=admin, cache=tmp_path / "cache"
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def loaded(places: ConfigFolders, tmp_path: Path) -> LoadedConfig:
    (tmp_path / "project").mkdir(exist_ok=True)
    return load(tmp_path / "project", {}, folders=places)


def test_what_is_locked_in_a_kernel_s_configuration_cannot_be_changed(
    places: ConfigFolders, tmp_path: Path
) -> None:
    write(
        tmp_path / "system/ipython_kernel_config.py",
        "c = get_config()\n"
        "c.Palimpsest.locked = {'share': 'disabled', 'mode': 'plan', 'permission': {'bash': 'deny'}}\n"
        "c.Palimpsest.defaults = {'max_steps': 7, 'titles': False}\n",
    )
    write(
        tmp_path / "user/config.toml",
        "share = 'auto'\nmode = 'bypass'\nmax_steps = 9\n[permission]\nbash = 'allow'\n"
        "[agent.build.permission]\nbash = 'allow'",
    )

    config = loaded(places, tmp_path)

    assert (config.value.share, config.value.mode) == ("disabled", "plan")
    assert config.value.permission == ({"bash": "deny"},)
    assert config.value.agent["build"].permission == ()
    assert (config.value.max_steps, config.value.titles) == (9, False)
    rows = {key: origin for key, _value, origin in config.rows()}
    administrator = f"administrator's file {tmp_path}/system/ipython_kernel_config.py"
    assert rows["mode"] == f"{administrator}, fixed"
    assert rows["titles"] == administrator
    assert (
        len([problem for problem in config.problems if "is fixed by the administrator" in problem])
        == 4
    )


def test_the_system_locks_before_an_environment_can(places: ConfigFolders, tmp_path: Path) -> None:
    write(tmp_path / "env/jupyter_config.json", '{"Palimpsest": {"locked": {"mode": "bypass"}}}')
    write(tmp_path / "system/jupyter_config.json", '{"Palimpsest": {"locked": {"mode": "ask"}}}')

    assert loaded(places, tmp_path).value.mode == "ask"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1/0", "was not read: ZeroDivisionError"),
        ("c.Palimpsest.locked = 3", "must be tables of settings"),
        ("c.Palimpsest.lock = {}", "there is no c.Palimpsest.lock"),
        ("c.Palimpsest.locked = {'mdoe': 1}", "did you mean 'mode'"),
    ],
)
def test_a_wrong_file_of_an_administrator_is_said(
    places: ConfigFolders, tmp_path: Path, text: str, words: str
) -> None:
    write(tmp_path / "system/ipython_config.py", f"c = get_config()\n{text}\n")

    (problem,) = loaded(places, tmp_path).problems
    assert words in problem


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the settings that the test's server holds."""

    def do_GET(self) -> None:
        self.server.go_on.wait(LAST_RESORT_SECONDS)  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write(self.server.text.encode())  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.text, made.status = 'model = "x/y"\nmax_steps = 3', 200  # type: ignore[attr-defined]
    made.go_on = threading.Event()  # type: ignore[attr-defined]
    made.go_on.set()  # type: ignore[attr-defined]
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.go_on.set()  # type: ignore[attr-defined]
    made.shutdown()
    made.server_close()


def point(tmp_path: Path, server: http.server.ThreadingHTTPServer, more: str = "") -> str:
    url = f"http://127.0.0.1:{server.server_address[1]}/defaults.toml"
    write(tmp_path / "org/config.toml", f'url = "{url}"\n{more}')
    return url


def test_defaults_come_from_an_address_and_the_file_that_names_it_wins(
    places: ConfigFolders, tmp_path: Path, server: http.server.ThreadingHTTPServer
) -> None:
    url = point(tmp_path, server, "max_steps = 5")

    config = loaded(places, tmp_path)

    assert (config.value.model, config.value.max_steps) == ("x/y", 5)
    assert config.origins["model"] == f"organisation's {url}"
    assert config.problems == ()


def test_what_was_fetched_serves_when_the_server_is_gone(
    places: ConfigFolders,
    tmp_path: Path,
    server: http.server.ThreadingHTTPServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point(tmp_path, server)
    loaded(places, tmp_path)
    server.text = 'model = "a/b"'  # type: ignore[attr-defined]
    assert loaded(places, tmp_path).value.model == "x/y"  # from the cache

    monkeypatch.setattr(remote_defaults, "MAX_CACHE_AGE_SECONDS", -1.0)
    assert loaded(places, tmp_path).value.model == "a/b"
    server.status = 500  # type: ignore[attr-defined]
    config = loaded(places, tmp_path)

    assert config.value.model == "a/b"
    assert "what was fetched before holds" in config.problems[0]


def test_a_server_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, server: http.server.ThreadingHTTPServer
) -> None:
    server.go_on.clear()  # type: ignore[attr-defined]

    fetched = remote_defaults.fetch_text(point(tmp_path, server), tmp_path / "cache", seconds=0.1)

    assert fetched.text is None
    assert "no answer in 0.1 seconds" in fetched.problem


def test_an_address_that_leads_on_to_one_that_others_could_change_is_refused(
    tmp_path: Path,
) -> None:
    class Leads(Handler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "http://example.invalid/defaults.toml")
            self.end_headers()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Leads) as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        fetched = remote_defaults.fetch_text(point(tmp_path, made), tmp_path / "cache")
        made.shutdown()

    assert fetched.text is None
    assert "leads on to 'http://example.invalid/defaults.toml'" in fetched.problem


@pytest.mark.parametrize("url", ["http://example.org/a", "file:///etc/passwd", "ftp://x/y", "x"])
def test_an_address_that_others_could_change_is_refused(url: str) -> None:
    assert "https://" in remote_defaults.fetch_text(url, None).problem


def test_an_address_with_https_leads_to_no_other_kind() -> None:
    request = urllib.request.Request("https://example.invalid/defaults.toml")
    follow = remote_defaults._Redirects().redirect_request

    with pytest.raises(ValueError, match="does not begin with https"):
        follow(request, None, 302, "Found", {}, "http://127.0.0.1:8888/api")

    assert follow(request, None, 302, "Found", {}, "https://example.invalid/new") is not None


def test_only_an_organisation_s_file_names_an_address(
    places: ConfigFolders, tmp_path: Path
) -> None:
    write(tmp_path / "user/config.toml", 'url = "https://example.org/x"')

    assert "there is no setting 'url'" in loaded(places, tmp_path).problems[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("c.Palimpsest.locked = {5: 1}", "there is no setting '5'"),
        ("c.Palimpsest.locked = {'permission': {'bash': 7}}", "permission.bash should be 'allow'"),
        ("c.Palimpsest.locked = {'subagent_depth': -1}", "subagent_depth should be greater than"),
        ("import sys; sys.exit(3)", "was not read: SystemExit: 3."),
        ("1 / 0", "was not read: ZeroDivisionError"),
    ],
)
def test_what_is_wrong_in_an_administrator_s_file_is_said(
    places: ConfigFolders, tmp_path: Path, text: str, words: str
) -> None:
    write(tmp_path / "system/ipython_kernel_config.py", f"c = get_config()\n{text}\n")

    config = loaded(places, tmp_path)

    (problem,) = config.problems
    assert words in problem
    assert config.value.share == "manual"
