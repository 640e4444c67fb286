"""Small made recordings whose costs are known by hand, each of another agent or with another kind of price.

``written(folder)`` writes them all and returns their paths by name; ``RIGHT`` has what is right, in US dollars.
"""

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

RIGHT = {
    "unknown_model.jsonl": 1.5,
    "five_minutes.jsonl": 0.41475,
    "an_hour.jsonl": 0.5235,
    "batch.jsonl": 0.41475 / 2,
    "batch_hour.jsonl": 0.5235 / 2,
    "long_prompts.jsonl": 2.39454,
    # 10 uncached tokens, 20,000 and three times 1,000 written, what the others wrote read, 500 answered; at 3/15.
    "retired.jsonl": 4 * 10 * 3e-6 + 23_000 * 3.75e-6 + 63_000 * 0.3e-6 + 4 * 500 * 15e-6,
    # gpt-5 by the list at 1.25 in, 0.125 read, 10 out; what was written costs as much as what was not.
    "codex.jsonl": 2_000 * 1.25e-6 + 8_000 * 0.125e-6 + 100 * 10e-6,
    "codex_flex.jsonl": (2_000 * 1.25e-6 + 8_000 * 0.125e-6 + 100 * 10e-6) / 2,
    "chat_priority.jsonl": 2 * (1_000 * 1.25e-6 + 100 * 10e-6),
    "costs_alone.json": 0.75,
}
"""By the prices of litellm's list and of our own lists beside it, or as recorded."""
FACTS = frozenset({"unknown_model.jsonl", "costs_alone.json"})
"""Those whose requests hold their costs."""


def write_recordings(folder: Path) -> dict[str, Path]:
    """Write all recordings into a folder, each in one of its own."""
    made = {
        "unknown_model.jsonl": _pi(),
        "five_minutes.jsonl": _claude(10),
        "an_hour.jsonl": _claude(10, hour=True),
        "batch.jsonl": _claude(10, tier="batch"),
        "batch_hour.jsonl": _claude(10, tier="batch", hour=True),
        "long_prompts.jsonl": _claude(4, model="claude-sonnet-4-5-20250929", base=250_000),
        "retired.jsonl": _claude(4, model="claude-3-7-sonnet-20250219"),
        "codex.jsonl": _codex(),
        "codex_flex.jsonl": _codex(service_tier="flex"),
        "chat_priority.jsonl": _chat(),
    }
    found = {name: _lines(folder, name, rows) for name, rows in made.items()}
    for name, document in (("costs_alone.json", _atif()), ("sweagent.traj", _swe_agent())):
        found[name] = _lines(folder, name, [document])
    return found


def _lines(folder: Path, name: str, rows: list[Json]) -> Path:
    path = folder / name.replace(".", "-") / name
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def _time(second: int) -> str:
    return f"2026-08-01T10:{second // 60:02d}:{second % 60:02d}.000Z"


def _pi() -> list[Json]:
    rows: list[Json] = [
        {"type": "session", "version": 3, "id": "p1", "timestamp": _time(0), "cwd": "/w"}
    ]
    last = None
    for number in range(3):
        usage = {
            "input": 1_000,
            "output": 100,
            "cacheRead": 2_000 * number,
            "cacheWrite": 1_000,
            "totalTokens": 0,
            "cost": {"total": 0.5},
        }
        asked = {"role": "user", "content": [{"type": "text", "text": "word " * 200}]}
        answer = {
            "role": "assistant",
            "content": [{"type": "text", "text": "text " * 100}],
            "provider": "mine",
            "model": "custom-1",
            "stopReason": "stop",
            "usage": usage,
        }
        for kind, message in (("u", asked), ("a", answer)):
            rows.append(
                {
                    "type": "message",
                    "id": f"{kind}{number}",
                    "parentId": last,
                    "timestamp": _time(20 * number + 5 * (kind == "a")),
                    "message": message,
                }
            )
            last = f"{kind}{number}"
    return rows


