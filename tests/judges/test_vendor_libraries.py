"""The providers' own libraries send what we send, and read what the server of these tests says.

anthropic 2.12.0, openai 3.54.0, google-genai 3.4.0; a test skips where its library is absent.
"""

import pytest

from rageval_report.judges import Message

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [1, 2]}},
    "required": ["score"],
    "additionalProperties": False,
}
PROMPT, SYSTEM, LIMIT = "How good?", "You judge.", 7


def ask_anthropic(url):
    client = pytest.importorskip("anthropic").Anthropic(base_url=url, api_key="none", max_retries=0)
    with client:
        said = client.messages.create(
            model="toy",
            max_tokens=LIMIT,
            system=SYSTEM,
            messages=[{"role": "user", "content": PROMPT}],
            output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
        )
    type(said).model_validate(said.model_dump(), strict=True)
    return said.content[-1].text, said.usage.output_tokens


def ask_openai(url):
    client = pytest.importorskip("openai").OpenAI(base_url=url, api_key="none", max_retries=0)
    form = {"name": "verdict", "strict": True, "schema": SCHEMA}
    with client:
        said = client.chat.completions.create(
            model="toy",
            max_tokens=LIMIT,
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}],
            response_format={"type": "json_schema", "json_schema": form},
        )
    type(said).model_validate(said.model_dump(), strict=True)
    return said.choices[0].message.content, said.usage.completion_tokens


def ask_gemini(url):
    genai = pytest.importorskip("google.genai")
    base, version = url.rsplit("/", 1)
    where = genai.types.HttpOptions(base_url=base, api_version=version)
    with genai.Client(api_key="none", http_options=where) as client:
        said = client.models.generate_content(
            model="toy",
            contents=PROMPT,
            config=genai.types.GenerateContentConfig(
                system_instruction=SYSTEM,
                max_output_tokens=LIMIT,
                response_mime_type="application/json",
                response_json_schema=SCHEMA,
            ),
        )
    usage = said.usage_metadata
    return said.text, usage.candidates_token_count + usage.thoughts_token_count


THEIRS = {"anthropic": ask_anthropic, "gemini": ask_gemini, "openai": ask_openai}


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_their_library_sends_the_same_request_and_reads_the_same_answer(provider, chat_of, name):
    provider.will('{"score": 2}')
    theirs = THEIRS[name](provider.url(name))
    with chat_of(name, max_tokens=LIMIT).open() as asking:
        reply = asking(Message(PROMPT, SYSTEM, SCHEMA))
    assert (reply.text, reply.completion_tokens) == theirs
    by_them, by_us = map(without_roles, provider.asked)
    assert by_us == by_them


def without_roles(body):
    """Gemini's library names the one role there is, which may be left out."""
    if "systemInstruction" not in body:
        return body
    instruction = {k: v for k, v in body["systemInstruction"].items() if k != "role"}
    contents = [{k: v for k, v in one.items() if k != "role"} for one in body["contents"]]
    return {**body, "systemInstruction": instruction, "contents": contents}
