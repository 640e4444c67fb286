"""Serve a scenario file from the command line: ``python -m palimpsest.testing --scenario FILE``."""

import argparse
import asyncio
from contextlib import suppress
from pathlib import Path

from palimpsest.model.script_file import read_scenario
from palimpsest.testing.fault_server import FaultServer


def main(arguments: list[str] | None = None) -> None:
    """Serve the answers of a scenario file until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m palimpsest.testing", description=main.__doc__)
    parser.add_argument("--scenario", type=Path, required=True, help="JSON file with the answers")
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args(arguments)
    server = FaultServer(*read_scenario(options.scenario), port=options.port)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(server))


async def _serve(server: FaultServer) -> None:
    async with server:
        addresses = (
            f"OPENAI_BASE_URL={server.openai_base}  ANTHROPIC_BASE_URL={server.anthropic_base}"
        )
        print(addresses, flush=True)  # noqa: T201 - the addresses are the program's output
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