def _claude(
    count: int,
    *,
    model: str = "claude-opus-4-8",
    base: int = 20_000,
    tier: str = "standard",
    hour: bool = False,
) -> list[Json]:
    rows: list[Json] = []
    last, held = None, 0
    for number in range(count):
        write_recordings = 1_000 if number else base
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": held,
            "cache_creation_input_tokens": write_recordings,
            "output_tokens": 500,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 0 if hour else write_recordings,
                "ephemeral_1h_input_tokens": write_recordings if hour else 0,
            },
            "service_tier": tier,
        }
        asked = {"role": "user", "content": f"step {number} " + "word " * 300}
        answer = {
            "id": f"m{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": f"done {number} " + "text " * 300}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        for kind, name, message in (("user", "u", asked), ("assistant", "a", answer)):
            rows.append(
                {
                    "parentUuid": last,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": "/w",
                    "sessionId": "s1",
                    "version": "2.1.200",
                    "gitBranch": "",
                    "type": kind,
                    "message": message,
                    "uuid": f"{name}{number}",
                    "timestamp": _time(20 * number + 5 * (kind == "assistant")),
                }
            )
            last = f"{name}{number}"
        held += write_recordings
    return rows


def _codex(**context: str) -> list[Json]:
    usage = {
        "input_tokens": 10_000,
        "cached_input_tokens": 8_000,
        "cache_write_input_tokens": 1_500,
        "output_tokens": 100,
        "reasoning_output_tokens": 40,
        "total_tokens": 10_100,
    }
    payloads = [
        (
            "session_meta",
            {"id": "t1", "timestamp": _time(0), "cwd": "/w", "model_provider": "openai"},
        ),
        ("turn_context", {"cwd": "/w", "model": "gpt-5", **context}),
        ("response_item", _message("user", "input_text", "Say what is here.")),
        ("response_item", _message("assistant", "output_text", "Nothing is here.")),
        (
            "event_msg",
            {
                "type": "token_count",
                "info": {"total_token_usage": usage, "last_token_usage": usage},
            },
        ),
    ]
    return [
        {"timestamp": _time(index), "type": kind, "payload": payload}
        for index, (kind, payload) in enumerate(payloads)
    ]


def _message(role: str, kind: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _chat() -> list[Json]:
    return [
        {
            "model": "openai/gpt-5",
            "service_tier": "priority",
            "messages": [
                {"role": "user", "content": "Say what is here."},
                {"role": "assistant", "content": "Nothing is here."},
            ],
            "usage": {"prompt_tokens": 1_000, "completion_tokens": 100},
        }
    ]


def _atif() -> Json:
    steps: list[Json] = [{"step_id": 1, "source": "user", "message": "Say what is here."}]
    steps += [
        {
            "step_id": 2 + index,
            "source": "agent",
            "model_name": "mine/custom-2",
            "message": "Nothing is here.",
            "metrics": {"cost_usd": cost},
        }
        for index, cost in enumerate((0.5, 0.25))
    ]
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "atif-1",
        "agent": {"name": "made", "version": "1", "model_name": "mine/custom-2"},
        "steps": steps,
        "final_metrics": {"total_cost_usd": 0.75, "total_prompt_tokens": 4_321, "total_steps": 3},
    }


def _swe_agent() -> Json:
    history = [
        {"role": "system", "content": "you are", "agent": "main"},
        {"role": "user", "content": "fix it", "agent": "main"},
        {"role": "assistant", "content": "look", "agent": "main"},
        {"role": "user", "content": "a.py", "agent": "main"},
    ]
    step = {
        "action": "ls",
        "observation": "a.py",
        "response": "look\n```\nls\n```",
        "thought": "look",
        "state": "{}",
        "messages": [{key: field[key] for key in ("role", "content")} for field in history[:2]],
    }
    stats = {"instance_cost": 1.25, "tokens_sent": 5_000, "tokens_received": 100, "api_calls": 1}
    return {
        "trajectory": [step],
        "history": history,
        "info": {"exit_status": "submitted", "model_stats": stats},
        "replay_config": json.dumps({"agent": {"model": {"name": "gpt-4o"}}}),
        "environment": "swe_main",
    }
