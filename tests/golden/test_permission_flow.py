"""Permission questions and replies lead to the same outcomes as in the recorded OpenCode, but for one case.

In OpenCode, an earlier "always" overrides a rule that denies. Here a deny stays a deny: whatever was
recorded, a question that one of its own rules denies is denied.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.golden.data import load

from palimpsest.session.permissions.asks import PendingAsk, apply_reply, permission_refusal
from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    Denied,
    Rules,
    decide_call,
    last_matching_rule,
)
from palimpsest.transcript.values import Ask, Reply, Rule


def outcome(recorded: str) -> str:
    """Map a recorded outcome to a common word."""
    kinds = {
        "granted": "granted",
        "PENDING": "pending",
        "PermissionDeniedError": "denied",
        "PermissionRejectedError": "rejected",
        "PermissionCorrectedError": "rejected with feedback",
    }
    return kinds[recorded.partition(":")[0]]


@dataclass
class Flow:
    """Replays the steps of one scenario."""

    approved: Rules = ()
    pending: list[PendingAsk] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, str]] = field(default_factory=list)

    def ask(self, step: dict[str, Any]) -> None:
        rules = tuple(Rule(**rule) for rule in step.get("ruleset", []))
        match decide_call(step["permission"], step["patterns"], rules, self.approved):
            case Allowed():
                self.states[step["key"]] = "granted"
            case Denied():
                self.states[step["key"]] = "denied"
            case _:
                self.states[step["key"]] = "pending"
                self.events.append({"type": "permission.asked"})
                ask = Ask(
                    id=step["key"],
                    permission=step["permission"],
                    patterns=tuple(step["patterns"]),
                    always=tuple(step.get("always", [])),
                    title="",
                    input={},
                )
                self.pending.append(PendingAsk(ask, step.get("sessionID", "ses_one"), rules))

    def denied(self, step: dict[str, Any]) -> bool:
        """Return by the rules alone whether ours differs at this step."""
        rules = tuple(Rule(**rule) for rule in step.get("ruleset", []))
        found = [
            last_matching_rule(step["permission"], pattern, rules).action
            for pattern in step["patterns"]
        ]
        return "deny" in found

    def reply(self, step: dict[str, Any]) -> None:
        reply = Reply(answer=step["reply"], feedback=step.get("message"))
        key = step.get("key", self.pending[0].ask.id)
        settled = apply_reply(self.pending, key, reply, self.approved)
        self.approved = settled.approved_rules
        for answered, given in settled.replies:
            self.events.append({"type": "permission.replied", "reply": given.answer})
            self.states[answered] = self._state(given)
        self.pending = [one for one in self.pending if self.states[one.ask.id] == "pending"]

    def _state(self, reply: Reply) -> str:
        if reply.answer != "reject":
            return "granted"
        return "rejected" if permission_refusal(reply).stops_turn else "rejected with feedback"


def scenarios() -> list[dict[str, Any]]:
    recorded: list[dict[str, Any]] = load("opencode", "permission_flow")
    return recorded


def test_every_recorded_question_ends_as_recorded() -> None:
    for scenario in scenarios():
        flow = Flow()
        denied: set[str] = set()
        for step, recorded in zip(scenario["steps"], scenario["out"], strict=True):
            if "ask" in step:
                flow.ask(step["ask"])
                denied |= {recorded["ask"]} if flow.denied(step["ask"]) else set()
                expected = {recorded["ask"]: outcome(recorded["result"])}
            else:
                flow.reply(step["reply"])
                states = recorded.get("states", {})
                expected = {key: outcome(value) for key, value in states.items()}
            expected |= dict.fromkeys(denied & expected.keys(), "denied")
            assert {key: flow.states[key] for key in expected} == expected, scenario["name"]
        assert flow.events == scenario["events"], scenario["name"]


def test_a_recorded_always_overrides_a_deny() -> None:
    differs = {
        scenario["name"]
        for scenario in scenarios()
        for step, out in zip(scenario["steps"], scenario["out"], strict=True)
        if "ask" in step and Flow().denied(step["ask"]) and outcome(out["result"]) != "denied"
    }

    assert all("always" in name for name in differs)
