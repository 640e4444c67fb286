"""The provider's prompt cache over a recording: how tokens are counted, what was read, why a prefix was lost."""
