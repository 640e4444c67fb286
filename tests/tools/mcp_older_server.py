"""A hand-written MCP server with an older protocol version and unusual features.

``wrong`` sends as the list of its tools what is no list, ``named`` a resource and tools with the names that follow.
It starts without importing anything, where the server of ``mcp_server.py`` takes a second.
"""

import json
import sys
from typing import Any

STRANGE: list[Any] = [
    {
        "name": "refers",
        "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/definitions/A"}}},
    },
    {"name": "bare", "inputSchema": {"type": "object"}},
    {"name": "x" * 90, "inputSchema": {"type": "object"}},
]
TOOLS: list[Any] = [{"name": "learn", "inputSchema": {"type": "object"}}, *STRANGE]


RESOURCES: list[Any] = []


if sys.argv[1:2] == ["named"]:
    TOOLS[:] = [{"name": name, "inputSchema": {"type": "object"}} for name in sys.argv[2:]]
    RESOURCES.append({"uri": "note://x", "name": "x"})


def out(**words: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **words}) + "\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        name, number = message.get("method"), message.get("id")
        if name == "initialize":
            server = {"name": "older", "version": "1"}
            offers = {"tools": {"listChanged": True}, **({"resources": {}} if RESOURCES else {})}
            result = {"protocolVersion": "2025-06-18", "capabilities": offers, "serverInfo": server}
            out(id=number, result=result)
        elif name == "tools/list":
            tools: Any = "none" if sys.argv[1:] == ["wrong"] else TOOLS
            out(id=number, result={"tools": tools})
        elif name == "resources/list" and RESOURCES:
            out(id=number, result={"resources": RESOURCES})
        elif name == "resources/templates/list" and RESOURCES:
            out(id=number, result={"resourceTemplates": []})
        elif name == "tools/call":
            TOOLS.append({"name": "learnt", "inputSchema": {"type": "object"}})
            out(method="notifications/tools/list_changed")
            content = [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]
            out(id=number, result={"content": content})
        elif number is not None:
            out(id=number, error={"code": -32601, "message": "There is no such method."})


if __name__ == "__main__":
    main()
