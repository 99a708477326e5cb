import pytest

from rageval_report.errors import DataError, JudgeError
from rageval_report.judges import FunctionChat, Message, Reply, ScriptedChat
from rageval_report.judges.chats.base import as_chat
from rageval_report.judges.chats.families import family_of


def test_a_callable_gets_system_and_question_as_one_text():
    asked = []
    with FunctionChat(lambda text: asked.append(text) or "yes", "m").open() as ask:
        assert ask(Message("Is it?", "You judge.")).text == "yes"
    assert asked == ["You judge.\n\nIs it?"]


def test_a_callable_may_count_its_tokens():
    with as_chat(lambda text: Reply("yes", 3, 1)).open() as ask:
        assert ask(Message("Is it?")).prompt_tokens == 3


def test_a_callable_that_gives_no_text_is_told():
    with FunctionChat(lambda text: 7, "m").open() as ask, pytest.raises(JudgeError, match="int"):
        ask(Message("Is it?"))


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(DataError, match="chat must be a chat client"):
        as_chat("gpt-5")


def test_a_script_that_is_at_its_end_says_so():
    with ScriptedChat(["one"]).open() as ask:
        ask(Message("a"))
        with pytest.raises(JudgeError, match="no scripted reply is left for: 'b'"):
            ask(Message("b"))


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
