"""Recorded error responses of servers: status, type and body, and the expected error."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["api", "auth", "overflow", "filter"]
HTML = "text/html"
PLAIN = "text/plain"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One error response and the expected error."""

    name: str
    wire: str
    status: int
    body: str
    kind: Kind
    told: str
    """Part of the server's message that the user sees."""
    again: bool = False
    """Whether the request is retried."""
    content: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def _json(value: Any) -> str:
    return json.dumps(value)


def _openai(message: str, code: str | None = None, kind: str | None = None) -> str:
    return _json({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _anthropic(kind: str, message: str) -> str:
    return _json(
        {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    )


def _google(code: int, status: str, message: str, **more: Any) -> str:
    return _json({"error": {"code": code, "message": message, "status": status, **more}})


def _page(title: str, server: str = "nginx") -> str:
    return (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"
        f"<hr><center>{server}</center>\r\n</body>\r\n</html>\r\n"
    )


CLOUDFLARE = (
    "<!DOCTYPE html>\n<!--[if lt IE 7]> <html class='no-js ie6'> <![endif]-->\n<html lang='en-US'>\n<head>\n"
    "<title>example.org | 524: A timeout occurred</title>\n<script>var a = 1 < 2;</script></head><body>…</body></html>"
)
API_KEY_INVALID = [
    {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }
]
LITELLM_TAIL = ". Received Model Group=gpt-4o\nAvailable Model Group Fallbacks=None"

OPENAI = (
    Refusal("wrong key", "openai", 401, _openai("Incorrect API key provided: sk-ab***yz.", "invalid_api_key", "invalid_request_error"), "auth", "Incorrect API key provided"),
    Refusal("no model", "openai", 404, _openai("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"), "api", "The model `gpt-9` does not exist"),
    Refusal("region", "openai", 403, _openai("Country, region, or territory not supported", "unsupported_country_region_territory"), "api", "Country, region, or territory not supported"),
    Refusal("rate", "openai", 429, _openai("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", "rate_limit_exceeded", "tokens"), "api", "Rate limit reached for gpt-4o", again=True, headers={"retry-after": "3"}),
    Refusal("quota", "openai", 429, _openai("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"), "api", "has no quota left"),
    Refusal("parameter", "openai", 400, _openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "unsupported_parameter"), "api", "Unsupported parameter: 'max_tokens'"),
    Refusal("schema", "openai", 400, _openai("Invalid schema for function 'python': None is not of type 'object'.", "invalid_function_parameters"), "api", "Invalid schema for function 'python'"),
    Refusal("long", "openai", 400, _openai("This model's maximum context length is 128000 tokens. However, your messages resulted in 130112 tokens.", "context_length_exceeded"), "overflow", "128000 tokens"),
    Refusal("server", "openai", 500, _openai("The server had an error while processing your request. Sorry about that!", None, "server_error"), "api", "The server had an error", again=True),
    Refusal("overloaded", "openai", 503, _openai("The engine is currently overloaded, please try again later", None, "engine_overloaded"), "api", "currently overloaded", again=True),
    Refusal("an exception's repr", "openai", 500, _openai("Response payload is not completed: <TransferEncodingError: 400, message='Not enough data.'>"), "api", "Response payload is not completed. Wait", again=True),
    Refusal("organisation", "openai", 403, _openai("Project `proj_x` does not have access to model `o3`", "model_not_found"), "api", "does not have access to model"),
)  # fmt: skip

ANTHROPIC = (
    Refusal("wrong key", "anthropic", 401, _anthropic("authentication_error", "invalid x-api-key"), "auth", "invalid x-api-key"),
    Refusal("no model", "anthropic", 404, _anthropic("not_found_error", "model: claude-9"), "api", "model: claude-9"),
    Refusal("long", "anthropic", 400, _anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), "overflow", "208310"),
    Refusal("too large", "anthropic", 413, _anthropic("request_too_large", "Request exceeds the maximum size"), "overflow", "maximum size"),
    Refusal("credit", "anthropic", 400, _anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."), "api", "no credit left"),
    Refusal("overloaded", "anthropic", 529, _anthropic("overloaded_error", "Overloaded"), "api", "Overloaded", again=True),
    Refusal("rate", "anthropic", 429, _anthropic("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens per minute."), "api", "30,000 input tokens per minute", again=True, headers={"retry-after": "7"}),
    Refusal("permission", "anthropic", 403, _anthropic("permission_error", "Your API key does not have permission to use the specified resource"), "api", "does not have permission"),
    Refusal("thinking", "anthropic", 400, _anthropic("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"), "api", "Invalid `signature`"),
    Refusal("internal", "anthropic", 500, _anthropic("api_error", "Internal server error"), "api", "Internal server error", again=True),
)  # fmt: skip

GEMINI = (
    Refusal("wrong key", "gemini", 400, _google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", details=API_KEY_INVALID), "auth", "API key not valid"),
    Refusal("no key", "gemini", 403, _google(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established identity)."), "api", "unregistered callers"),
    Refusal("list", "gemini", 404, f"[{_google(404, 'NOT_FOUND', 'models/gemini-9 is not found for API version v1beta.')}]", "api", "models/gemini-9 is not found"),
    Refusal("rate", "gemini", 429, _google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), "api", "Resource has been exhausted", again=True),
    Refusal("long", "gemini", 400, _google(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), "overflow", "1200000"),
    Refusal("overloaded", "gemini", 503, _google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "api", "The model is overloaded", again=True),
    Refusal("location", "gemini", 400, _google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "api", "User location is not supported"),
    Refusal("turns", "gemini", 400, _google(400, "INVALID_ARGUMENT", "Please ensure that function call turn comes immediately after a user turn or after a function response turn."), "api", "function call turn"),
)  # fmt: skip

OLLAMA = (
    Refusal("no model", "ollama", 404, _json({"error": "model 'qwen9' not found"}), "api", "model 'qwen9' not found"),
    Refusal("try pulling", "openai", 404, _openai('model "qwen9" not found, try pulling it first', None, "api_error"), "api", "try pulling it first", again=False),
    Refusal("no tools", "ollama", 400, _json({"error": "registry.ollama.ai/library/gemma:2b does not support tools"}), "api", "does not support tools"),
    Refusal("memory", "ollama", 500, _json({"error": "model requires more system memory (8.4 GiB) than is available (3.1 GiB)"}), "api", "requires more system memory", again=True),
    Refusal("runner", "ollama", 500, _json({"error": "llama runner process has terminated: exit status 2"}), "api", "runner process has terminated", again=True),
    Refusal("busy", "ollama", 503, _json({"error": "server busy, please try again.  maximum pending requests exceeded"}), "api", "server busy", again=True),
)  # fmt: skip

VLLM = (
    Refusal("no model", "hosted_vllm", 404, _json({"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "param": None, "code": 404}), "api", "The model `x` does not exist"),
    Refusal("long", "hosted_vllm", 400, _json({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (3000 in the messages, 2000 in the completion).", "type": "BadRequestError", "param": None, "code": 400}), "overflow", "4096"),
    Refusal("parser", "hosted_vllm", 400, _json({"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "type": "BadRequestError", "param": None, "code": 400}), "api", "--enable-auto-tool-choice"),
    Refusal("unauthorized", "hosted_vllm", 401, _json({"error": "Unauthorized"}), "auth", "Unauthorized"),
    Refusal("validation", "openai", 422, _json({"detail": [{"type": "missing", "loc": ["body", "model"], "msg": "Field required", "input": {"messages": ["secret words"]}}]}), "api", "body.model: Field required"),
    Refusal("fastapi", "openai", 404, _json({"detail": "Not Found"}), "api", "Not Found"),
    Refusal("new shape", "openai", 400, _json({"error": {"message": "Unknown part type: thinking", "type": "BadRequestError", "param": None, "code": 400}}), "api", "Unknown part type"),
)  # fmt: skip

LLAMA_CPP = (
    Refusal("long", "openai", 400, _json({"error": {"code": 400, "message": "the request exceeds the available context size. try increasing the context size or enable context shift", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}), "overflow", "available context size"),
    Refusal("loading", "openai", 503, _json({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}), "api", "Loading model", again=True),
    Refusal("jinja", "openai", 500, _json({"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}), "api", "requires --jinja", again=True),
    Refusal("studio", "openai", 400, _json({"error": "No models loaded. Please load a model in the developer page or use the 'lms load' command."}), "api", "No models loaded"),
    Refusal("tgi", "openai", 422, _json({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`", "error_type": "validation"}), "overflow", "Input validation error"),
)  # fmt: skip

GROUP_TAIL = (
    "\n\nLiteLLM: model group 'good' failed with the error above. No fallback was attempted."
)

LITELLM_PROXY = (
    Refusal("no group", "openai", 400, _json({"error": {"message": "{'error': '/chat/completions: Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your key.'}", "type": "None", "param": "None", "code": "400"}}), "api", "Invalid model name passed in model=gpt-9"),
    Refusal("wrapped", "openai", 400, _json({"error": {"message": "litellm.BadRequestError: OpenAIException - Unknown parameter: 'foo'" + LITELLM_TAIL, "type": None, "param": None, "code": "400"}}), "api", "Unknown parameter: 'foo'"),
    Refusal("bytes", "openai", 400, _json({"error": {"message": "litellm.BadRequestError: AnthropicException - b'" + _anthropic("invalid_request_error", "tools.0.name: String should match pattern") + "'" + LITELLM_TAIL, "type": None, "param": None, "code": "400"}}), "api", "tools.0.name: String should match pattern"),
    Refusal("printed", "openai", 401, _json({"error": {"message": "Error code: 401 - {'error': {'message': 'Incorrect API key provided: none.', 'type': 'invalid_request_error', 'param': None, 'code': 'invalid_api_key'}}", "type": "auth_error", "param": None, "code": "401"}}), "auth", "Incorrect API key provided: none"),
    Refusal("virtual key", "openai", 401, _json({"error": {"message": "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...abcd, Key Hash (Token) =88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b. Unable to find token in cache or `LiteLLM_VerificationTokenTable`", "type": "token_not_found_in_db", "param": "key", "code": "401"}}), "auth", "Invalid proxy server token"),
    Refusal("budget", "openai", 400, _json({"error": {"message": "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", "type": "budget_exceeded", "param": None, "code": "400"}}), "api", "Budget has been exceeded"),
    Refusal("no database", "openai", 400, _json({"error": {"message": "No connected db.", "type": "no_db_connection", "param": None, "code": "400"}}), "auth", "No connected db"),
    Refusal("after a group", "openai", 500, _json({"error": {"message": "litellm.InternalServerError: InternalServerError: OpenAIException - Connection error." + GROUP_TAIL, "type": None, "param": None, "code": "500"}}), "api", "answered 500: Connection error. Wait", again=True),
    Refusal("group limit", "openai", 429, _json({"error": {"message": "litellm.RateLimitError: RateLimitError: OpenAIException - Slow down." + GROUP_TAIL, "type": "throttling_error", "param": None, "code": "429"}}), "api", "answered 429: Slow down. Wait", again=True),
    Refusal("group overflow", "openai", 400, _json({"error": {"message": "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - This model's maximum context length is 8192 tokens.\nmodel=good. context_window_fallbacks=None. fallbacks=None.\n\nSet 'context_window_fallback' - https://docs.litellm.ai/docs/routing#fallbacks" + GROUP_TAIL, "type": None, "param": None, "code": "400"}}), "overflow", "maximum context length is 8192 tokens."),
    Refusal("unreachable", "anthropic", 500, _json({"error": {"message": "litellm.InternalServerError: Cannot connect to host 127.0.0.1:9 ssl:<ssl.SSLContext object at 0x7f7117b33ec0> [Connect call failed ('127.0.0.1', 9)]" + GROUP_TAIL, "type": None, "param": None, "code": "500"}}), "api", "Cannot connect to host 127.0.0.1:9 [Connect call failed", again=True),
    Refusal("cooldown", "openai", 429, _json({"error": {"message": "No deployments available for selected model, Try again in 5 seconds. Passed model=gpt-4o. pre-call-checks=False, cooldown_list=[]", "type": "None", "param": "None", "code": "429"}}), "api", "No deployments available", again=True),
)  # fmt: skip

AZURE = (
    Refusal("no deployment", "azure", 404, _json({"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}), "api", "The API deployment for this resource does not exist"),
    Refusal("no resource", "azure", 404, _json({"error": {"code": "404", "message": "Resource not found"}}), "api", "Resource not found"),
    Refusal("wrong key", "azure", 401, _json({"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint."}}), "auth", "invalid subscription key"),
    Refusal("gateway", "azure", 401, _json({"statusCode": 401, "message": "Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired."}), "auth", "Access token is missing"),
    Refusal("filter", "azure", 400, _json({"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", "type": None, "param": "prompt", "code": "content_filter", "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True, "severity": "high"}}}}}), "filter", ""),
    Refusal("rate", "azure", 429, _json({"error": {"code": "429", "message": "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate limit."}}), "api", "exceeded token rate limit", again=True),
    Refusal("version", "azure", 404, _json({"error": {"code": "404", "message": "API version not supported"}}), "api", "API version not supported"),
)  # fmt: skip

BEDROCK = (
    Refusal("no access", "bedrock", 403, _json({"message": "You don't have access to the model with the specified model ID."}), "api", "You don't have access to the model"),
    Refusal("wrong token", "bedrock", 403, _json({"message": "The security token included in the request is invalid.", "__type": "com.amazon.coral.service#UnrecognizedClientException"}), "auth", "security token included in the request is invalid"),
    Refusal("denied", "bedrock", 403, _json({"Message": "User: arn:aws:iam::1:user/me is not authorized to perform: bedrock:InvokeModelWithResponseStream"}), "api", "is not authorized to perform"),
    Refusal("throttled", "bedrock", 429, _json({"message": "Too many requests, please wait before trying again."}), "api", "Too many requests", again=True),
    Refusal("long", "bedrock", 400, _json({"message": "Input is too long for requested model."}), "overflow", "too long"),
    Refusal("on demand", "bedrock", 400, _json({"message": "Invocation of model ID anthropic.claude-x with on-demand throughput isn\u2019t supported. Retry your request with the ID or ARN of an inference profile that contains this model."}), "api", "on-demand throughput", again=True),
)  # fmt: skip

GATEWAYS = (
    Refusal("behind", "openai", 429, _json({"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "google/gemma-3 is temporarily rate-limited upstream. Please retry shortly.", "provider_name": "Chutes"}}, "user_id": "u"}), "api", "temporarily rate-limited upstream", again=True),
    Refusal("behind in JSON", "openai", 400, _json({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": _openai("Tool names must be unique."), "provider_name": "X"}}}), "api", "Tool names must be unique"),
    Refusal("no credit", "openai", 402, _json({"error": {"message": "Insufficient credits. Add more using the credits page.", "code": 402}}), "api", "no credit left"),
    Refusal("mistral", "mistral", 422, _json({"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "foo"], "msg": "Extra inputs are not permitted", "input": 1}]}, "type": "invalid_request_error", "param": None, "code": None}), "api", "Extra inputs are not permitted"),
    Refusal("mistral key", "mistral", 401, _json({"message": "Unauthorized", "request_id": "x"}), "auth", "Unauthorized"),
    Refusal("xai", "openai", 404, _json({"code": "Some requested entity was not found", "error": "The model grok-9 does not exist or your team does not have access to it."}), "api", "The model grok-9 does not exist"),
    Refusal("groq", "openai", 400, _json({"error": {"message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=python>"}}), "api", "Failed to call a function"),
    Refusal("workers", "openai", 400, _json({"errors": [{"message": "AiError: This model doesn't support tools", "code": 5006}], "success": False, "result": {}, "messages": []}), "api", "This model doesn't support tools"),
    Refusal("apigee", "openai", 404, _json({"fault": {"faultstring": "Unable to identify proxy for host: default", "detail": {"errorcode": "messaging.adaptors.http.flow.ApplicationNotFound"}}}), "api", "Unable to identify proxy"),
    Refusal("problem", "openai", 400, _json({"type": "https://example.org/bad", "title": "Bad Request", "status": 400, "detail": "The field 'tools' is too long."}), "api", "The field 'tools' is too long"),
    Refusal("kong", "openai", 404, _json({"message": "no Route matched with those values"}), "api", "no Route matched"),
    Refusal("oauth", "openai", 400, _json({"error": "invalid_request", "error_description": "The token has the wrong audience."}), "api", "wrong audience"),
    Refusal("plain", "openai", 404, "404 page not found", "api", "404 page not found", content=PLAIN),
    Refusal("empty", "openai", 502, "", "api", "answered 502", again=True, content=PLAIN),
    Refusal("empty of anthropic", "anthropic", 502, "", "api", "answered 502", again=True, content=PLAIN),
)  # fmt: skip

PAGES = (
    Refusal("not found", "openai", 404, _page("404 Not Found"), "api", '"404 Not Found"', content=HTML),
    Refusal("not found of anthropic", "anthropic", 404, _page("404 Not Found"), "api", '"404 Not Found"', content=HTML),
    Refusal("bad gateway", "openai", 502, _page("502 Bad Gateway"), "api", '"502 Bad Gateway"', again=True, content=HTML),
    Refusal("unavailable", "anthropic", 503, _page("503 Service Temporarily Unavailable"), "api", "Temporarily Unavailable", again=True, content=HTML),
    Refusal("large", "openai", 413, _page("413 Request Entity Too Large"), "overflow", "Too Large", content=HTML),
    Refusal("plain to TLS", "openai", 400, _page("400 The plain HTTP request was sent to HTTPS port"), "api", "plain HTTP request was sent to HTTPS port", content=HTML),
    Refusal("cloudflare", "openai", 524, CLOUDFLARE, "api", "A timeout occurred", again=True, content=HTML),
    Refusal("method", "openai", 405, _page("405 Not Allowed"), "api", '"405 Not Allowed"', content=HTML),
    Refusal("forbidden", "openai", 403, _page("403 Forbidden", "awselb/2.0"), "api", '"403 Forbidden"', content=HTML),
    Refusal("xml", "openai", 403, '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>', "api", "Access Denied", content="application/xml"),
    Refusal("gemini", "gemini", 404, "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Error 404 (Not Found)!!1</title>\n<p><b>404.</b> <ins>That is an error.</ins>", "api", "Error 404 (Not Found)", content=HTML),
)  # fmt: skip

REFUSALS = (
    *OPENAI, *ANTHROPIC, *GEMINI, *OLLAMA, *VLLM, *LLAMA_CPP, *LITELLM_PROXY, *AZURE, *BEDROCK, *GATEWAYS, *PAGES,
)  # fmt: skip
