"""A configured model server that is down is named in the error; the rehearsal model never answers for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.model.model_list_server import listing_server

from palimpsest.app.wiring import SERVER_ROW_NAME, App
from palimpsest.frontends.operations.definitions import choices_of
from palimpsest.model.catalog import local_servers
from palimpsest.public.session_object import Session, open_session
from palimpsest.testing import FaultServer, says
from palimpsest.transcript.errors import ConfigError

GONE = "http://127.0.0.1:9"


@contextmanager
def opened(tmp_path: Path, environment: dict[str, str], **settings: Any) -> Iterator[App]:
    places = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    app = App(
        start=tmp_path,
        environment={**places, **environment},
        overrides={"titles": False, **settings},
    )
    try:
        yield app
    finally:
        app.close()


@pytest.fixture(autouse=True)
def no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_servers, "DEFAULT_BASE", GONE)


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"OLLAMA_HOST": GONE}, f"The Ollama server at {GONE}, which OLLAMA_HOST names, does not answer."),
        ({"OPENAI_BASE_URL": f"{GONE}/v1"}, f"The server at {GONE}/v1, which OPENAI_BASE_URL names, does not answer."),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_server_of_the_environment_is_named_before_anything_is_journaled(
    environment: dict[str, str], told: str, tmp_path: Path
) -> None:
    with opened(tmp_path, environment) as app:
        session = open_session(app)
        with pytest.raises(ConfigError) as caught:
            session.prompt("What is 2+2?")
        listed = [because for name, _, because in app.models() if name == SERVER_ROW_NAME]
        choices = choices_of(app)

        assert str(caught.value).startswith(told)
        assert "or choose another model with --model." in str(caught.value)
        assert session.snapshot.messages == ()
        assert listed == [str(caught.value)]
        assert SERVER_ROW_NAME not in app.completion_values("model")
        assert choices.model == ""
        assert [model.id for model in choices.models] == ["rehearsal/rehearsal"]


@pytest.mark.slow
def test_a_server_of_the_settings_answers_when_nobody_chose_a_model(tmp_path: Path) -> None:
    with FaultServer(says("Four.")) as server:
        placed = {"own/mine": {"api_base": server.openai_base}}
        with opened(tmp_path, {}, models=placed) as app:
            answer = open_session(app).prompt("What is 2+2?")

    assert answer.text == "Four."


@pytest.mark.slow
def test_only_where_nothing_is_configured_the_rehearsal_answers(tmp_path: Path) -> None:
    with opened(tmp_path, {"PALIMPSEST_REHEARSAL_DELAY": "0"}) as app:
        session: Session = open_session(app)
        answer = session.prompt("What is 2+2?")

    assert answer.text.startswith("*No language model is configured")


@pytest.mark.slow
def test_a_named_server_that_is_started_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.app.wiring.MIN_CONFIGURED_QUERY_SECONDS", 0.0)
    with listing_server() as url:
        pass
    with opened(tmp_path, {"OLLAMA_HOST": url}) as app:
        with pytest.raises(ConfigError, match="does not answer"):
            app.default_model()
        with listing_server(int(url.rpartition(":")[2])):
            model = app.default_model()

    assert model == "ollama/qwen:latest"
