"""Chats: callables, scripts, what the environment names, and the families of models."""

import pytest

from rageval_report.errors import DataError, JudgeError, UnknownNameError
from rageval_report.judges import (
    FunctionChat,
    Message,
    ScriptedChat,
    chat_from_environment,
    ollama_chat,
)
from rageval_report.judges.chats import as_chat, family_of


def test_a_callable_gets_system_and_question_as_one_text():
    asked = []
    with FunctionChat(lambda text: asked.append(text) or "yes", "m").open() as ask:
        assert ask(Message("Is it?", "You judge.")).text == "yes"
    assert asked == ["You judge.\n\nIs it?"]


def test_a_callable_that_gives_no_text_is_told():
    with FunctionChat(lambda text: 7, "m").open() as ask, pytest.raises(JudgeError, match="int"):
        ask(Message("Is it?"))


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(DataError, match="chat must be a chat client"):
        as_chat("gpt-5")


def test_a_script_may_fail():
    chat = ScriptedChat(lambda message: ValueError(message.user))
    with chat.open() as ask, pytest.raises(ValueError, match="no"):
        ask(Message("no"))


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "OpenAI"),
        ("openai/o3-mini", "OpenAI"),
        ("us.anthropic.claude-sonnet-4-5-v1:0", "Anthropic"),
        ("models/gemini-2.5-flash", "Google"),
        ("meta-llama/Llama-3.1-8B", "Meta"),
        ("Qwen/Qwen2.5-7B-Instruct", "Alibaba"),
        ("my-photo3-model", None),
        ("", None),
    ],
)
def test_the_family_is_read_off_the_name(model, family):
    assert family_of(model) == family


# -- the environment


def test_the_environment_names_provider_and_model(monkeypatch):
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "anthropic")
    monkeypatch.setenv("RAG_EVAL_ANTHROPIC_MODEL", "claude-haiku-4-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    chat = chat_from_environment()
    assert (chat.settings["provider"], chat.model) == ("anthropic", "claude-haiku-4-5")


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


def test_a_model_is_not_invented():
    with pytest.raises(DataError, match="RAG_EVAL_OLLAMA_MODEL"):
        chat_from_environment()


def test_an_unknown_provider_is_told_with_the_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'anthropic'"):
        chat_from_environment("antropic", "m")
