"""docs/policies.md lists the context policies that there are."""

from tests.context_policies.presets.policies_page import expected, found


def test_the_table_of_the_page_is_that_of_the_registry() -> None:
    """Run ``python -m tests.context_policies.presets.policies_page --write`` to bring it up to date."""
    assert found() == expected()
    assert expected().count("**third-party**") == 2
