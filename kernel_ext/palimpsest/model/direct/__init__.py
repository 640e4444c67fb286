"""Send requests in OpenAI's and Anthropic's own formats over HTTP, without litellm."""
