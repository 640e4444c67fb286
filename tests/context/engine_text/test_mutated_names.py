"""The source of a cell says which variables it changes in place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.context.engine_text.mutated_names import mutated_names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("df['x'] = 1", {"df"}),
        ("df.loc[0, 'x'] = 1", {"df"}),
        ("lst.append(2)", {"lst"}),
        ("arr[0] += 1", {"arr"}),
        ("n += 1", {"n"}),
        ("del d['k'], e.f", {"d", "e"}),
        ("(a[0], b.c), *d[1:] = 1, 2", {"a", "b", "d"}),
        ("df.drop(columns='x', inplace=True)", {"df"}),
        ("new = df.drop(columns='x')", set()),
        ("for grid[0] in range(3): pass", {"grid"}),
        ("a.b['c'].d.update(x=1)", {"a"}),
        ("%matplotlib inline\n!ls\nrows.clear()", {"rows"}),
        ("df.head()", set()),
        ("x = 1", set()),
        ("def broken(:", set()),
        ("%%bash\nrm -r x", set()),
    ],
)
def test_names_what_is_changed(source: str, names: set[str]) -> None:
    assert mutated_names(source) == names


@pytest.mark.parametrize("source", ["df" + ".a()" * 1_000, "df" + ".a" * 1_000 + " = 1"])
def test_a_chain_longer_than_python_may_nest_is_followed(source: str) -> None:
    assert mutated_names(source) == {"df"}


@given(st.text(max_size=200))
def test_any_text_is_read(source: str) -> None:
    assert isinstance(mutated_names(source), frozenset)
