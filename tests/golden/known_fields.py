"""The known fields of each recording: a recording with any other field fails its tests.

A path names where they are: ``cases.cfg`` is the field ``cfg`` of each of the ``cases``, ``*`` stands for
every name, and an empty path for a list. The fields of messages and their parts are checked in ``upstream``
and ``openclaw_messages``, which read them.
"""

KNOWN: dict[str, dict[str, str]] = {
    "openclaw/calculateMaxToolResultChars": {
        "cases": "expected input name",
        "cases.input": "contextWindowTokens",
    },
    "openclaw/compactionRetryStateMachine": {
        "cases": "expected input name",
        "cases.input": "steps",
    },
    "openclaw/contextPruningSettings": {"cases": "expected input name", "cases.input": "raw"},
    "openclaw/dropThinkingBlocks": {"cases": "expected input name", "cases.input": "messages"},
    "openclaw/evaluateContextWindowGuard": {
        "cases": "expected input name",
        "cases.input": "hardMinTokens info warnBelowTokens",
        "cases.input.info": "source tokens",
    },
    "openclaw/getHistoryLimitFromSessionKey": {
        "cases": "expected input name",
        "cases.input": "config sessionKey",
    },
    "openclaw/limitHistoryTurns": {"cases": "expected input name", "cases.input": "limit messages"},
    "openclaw/overflowErrors": {"cases": "expected input name", "cases.input": "errorMessage"},
    "openclaw/pi/isContextOverflow": {
        "cases": "expected input name",
        "cases.input": "contextWindow message",
    },
    "openclaw/pruneContextMessages": {
        "cases": "expected input name",
        "cases.input": "contextWindowTokens messages note resultSizes settings",
        "cases.input.settings": "hardClear hardClearRatio keepLastAssistants minPrunableToolChars mode softTrim softTrimRatio tools ttlMs",
        "cases.input.settings.hardClear": "enabled placeholder",
        "cases.input.settings.softTrim": "headChars maxChars tailChars",
        "cases.input.settings.tools": "allow deny",
    },
    "openclaw/repairToolCallInputs": {
        "cases": "expected input name",
        "cases.input": "messages options",
    },
    "openclaw/repairToolUseResultPairing": {
        "cases": "expected input name",
        "cases.input": "messages options",
    },
    "openclaw/resolveContextWindowInfo": {
        "cases": "expected input name",
        "cases.input": "cfg defaultTokens modelContextTokens modelContextWindow modelId provider",
        "cases.input.cfg": "agents models",
    },
    "openclaw/resolveRunTimeoutDuringCompaction": {
        "cases": "expected input name",
        "cases.input": "graceAlreadyUsed isCompactionInFlight isCompactionPendingOrRetrying",
    },
    "openclaw/sanitizeGoogleTurnOrdering": {
        "cases": "expected input name",
        "cases.input": "messages",
    },
    "openclaw/sanitizeToolCallId": {"cases": "expected input name", "cases.input": "id mode"},
    "openclaw/sanitizeToolCallIds": {
        "cases": "expected input name",
        "cases.input": "messages mode options",
    },
    "openclaw/selectCompactionTimeoutSnapshot": {
        "cases": "expected input name",
        "cases.input": "currentSessionId currentSnapshot preCompactionSessionId preCompactionSnapshot timedOutDuringCompaction",
    },
    "openclaw/shouldFlagCompactionTimeout": {
        "cases": "expected input name",
        "cases.input": "isCompactionInFlight isCompactionPendingOrRetrying isTimeout",
    },
    "openclaw/shouldPreemptivelyCompactBeforePrompt": {
        "cases": "expected input name",
        "cases.input": "contextTokenBudget note reserveTokens sizes",
    },
    "openclaw/truncateToolResultText": {
        "cases": "expected input name",
        "cases.input": "maxChars options textGenerator",
    },
    "openclaw/validateAnthropicTurns": {"cases": "expected input name", "cases.input": "messages"},
    "openclaw/validateGeminiTurns": {"cases": "expected input name", "cases.input": "messages"},
    "opencode/compaction_process": {
        "cases": "auto cfg events hooks input llm model name overflow plugin result writes threw",
        "cases.cfg": "compaction",
        "cases.cfg.compaction": "preserve_recent_tokens tail_turns",
    },
    "opencode/compaction_serialize": {"*": "completed serialized turns"},
    "opencode/error_mapping": {"": "ctx desc result"},
    "opencode/filter_compacted": {"*": "ids latest"},
    "opencode/identifiers": {
        "ascending": "hex12 id prefix timestamp",
        "descending": "hex12 prefix timestamp",
        "timestampOfAscending": "id timestamp",
    },
    "opencode/loop": {
        "cases": "agent cfg events finalMessages input interject limit llmCalls name returned script threw trace",
        "cases.cfg": "",
        "cases.limit": "context output",
        "cases.script": "error finish parts result tokens",
        "cases.trace": "agent lastText llm parentID roles status summary task texts toolChoice tools",
        "cases.trace.task": "command description prompt subagent_type",
    },
    "opencode/overflow": {
        "": "cases cfg limit maxOutputTokens outputTokenMax preserveRecentTokens usable",
        ".cfg": "compaction",
        ".cfg.compaction": "auto reserved",
        ".limit": "context input output",
    },
    "opencode/permission": {
        "disabled": "config result tools",
        "evaluate": "config pattern permission result",
        "evaluate_merged": "first result_ls result_rm second",
        "fromConfig": "config rules",
    },
    "opencode/permission_flow": {"": "events name out steps"},
    "opencode/processor": {
        "cases": "asks cfg events final limit name permission result status stream summary writes",
        "cases.asks": "always metadata patterns permission ruleset sessionID",
        "cases.cfg": "compaction experimental",
        "cases.cfg.compaction": "auto",
        "cases.cfg.experimental": "continue_loop_on_deny",
        "cases.limit": "context output",
        "cases.stream": "delta error finishReason id input output providerMetadata text throw toolCallId toolName totalUsage type usage",
        "cases.stream.throw": "headers isRetryable message name statusCode",
    },
    "opencode/provider_transform": {
        "cases": "input model output session",
        "cases.input": "content role",
    },
    "opencode/prune": {
        "cases": "cfg messages name prunedPartIDs",
        "cases.cfg": "compaction",
        "cases.cfg.compaction": "prune",
    },
    "opencode/retry": {"delays": "attempt headers jitter ms", "retryable": "error result"},
    "opencode/revert": {"": "input log name ops remaining revert session threw"},
    "opencode/seed-era/overflow": {
        "": "cfg limit overflow tokens",
        ".cfg": "compaction",
        ".cfg.compaction": "auto reserved",
        ".limit": "context input output",
    },
    "opencode/seed-era/prune": {
        "cases": "cfg messages name prunedPartIDs",
        "cases.cfg": "compaction",
        "cases.cfg.compaction": "prune",
    },
    "opencode/seed-era/retry": {"": "attempt headers ms"},
    "opencode/seed-era/to_model_messages": {"cases": "model output session"},
    "opencode/titles": {"isDefaultTitle": "result title"},
    "opencode/to_model_messages": {"cases": "model options output session"},
    "opencode/token_estimate": {"": "text tokens"},
    "opencode/truncate": {
        "cases": "agent cfg content hasOutputPath input opts truncated",
        "cases.cfg": "tool_output",
        "cases.cfg.tool_output": "max_bytes",
        "cases.opts": "direction maxBytes maxLines",
    },
    "opencode/usage": {"": "cost metadata result usage"},
    "opencode/wildcard": {
        "all": "input patterns result",
        "allStructured": "head patterns result tail",
        "match": "input match pattern",
    },
}
"""Known fields by recording; both recordings of the seed documents' time have the same fields."""
