import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges import chat_from_environment, ollama_chat


def test_ollama_on_this_machine_is_asked_where_nothing_is_said():
    chat = chat_from_environment(model="llama3.1")
    assert chat.url == "http://localhost:11434/v1/chat/completions"


def test_the_environment_names_provider_and_model(monkeypatch):
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "anthropic")
    monkeypatch.setenv("RAG_EVAL_ANTHROPIC_MODEL", "claude-haiku-4-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    chat = chat_from_environment()
    assert (chat.provider, chat.model) == ("anthropic", "claude-haiku-4-5")


def test_arguments_win_over_the_environment(monkeypatch):
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "anthropic")
    monkeypatch.setenv("RAG_EVAL_OLLAMA_MODEL", "other")
    assert chat_from_environment("ollama", "llama3.1").model == "llama3.1"


def test_a_server_of_ones_own_is_asked_by_the_protocol_of_openai():
    chat = chat_from_environment(model="qwen3", base_url="http://localhost:8000/v1")
    assert (chat.provider, chat.url) == ("openai", "http://localhost:8000/v1/chat/completions")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu:11434", "http://gpu:11434/v1/chat/completions"),
        ("https://gpu", "https://gpu/v1/chat/completions"),
        ("https://gpu/ollama/v1/", "https://gpu/ollama/v1/chat/completions"),
    ],
)
def test_the_host_of_ollama_may_be_bare(monkeypatch, host, url):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ollama_chat("llama3.1").url == url


def test_the_variable_of_this_tool_goes_before_ollama_s(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "http://one")
    monkeypatch.setenv("RAG_EVAL_OLLAMA_BASE_URL", "http://two")
    assert ollama_chat("llama3.1").url.startswith("http://two/")


def test_a_model_is_not_invented():
    with pytest.raises(DataError, match="RAG_EVAL_OLLAMA_MODEL"):
        chat_from_environment()


def test_an_unknown_provider_is_told_with_the_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'anthropic'"):
        chat_from_environment("antropic", "m")
