"""Rows of the matrix: the anthropic SDK."""

import anthropic
from anthropic import beta_tool
from pydantic import BaseModel

from script import (
    BOTH, PAGE, PARIS, PDF64, PNG64, SAID, SAID_FROM_PAGE, SCHEMA, WHO, cached, equal, raises, thinks
)

ROWS = []


def row(function):
    ROWS.append(function)
    return function


class Weather(BaseModel):
    city: str
    degrees: int


def user(content):
    return [{"role": "user", "content": content}]


TOOLS = [{"name": "weather", "description": "The weather", "input_schema": SCHEMA}]
BLOCK = {"type": "base64", "media_type": "image/png", "data": PNG64}


def texts(message):
    return "".join(block.text for block in message.content if block.type == "text")


@row
def messages(c, model):
    got = c.anthropic.messages.create(model=model, max_tokens=64, messages=user("hello?"), extra_body={"temperature": 0.5})
    equal((texts(got), got.stop_reason, got.role), (SAID, "end_turn", "assistant"))
    # Here what comes from a cache is no part of the input.
    from_cache = cached(model)
    equal((got.usage.input_tokens, got.usage.cache_read_input_tokens, got.usage.output_tokens), (9 - from_cache, from_cache, 5))


@row
def messages_raw_response(c, model):
    raw = c.anthropic.messages.with_raw_response.create(model=model, max_tokens=64, messages=user("hello?"))
    equal(raw.headers["x-mainstay-provider"], model.removeprefix("m-"))
    equal(bool(raw.headers["request-id"]), True)
    equal(texts(raw.parse()), SAID)


@row
def messages_async(c, model):
    async def ask(o, a, g):
        got = await a.messages.create(model=model, max_tokens=64, messages=user("hello?"))
        async with a.messages.stream(model=model, max_tokens=64, messages=user("hello?")) as stream:
            return texts(got), await stream.get_final_text()

    equal(c.run(ask), (SAID, SAID))


@row
def messages_system(c, model):
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    got = c.anthropic.messages.create(model=model, max_tokens=64, system=system, messages=user("What is the system?"))
    equal(texts(got), "Be brief.")


@row
def messages_limits(c, model):
    got = c.anthropic.messages.create(model=model, max_tokens=77, messages=user("How long may it be?"))
    equal(texts(got), "Some(77)")
    got = c.anthropic.messages.create(model=model, max_tokens=3, messages=user("Say too much."))
    equal(got.stop_reason, "max_tokens")


@row
def messages_stop(c, model):
    got = c.anthropic.messages.create(
        model=model, max_tokens=64, messages=user("What stops you?"), stop_sequences=["END", "FIN"])
    equal(texts(got), "END,FIN")


@row
def messages_stream(c, model):
    events = list(c.anthropic.messages.create(model=model, max_tokens=64, messages=user("hello?"), stream=True))
    kinds = [event.type for event in events]
    equal((kinds[0], kinds[-1]), ("message_start", "message_stop"))
    equal("".join(event.delta.text for event in events if event.type == "content_block_delta"), SAID)


@row
def messages_stream_helper(c, model):
    with c.anthropic.messages.stream(model=model, max_tokens=64, messages=user("hello?")) as stream:
        equal("".join(stream.text_stream), SAID)
        final = stream.get_final_message()
    equal((final.stop_reason, final.usage.output_tokens), ("end_turn", 5))


@row
def messages_sources(c, model):
    """Only Anthropic's own: it takes back what it encrypted itself. Also in a stream, and sent back with the next question."""
    ask = dict(model=model, max_tokens=64)
    got = c.anthropic.messages.create(messages=user(WHO), **ask)
    with c.anthropic.messages.stream(messages=user(WHO), **ask) as stream:
        streamed = stream.get_final_message()
    for message in (got, streamed):
        equal(texts(message), SAID_FROM_PAGE)
        told = [(one.url, one.title, block.text) for block in message.content for one in block.citations or []]
        equal(told, [PAGE] if model == "m-anthropic" else [])
        turns = user(WHO) + [{"role": "assistant", "content": message.content}] + user("How many turns?")
        equal(texts(c.anthropic.messages.create(messages=turns, **ask)), "3")


@row
def messages_tools(c, model):
    ask = dict(model=model, max_tokens=64, tools=TOOLS)
    turns = user(BOTH)
    got = c.anthropic.messages.create(messages=turns, **ask)
    uses = [block for block in got.content if block.type == "tool_use"]
    equal(([use.input for use in uses], got.stop_reason), ([{"city": "Paris"}, {"city": "Rome"}], "tool_use"))
    turns.append({"role": "assistant", "content": got.content})
    turns += user([{"type": "tool_result", "tool_use_id": use.id, "content": "21"} for use in uses])
    equal(texts(c.anthropic.messages.create(messages=turns, **ask)), "The tools said: 21; 21.")


@row
def messages_tools_stream_helper(c, model):
    with c.anthropic.messages.stream(model=model, max_tokens=64, tools=TOOLS, messages=user(BOTH)) as stream:
        grown = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    equal([block.input for block in final.content if block.type == "tool_use"], [{"city": "Paris"}, {"city": "Rome"}])
    equal("".join(grown), '{"city":"Paris"}{"city":"Rome"}')


