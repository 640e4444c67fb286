"""The items of a live session, and their copies for a proposal."""

from palimpsest.live_policies.live_items import LiveItems


def test_a_copy_counts_no_text_again() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    items = LiveItems(lambda _estimator: count)
    tokens = [
        copy._counter("tokens")("a long text") for copy in (items.copy(), items, items.copy())
    ]

    assert tokens == [11, 11, 11]
    assert counted == ["a long text"]
