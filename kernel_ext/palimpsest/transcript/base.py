"""What every value of the transcript shares."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that keeps the fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow", ser_json_inf_nan="constants")
