"""Judges: metrics that ask a chat model, by a rubric that says what and on which scale.

`judge` lets a model judge every record by rubrics, `prefer` compares two pipelines, and `estimate`
says before what it would cost. `JUDGES` is the table of rubrics, `CHATS` that of model providers.
A chat over HTTP needs the extra ``judge``; a callable that takes a text and returns one needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.judges.chats import CHATS as CHATS
    from rageval_report.judges.chats.anthropic import anthropic_chat as anthropic_chat
    from rageval_report.judges.chats.base import FunctionChat as FunctionChat
    from rageval_report.judges.chats.base import Message as Message
    from rageval_report.judges.chats.base import Reply as Reply
    from rageval_report.judges.chats.bedrock import bedrock_chat as bedrock_chat
    from rageval_report.judges.chats.environment import (
        chat_from_environment as chat_from_environment,
    )
    from rageval_report.judges.chats.gemini import gemini_chat as gemini_chat
    from rageval_report.judges.chats.openai import ollama_chat as ollama_chat
    from rageval_report.judges.chats.openai import openai_chat as openai_chat
    from rageval_report.judges.chats.scripted import ScriptedChat as ScriptedChat
    from rageval_report.judges.estimating import estimate as estimate
    from rageval_report.judges.estimating import estimate_preference as estimate_preference
    from rageval_report.judges.judge_options import JudgeOptions as JudgeOptions
    from rageval_report.judges.judged import Judged as Judged
    from rageval_report.judges.judging import GrowingJudging as GrowingJudging
    from rageval_report.judges.judging import growing_judging as growing_judging
    from rageval_report.judges.judging import judge as judge
    from rageval_report.judges.judging import judge_blocks as judge_blocks
    from rageval_report.judges.preference_results import Preferences as Preferences
    from rageval_report.judges.preferences import prefer as prefer
    from rageval_report.judges.reply_cache import Cache as Cache
    from rageval_report.judges.reply_cache import default_cache as default_cache
    from rageval_report.judges.rubric import Rubric as Rubric
    from rageval_report.judges.rubric_files import read_rubric as read_rubric
    from rageval_report.judges.rubrics import JUDGES as JUDGES
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)
