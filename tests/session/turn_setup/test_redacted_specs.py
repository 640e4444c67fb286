"""The descriptions of tools are looked through for secrets once, and again whenever they or the secrets change."""

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.wire.tool_schema import tool_definition
from palimpsest.session.engine import RedactedSpecs
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.redaction.secret_removal import KernelSecrets, redacted_value
from palimpsest.transcript.values import ModelRef, ToolSpec

ONE, OTHER = "hunter2-hunter2", "swordfish-swordfish"


class Counted(KernelSecrets):
    """Secrets that are read anew each time, and count what they look through."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.looked = 0
        self._ticks = 0.0
        super().__init__(environment, self._later)

    def _later(self) -> float:
        self._ticks += 10
        return self._ticks

    def secret_remover(self) -> Callable[[str], str]:
        clean = super().secret_remover()

        def counted(text: str) -> str:
            self.looked += 1
            return clean(text)

        return counted


def spec(words: str) -> ToolSpec:
    schema = {"type": "object", "properties": {"path": {"description": words}}}
    return ToolSpec(name="look", description=f"Looks at {words}.", parameters=schema)


def test_a_second_step_looks_through_nothing() -> None:
    secrets = Counted({"API_KEY": ONE})
    redacted = RedactedSpecs(secrets)
    first, looked = redacted([spec(ONE)])[0], secrets.looked

    assert ONE not in first.model_dump_json()
    assert looked > 0
    assert redacted([spec(ONE)])[0] is first
    assert secrets.looked == looked


def test_a_schema_that_changes_in_place_is_looked_through_again() -> None:
    redacted, given = RedactedSpecs(Counted({"API_KEY": ONE})), spec("a file")
    assert redacted([given])[0] == given
    given.parameters["properties"]["path"]["description"] = f"Not {ONE}"

    assert ONE not in redacted([given])[0].model_dump_json()


def test_the_definition_of_a_tool_is_made_once_and_again_when_its_schema_changes_in_place() -> None:
    redacted, given = RedactedSpecs(Counted({})), spec("a file")
    target = profile(ModelRef(provider="openai", name="gpt-5"))
    first = tool_definition(redacted([given])[0], target)

    again = tool_definition(redacted([given])[0], target)
    assert again["function"]["parameters"] is first["function"]["parameters"]
    given.parameters["properties"]["path"]["description"] = "a folder"
    changed = tool_definition(redacted([given])[0], target)["function"]["parameters"]
    assert changed["properties"]["path"]["description"] == "a folder"
    assert first["function"]["parameters"]["properties"]["path"]["description"] == "a file"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", ONE, OTHER]), st.sampled_from(["a file", ONE, f"{OTHER} or {ONE}"])
        ),
        max_size=8,
    )
)
def test_it_says_what_looking_through_all_of_them_says(steps: list[tuple[str, str]]) -> None:
    environment: dict[str, str] = {}
    secrets = Counted(environment)
    redacted = RedactedSpecs(secrets)
    for value, words in steps:
        environment["API_KEY"] = value

        assert redacted([spec(words)])[0] == redacted_value(spec(words), secrets.clean)