@row
def messages_tool_runner(c, model):
    @beta_tool
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"21 in {city}"

    runner = c.anthropic.beta.messages.tool_runner(model=model, max_tokens=64, tools=[weather], messages=user(BOTH))
    equal(texts(runner.until_done()), "The tools said: 21 in Paris; 21 in Rome.")


@row
def messages_tool_forced(c, model):
    tools = TOOLS + [{"name": "clock", "input_schema": {"type": "object"}}]
    choice = {"type": "tool", "name": "clock"}
    got = c.anthropic.messages.create(model=model, max_tokens=64, tools=tools, tool_choice=choice, messages=user(PARIS))
    equal(got.content[0].name, "clock")


@row
def messages_thoughts(c, model):
    ask = dict(model=model, max_tokens=4096, tools=TOOLS, thinking={"type": "enabled", "budget_tokens": 1024})
    turns = user(PARIS)
    got = c.anthropic.messages.create(messages=turns, **ask)
    if thinks(model):
        equal((got.content[0].type, got.content[0].thinking), ("thinking", "Let me think."))
    use = next(block for block in got.content if block.type == "tool_use")
    turns.append({"role": "assistant", "content": got.content})
    turns += user([{"type": "tool_result", "tool_use_id": use.id, "content": "21"}])
    equal(texts(c.anthropic.messages.create(messages=turns, **ask)), "The tools said: 21.")


@row
def messages_thoughts_stream(c, model):
    thinking = {"type": "adaptive"}
    with c.anthropic.messages.stream(model=model, max_tokens=4096, messages=user("hello?"), thinking=thinking) as stream:
        heard = "".join(event.thinking for event in stream if event.type == "thinking")
        equal(texts(stream.get_final_message()), SAID)
    # Other APIs have no word for thinking as much as one likes: there it is left to the provider.
    if model in ("m-anthropic", "m-gemini"):
        equal(heard, "Let me think.")


@row
def messages_parse(c, model):
    got = c.anthropic.messages.parse(model=model, max_tokens=64, messages=user("hello?"), output_format=Weather)
    equal(got.parsed_output, Weather(city="Paris", degrees=21))


@row
def messages_image(c, model):
    content = [{"type": "image", "source": BLOCK}, {"type": "text", "text": "What do you see?"}]
    equal(texts(c.anthropic.messages.create(model=model, max_tokens=64, messages=user(content))), "1 images, 0 files")


@row
def messages_document(c, model):
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF64}
    content = [{"type": "document", "source": source, "title": "a.pdf"}, {"type": "text", "text": "What do you see?"}]
    equal(texts(c.anthropic.messages.create(model=model, max_tokens=64, messages=user(content))), "0 images, 1 files")


@row
def messages_document_text(c, model):
    source = {"type": "text", "media_type": "text/plain", "data": "Once upon a time"}
    content = [{"type": "document", "source": source}, {"type": "text", "text": "What is it?"}]
    equal(texts(c.anthropic.messages.create(model=model, max_tokens=64, messages=user(content))), SAID)


@row
def messages_tool_failed(c, model):
    uses = [{"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {"city": "Paris"}}]
    results = [{"type": "tool_result", "tool_use_id": "toolu_01", "is_error": True, "content": "no"}]
    turns = user(PARIS) + [{"role": "assistant", "content": uses}] + user(results)
    got = c.anthropic.messages.create(model=model, max_tokens=64, tools=TOOLS, messages=turns)
    equal(texts(got), "The tools said: no.")


@row
def messages_top_k(c, model):
    c.anthropic.messages.create(model=model, max_tokens=64, messages=user("hello?"), extra_body={"top_k": 5})


@row
def messages_server_tool(c, model):
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    c.anthropic.messages.create(model=model, max_tokens=64, messages=user("hello?"), tools=tools)


@row
def messages_count_tokens(c, model):
    equal(c.anthropic.messages.count_tokens(model=model, messages=user("hello?")).input_tokens, 9)


@row
def messages_errors(c, model):
    for status, kind in ((401, anthropic.AuthenticationError), (404, anthropic.NotFoundError), (429, anthropic.RateLimitError),
                         (500, anthropic.InternalServerError)):
        ask = dict(model=f"{model}-status-{status}", max_tokens=64, messages=user("hello?"))
        error = raises(kind, lambda: c.anthropic.messages.create(**ask))
        equal((error.status_code, error.body["type"]), (status, "error"))
        if "the script says so" not in error.body["error"]["message"]:
            raise AssertionError(f"the provider's words are lost: {error.body}")
        raises(kind, lambda: c.anthropic.messages.create(**ask, stream=True))


@row
def messages_late_error(c, model):
    heard = []

    def listen():
        with c.anthropic.messages.stream(model=f"{model}-late-error", max_tokens=64, messages=user("hello?")) as stream:
            heard.extend(stream.text_stream)

    try:
        listen()
    except anthropic.APIError:
        equal("".join(heard), "Hello ")
    else:
        raise AssertionError("no error was raised")
