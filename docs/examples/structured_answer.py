"""Ask for an answer in a form."""

from pydantic import BaseModel

import palimpsest


class Found(BaseModel):
    """The form of the answer."""

    answer: str
    count: int
    names: list[str] = []


def main() -> None:
    app = palimpsest.App()
    answer: palimpsest.Answer = palimpsest.open_session(app).prompt(
        "Which files are there?", yes=True, format=Found
    )
    if answer.error is None:
        found = Found.model_validate(answer.structured)
        print(found.count, found.names)
    else:
        print(answer.error.message)
    app.close()


if __name__ == "__main__":
    main()
