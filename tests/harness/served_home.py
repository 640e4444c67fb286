"""A home of a person whose settings name a model that a server of the test answers for."""

from pathlib import Path


def served_home(
    home: Path, model: str, api_base: str, settings: str = "", **environment: str
) -> dict[str, str]:
    """Write the settings, with further lines before the model's own; return the environment of a kernel."""
    folder = home / ".config" / "palimpsest"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f'model = "{model}"\n{settings}[models."{model}"]\napi_base = "{api_base}"\n'
    )
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "OPENAI_API_KEY": "sk-test",
        "PALIMPSEST_STATE_DIR": str(home / "state"),
        **environment,
    }
