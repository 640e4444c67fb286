"""Objects that are made while the garbage collector is paused count as old afterwards."""

import gc

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.paused_collection import MIN_FROZEN_OBJECTS, collection_paused


def test_what_was_made_in_a_pause_is_not_walked_on_its_way_to_the_oldest_objects() -> None:
    gc.unfreeze()  # the suite's own

    try:
        with collection_paused():
            made = [[number] for number in range(2 * MIN_FROZEN_OBJECTS)]

        old = {id(item) for item in gc.get_objects(generation=2)}
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0
        assert all(id(item) in old for item in made)
    finally:
        gc.freeze()


def test_few_objects_stay_young_so_that_garbage_among_them_is_soon_found() -> None:
    gc.collect()

    with collection_paused():
        made = [[number] for number in range(100)]

    old = {id(item) for item in gc.get_objects(generation=2)}
    assert gc.isenabled()
    assert not any(id(item) in old for item in made)


def test_a_pattern_answers_as_a_compiled_one_and_tells_its_text_without_compiling() -> None:
    pattern = lazy_pattern(r"(\d+)x")

    assert pattern.pattern == r"(\d+)x"
    assert "search" not in vars(pattern)
    assert pattern.findall("3x 14x") == ["3", "14"]
    assert pattern.groups == 1
