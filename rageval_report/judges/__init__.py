"""Judges: metrics that ask a chat model, by a rubric that says what and on which scale.

`judge` lets a model judge every record by rubrics, `prefer` compares two pipelines, and `estimate`
says before what it would cost. `JUDGES` is the table of rubrics, `CHATS` that of model providers.
A chat over HTTP needs the extra ``judge``; a callable that takes a text and returns one needs none.
"""

from rageval_report.judges.cache import Cache, default_cache
from rageval_report.judges.chats import (
    CHATS,
    ChatOptions,
    FunctionChat,
    Message,
    Reply,
    ScriptedChat,
    chat_from_environment,
)
from rageval_report.judges.judging import GrowingJudging as GrowingJudging
from rageval_report.judges.judging import Judged, estimate, judge
from rageval_report.judges.judging import growing_judging as growing_judging
from rageval_report.judges.preferences import Preferences, prefer
from rageval_report.judges.providers import (
    anthropic_chat,
    bedrock_chat,
    gemini_chat,
    ollama_chat,
    openai_chat,
)
from rageval_report.judges.rubric import JUDGES, Rubric, read_rubric
from rageval_report.judges.sessions import CallOptions, JudgeOptions

__all__ = [
    "CHATS",
    "JUDGES",
    "Cache",
    "CallOptions",
    "ChatOptions",
    "FunctionChat",
    "JudgeOptions",
    "Judged",
    "Message",
    "Preferences",
    "Reply",
    "Rubric",
    "ScriptedChat",
    "anthropic_chat",
    "bedrock_chat",
    "chat_from_environment",
    "default_cache",
    "estimate",
    "gemini_chat",
    "judge",
    "ollama_chat",
    "openai_chat",
    "prefer",
    "read_rubric",
]
