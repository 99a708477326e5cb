"""Model families: a judge tends to favour answers of its own family."""

from __future__ import annotations

import re

# A word in the name of a model, and its maker; the first match in the name counts.
FAMILIES: dict[str, str] = {
    "claude": "Anthropic",
    "deepseek": "DeepSeek",
    "gpt": "OpenAI",
    "chatgpt": "OpenAI",
    "o1": "OpenAI",
    "o3": "OpenAI",
    "o4": "OpenAI",
    "gemini": "Google",
    "gemma": "Google",
    "llama": "Meta",
    "mistral": "Mistral",
    "mixtral": "Mistral",
    "ministral": "Mistral",
    "magistral": "Mistral",
    "qwen": "Alibaba",
    "qwq": "Alibaba",
    "phi": "Microsoft",
    "command": "Cohere",
    "grok": "xAI",
    "nova": "Amazon",
    "titan": "Amazon",
    "granite": "IBM",
    "glm": "Zhipu",
    "kimi": "Moonshot",
}
_WORDS = re.compile(
    "|".join(rf"(?<![a-z0-9]){word}(?![a-z])" for word in FAMILIES)  # gpt-4, llama3.1, not "ogpt"
)


def family_of(model: str) -> str | None:
    """The maker of a model; None if the name does not show it.

    Examples
    --------
    >>> family_of("us.anthropic.claude-sonnet-4-5"), family_of("llama3.1:8b"), family_of("mine")
    ('Anthropic', 'Meta', None)
    """
    match = _WORDS.search(model.lower())
    return FAMILIES[match[0]] if match else None
