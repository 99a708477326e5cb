"""The protocol Converse of Amazon Bedrock. Needs the extra ``http``, or ``bedrock`` to sign."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Unpack
from urllib.parse import quote

from rageval_report.errors import DataError
from rageval_report.http.aws_signatures import (
    ACCESS_KEY_ID,
    SECRET_ACCESS_KEY,
    AwsSigner,
    region_from_environment,
)
from rageval_report.http.provider_homes import ProviderHome
from rageval_report.http.responses import Headers, HttpResponse, Signer
from rageval_report.judges.chats.base import Ending, Message, Reply
from rageval_report.judges.chats.chat_options import ChatOptions
from rageval_report.judges.chats.over_http import (
    HttpChat,
    JsonBody,
    inner_object,
    inner_objects,
    key_header,
    read_ending,
    sum_tokens,
)

_SERVICE = "bedrock"
_BEARER_TOKEN = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105
_ENDINGS: dict[str, Ending] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
# inputTokens leaves out what came from the prompt cache, which is paid for too.
_INPUT_TOKENS = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
# The domains of regions outside the main one, by the beginning of the region's name.
_DOMAINS = {"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu"}
_DOMAIN = "amazonaws.com"


def bedrock_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    **options: Unpack[ChatOptions],
) -> HttpChat:
    """A chat with a model of Amazon Bedrock, by the protocol Converse.

    Parameters
    ----------
    model : str
        The id of a model or of an inference profile, or its ARN, for example
        "us.anthropic.claude-haiku-4-5-20251001-v1:0".
    base_url : str, optional
        If omitted, RAG_EVAL_BEDROCK_BASE_URL or AWS_ENDPOINT_URL_BEDROCK_RUNTIME, else the server
        of the region in AWS_REGION or AWS_DEFAULT_REGION.
    api_key_env : str, optional
        The environment variable that contains an API key of Bedrock. If `base_url` is omitted too,
        the default is RAG_EVAL_BEDROCK_API_KEY or AWS_BEARER_TOKEN_BEDROCK; if neither is set,
        AWS_SECRET_ACCESS_KEY, with which requests are signed.
    **options
        As for `openai_chat`.

    Raises
    ------
    DataError
        If an argument has no valid value, or the key or the region is missing.
    MissingDependencyError
        If requests are to be signed and the extra ``bedrock`` is not installed.

    Notes
    -----
    With "AWS_SECRET_ACCESS_KEY" as `api_key_env` each attempt is signed (Signature Version 4) with
    it, AWS_ACCESS_KEY_ID, the region and, if it is set, AWS_SESSION_TOKEN. Profiles and roles are
    not read; ``aws configure export-credentials --format env`` prints their keys as variables.

    Examples
    --------
    >>> chat = bedrock_chat("amazon.nova-lite-v1:0", base_url="http://localhost:8080")
    >>> chat.url
    'http://localhost:8080/model/amazon.nova-lite-v1%3A0/converse'
    """
    return _BedrockChat.connect(model, base_url, api_key_env, options)


class _BedrockChat(HttpChat):
    provider = "bedrock"
    limit_fields = (("inferenceConfig", "maxTokens"),)
    home = ProviderHome(
        f"https://bedrock-runtime.us-east-1.{_DOMAIN}",  # of another region in `locate`
        ("RAG_EVAL_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        ("RAG_EVAL_BEDROCK_API_KEY", _BEARER_TOKEN, SECRET_ACCESS_KEY),
    )

    @classmethod
    def locate(cls, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        is_named = base_url is not None or cls.home.routed_url() is not None
        home = cls.home if is_named else replace(cls.home, url=_regional_url())
        return home.locate(base_url, api_key_env)

    @staticmethod
    def endpoint(base: str, model: str) -> str:
        # Ids contain ":", and ARNs "/" too.
        return f"{base}/model/{quote(str(model), safe='')}/converse"

    def headers(self) -> Headers:
        if self._is_signed:
            return {}
        return key_header("authorization", self.key_variable, "Bearer")

    def signer(self) -> Signer | None:
        if not self._is_signed:
            return None
        region = region_from_environment()
        try:
            return AwsSigner.from_environment(_SERVICE, region)
        except DataError as exc:
            raise DataError(
                f"{exc}. Amazon Bedrock needs {_BEARER_TOKEN}, or {ACCESS_KEY_ID} and "
                f"{SECRET_ACCESS_KEY}, with which requests are signed"
            ) from exc

    @property
    def _is_signed(self) -> bool:
        return self.key_variable == SECRET_ACCESS_KEY

    def write(self, message: Message) -> JsonBody:
        config: JsonBody = {"maxTokens": self.options.max_tokens}
        if self.options.temperature is not None:
            config["temperature"] = self.options.temperature
        body: JsonBody = {
            "messages": [{"role": "user", "content": [{"text": message.user}]}],
            "system": [{"text": message.system}] if message.system else None,
            "inferenceConfig": config,
        }
        schema = self.schema_of(message)
        if schema is not None:
            # The schema is a text here, not an object.
            text = json.dumps(dict(schema), ensure_ascii=False)
            structure = {"jsonSchema": {"name": "verdict", "schema": text}}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": structure}}
        return body

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        message = inner_object(inner_object(document, "output"), "message")
        if not isinstance(message.get("content"), list):
            raise answer.error('expected {"output": {"message": {"content": [{"text": ...}]}}}')
        usage = inner_object(document, "usage")
        return Reply(
            # Other parts are the model's thoughts, and have no text.
            "".join(str(part.get("text", "")) for part in inner_objects(message, "content")),
            sum_tokens(usage, *_INPUT_TOKENS),
            sum_tokens(usage, "outputTokens"),
            read_ending(document.get("stopReason"), _ENDINGS),
        )


def _regional_url() -> str:
    region = region_from_environment()
    beginnings = (domain for start, domain in _DOMAINS.items() if region.startswith(start))
    return f"https://bedrock-runtime.{region}.{next(beginnings, _DOMAIN)}"
