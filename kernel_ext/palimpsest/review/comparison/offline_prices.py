"""What a model costs, from litellm's table on the disk: no network, no key, and litellm is not imported."""

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.model_info import parse
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Price


def offline_price(model: str) -> Price | None:
    """Return a model's price; None where the table does not know the model."""
    try:
        found = litellm_table.find_model(parse(model))
    except ConfigError:
        return None
    return litellm_table.price(found) if found is not None else None
