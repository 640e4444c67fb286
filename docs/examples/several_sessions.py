"""Ask in several sessions at once, and watch their records."""

import asyncio
from collections.abc import Sequence

import palimpsest


def watch(records: Sequence[palimpsest.Record]) -> None:
    for record in records:
        if record.event.type == "session.status":
            print(record.seq, record.event.type)


async def main() -> None:
    app = palimpsest.App()
    sessions = [palimpsest.new_session(f"Number {number}") for number in range(3)]
    ends = [session.subscribe(watch) for session in sessions]
    answers = await asyncio.gather(
        *(one.aio.prompt("Which files are there?", yes=True) for one in sessions)
    )
    for answer in answers:
        print(answer.text)
    for end in ends:
        end()
    app.close()


if __name__ == "__main__":
    asyncio.run(main())
