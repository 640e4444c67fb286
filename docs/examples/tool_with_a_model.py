"""Give the agent a tool whose input is a pydantic model."""

from pydantic import BaseModel, Field

import palimpsest


class Order(BaseModel):
    """An order of one article."""

    article: str
    count: int = Field(default=1, ge=1)


@palimpsest.tool
def price_of(order: Order) -> float:
    """Return the price of an order in euros."""
    return 2.5 * order.count


def main() -> None:
    print(price_of(Order(article="pen", count=2)))
    app = palimpsest.App()
    session = palimpsest.open_session(app)
    answer = session.prompt("What do 3 pens cost?", yes=True)
    print(answer.text, answer.error)
    app.close()


if __name__ == "__main__":
    main()
