"""Rows of the matrix: the openai SDK, chat completions and Responses."""

import json

import openai
from pydantic import BaseModel

from script import (
    BOTH, HIDDEN, PARIS, PDF64, PNG64, SAID, SAID_FROM_PAGE, SCHEMA, WHO, cached, equal, raises, sources, thinks
)

ROWS = []


def row(function):
    ROWS.append(function)
    return function


class Weather(BaseModel):
    city: str
    degrees: int


def user(text):
    return [{"role": "user", "content": text}]


TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": SCHEMA}}]
FLAT_TOOLS = [{"type": "function", "name": "weather", "description": "The weather", "parameters": SCHEMA, "strict": True}]


@row
def chat(c, model):
    got = c.openai.chat.completions.create(model=model, messages=user("hello?"), max_tokens=64, temperature=0.5)
    equal((got.choices[0].message.content, got.choices[0].finish_reason, got.object), (SAID, "stop", "chat.completion"))
    usage = got.usage
    equal((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (9, 5, 14))
    equal(usage.prompt_tokens_details.cached_tokens, cached(model))


@row
def chat_raw_response(c, model):
    raw = c.openai.chat.completions.with_raw_response.create(model=model, messages=user("hello?"))
    equal(raw.headers["x-mainstay-provider"], model.removeprefix("m-"))
    equal(raw.parse().choices[0].message.content, SAID)


@row
def chat_async(c, model):
    async def ask(o, a, g):
        got = await o.chat.completions.create(model=model, messages=user("hello?"))
        text = ""
        async for chunk in await o.chat.completions.create(model=model, messages=user("hello?"), stream=True):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        return got.choices[0].message.content, text

    equal(c.run(ask), (SAID, SAID))


@row
def chat_system(c, model):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Be kind."}]
    got = c.openai.chat.completions.create(model=model, messages=messages + user("What is the system?"))
    equal(got.choices[0].message.content.replace("\n", ""), "Be brief.Be kind.")


@row
def chat_turns(c, model):
    messages = user("hello?") + [{"role": "assistant", "content": SAID}] + user("How many turns?")
    equal(c.openai.chat.completions.create(model=model, messages=messages).choices[0].message.content, "3")


@row
def chat_limits(c, model):
    ask = c.openai.chat.completions.create
    got = ask(model=model, messages=user("How long may it be?"), max_tokens=77)
    equal(got.choices[0].message.content, "Some(77)")
    got = ask(model=model, messages=user("Say too much."), max_tokens=3)
    equal((got.choices[0].message.content, got.choices[0].finish_reason), ("As I was going to", "length"))


@row
def chat_stop(c, model):
    got = c.openai.chat.completions.create(model=model, messages=user("What stops you?"), stop=["END", "FIN"])
    equal(got.choices[0].message.content, "END,FIN")


@row
def chat_stream(c, model):
    text, finish, usage = "", None, None
    # Mistral refuses the field, and tells the tokens without.
    wish = {} if model == "m-mistral" else {"stream_options": {"include_usage": True}}
    stream = c.openai.chat.completions.create(model=model, messages=user("hello?"), stream=True, **wish)
    for chunk in stream:
        usage = chunk.usage or usage
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
            finish = chunk.choices[0].finish_reason or finish
    equal((text, finish), (SAID, "stop"))
    # A provider's own stream passes untouched: Groq tells its tokens where the SDK does not look.
    if usage or model != "m-groq":
        equal((usage.prompt_tokens, usage.completion_tokens), (9, 5))


@row
def chat_stream_helper(c, model):
    kinds = []
    with c.openai.chat.completions.stream(model=model, messages=user("hello?")) as stream:
        for event in stream:
            kinds.append(event.type)
        equal(stream.get_final_completion().choices[0].message.content, SAID)
    equal(kinds.count("content.done"), 1)


@row
def chat_tools(c, model):
    messages = user(BOTH)
    got = c.openai.chat.completions.create(model=model, messages=messages, tools=TOOLS, tool_choice="auto")
    calls = got.choices[0].message.tool_calls
    equal([(call.function.name, json.loads(call.function.arguments)) for call in calls],
          [("weather", {"city": "Paris"}), ("weather", {"city": "Rome"})])
    # The provider's own word passes as it is; a translated one is made true.
    equal(got.choices[0].finish_reason, "stop" if model == "m-ollama" else "tool_calls")
    messages.append(got.choices[0].message)
    messages += [{"role": "tool", "tool_call_id": call.id, "content": said} for call, said in zip(calls, ("21", "25"))]
    got = c.openai.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    equal(got.choices[0].message.content, "The tools said: 21; 25.")


@row
def chat_tools_stream_helper(c, model):
    with c.openai.chat.completions.stream(model=model, messages=user(BOTH), tools=TOOLS) as stream:
        for _ in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    equal([json.loads(call.function.arguments)["city"] for call in message.tool_calls], ["Paris", "Rome"])
    messages = user(BOTH) + [message]
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "20"} for call in message.tool_calls]
    equal(c.openai.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message.content,
          "The tools said: 20; 20.")


@row
def chat_tools_and_thoughts(c, model):
    """The second turn of a conversation with tools comes back without the thoughts that the first turn had."""
    messages = user(PARIS)
    ask = dict(model=model, tools=TOOLS, reasoning_effort="low", max_tokens=4096)
    message = c.openai.chat.completions.create(messages=messages, **ask).choices[0].message
    messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21"}]
    content = c.openai.chat.completions.create(messages=messages, **ask).choices[0].message.content
    # Its own dialect passes untouched, and there thoughts are parts of the content.
    equal(content[1]["text"] if model == "m-mistral" else content, "The tools said: 21.")


@row
def chat_tool_forced(c, model):
    choice = {"type": "function", "function": {"name": "clock"}}
    tools = TOOLS + [{"type": "function", "function": {"name": "clock"}}]
    got = c.openai.chat.completions.create(model=model, messages=user(PARIS), tools=tools, tool_choice=choice)
    equal(got.choices[0].message.tool_calls[0].function.name, "clock")


@row
def chat_parse(c, model):
    got = c.openai.chat.completions.parse(model=model, messages=user("hello?"), response_format=Weather)
    equal(got.choices[0].message.parsed, Weather(city="Paris", degrees=21))


@row
def chat_parse_stream(c, model):
    with c.openai.chat.completions.stream(model=model, messages=user("hello?"), response_format=Weather) as stream:
        equal(stream.get_final_completion().choices[0].message.parsed, Weather(city="Paris", degrees=21))


@row
def chat_parse_tool(c, model):
    class City(BaseModel):
        city: str

    tools = [openai.pydantic_function_tool(City)]
    got = c.openai.chat.completions.parse(model=model, messages=user(PARIS), tools=tools)
    equal(got.choices[0].message.tool_calls[0].function.parsed_arguments, City(city="Paris"))


@row
def chat_image(c, model):
    parts = [{"type": "text", "text": "What do you see?"}]
    parts += [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG64}", "detail": "low"}}] * 2
    equal(c.openai.chat.completions.create(model=model, messages=user(parts)).choices[0].message.content,
          "2 images, 0 files")


@row
def chat_image_address(c, model):
    parts = [{"type": "text", "text": "What do you see?"},
             {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
    equal(c.openai.chat.completions.create(model=model, messages=user(parts)).choices[0].message.content,
          "1 images, 0 files")


@row
def chat_file(c, model):
    file = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF64}"}
    parts = [{"type": "text", "text": "What do you see?"}, {"type": "file", "file": file}]
    equal(c.openai.chat.completions.create(model=model, messages=user(parts)).choices[0].message.content,
          "0 images, 1 files")


@row
def chat_thoughts(c, model):
    got = c.openai.chat.completions.create(
        model=model, messages=user("hello?"), reasoning_effort="medium", max_tokens=9000)
    if model == "m-mistral":
        # Its own dialect passes untouched, and there thoughts are parts of the content.
        equal(got.choices[0].message.content[0]["type"], "thinking")
        return
    equal(got.choices[0].message.content, SAID)
    message = got.choices[0].message
    if thinks(model):
        equal(getattr(message, "reasoning_content", None) or message.reasoning, "Let me think.")


def cited(text, citations):
    return [(citation.url, citation.title, text[citation.start_index:citation.end_index]) for citation in citations]


@row
def chat_sources(c, model):
    """Also in a stream, and sent back with the next question."""
    got = c.openai.chat.completions.create(model=model, messages=user(WHO)).choices[0].message
    with c.openai.chat.completions.stream(model=model, messages=user(WHO)) as stream:
        streamed = stream.get_final_completion().choices[0].message
    for message in (got, streamed):
        equal(message.content, SAID_FROM_PAGE)
        equal(cited(message.content, [one.url_citation for one in message.annotations or []]), sources(model))
        messages = user(WHO) + [message] + user("How many turns?")
        equal(c.openai.chat.completions.create(model=model, messages=messages).choices[0].message.content, "3")


@row
def chat_two_answers(c, model):
    c.openai.chat.completions.create(model=model, messages=user("hello?"), n=2)


@row
def chat_logprobs(c, model):
    c.openai.chat.completions.create(model=model, messages=user("hello?"), logprobs=True, top_logprobs=2)


@row
def chat_one_tool_at_a_time(c, model):
    c.openai.chat.completions.create(model=model, messages=user(PARIS), tools=TOOLS, parallel_tool_calls=False)


@row
def chat_seed(c, model):
    c.openai.chat.completions.create(model=model, messages=user("hello?"), seed=1)


@row
def chat_no_bearing(c, model):
    """Fields that mean nothing elsewhere, or have no bearing on the answer."""
    got = c.openai.chat.completions.create(
        model=model, messages=user("hello?"), metadata={"a": "b"}, store=True, safety_identifier="u", prompt_cache_key="k",
        service_tier="flex", verbosity="medium", modalities=["text"], logprobs=False)
    equal(got.choices[0].message.content, SAID)


@row
def chat_verbosity(c, model):
    c.openai.chat.completions.create(model=model, messages=user("hello?"), verbosity="low")


@row
def chat_sound(c, model):
    parts = [{"type": "text", "text": "What do you hear?"},
             {"type": "input_audio", "input_audio": {"data": PNG64, "format": "wav"}}]
    c.openai.chat.completions.create(model=model, messages=user(parts))


@row
def chat_timeout(c, model):
    """A caller that is in a hurry leaves, and the next call is answered."""
    hurried = c.openai.with_options(timeout=0.3)
    silent = dict(model=f"{model}-silent", messages=user("hello?"))
    raises(openai.APITimeoutError, lambda: hurried.chat.completions.create(**silent))
    raises(openai.APITimeoutError, lambda: hurried.chat.completions.create(**silent, stream=True))
    equal(c.openai.chat.completions.create(model=model, messages=user("hello?")).choices[0].message.content, SAID)


@row
def chat_errors(c, model):
    for status, kind in ((401, openai.AuthenticationError), (404, openai.NotFoundError), (429, openai.RateLimitError),
                         (500, openai.InternalServerError), (503, openai.InternalServerError)):
        ask = dict(model=f"{model}-status-{status}", messages=user("hello?"))
        error = raises(kind, lambda: c.openai.chat.completions.create(**ask))
        equal(error.status_code, status)
        if "the script says so" not in error.message:
            raise AssertionError(f"the provider's words are lost: {error.message}")
        raises(kind, lambda: c.openai.chat.completions.create(**ask, stream=True))


@row
def chat_late_error(c, model):
    heard = []

    def listen():
        for chunk in c.openai.chat.completions.create(model=f"{model}-late-error", messages=user("hello?"), stream=True):
            heard.append((chunk.choices[0].delta.content or "") if chunk.choices else "")

    raises(openai.APIError, listen)
    equal("".join(heard), "Hello ")


@row
def embeddings(c, model):
    got = c.openai.embeddings.create(model=model, input=["one", "two"])
    equal(len(got.data), 2)


@row
def responses(c, model):
    got = c.openai.responses.create(model=model, input="hello?", max_output_tokens=64)
    equal((got.status, got.output_text), ("completed", SAID))
    equal((got.usage.input_tokens, got.usage.output_tokens, got.usage.total_tokens), (9, 5, 14))
    equal(got.usage.input_tokens_details.cached_tokens, cached(model))


@row
def responses_async(c, model):
    async def ask(o, a, g):
        got = await o.responses.create(model=model, input="hello?")
        async with o.responses.stream(model=model, input="hello?") as stream:
            return got.output_text, (await stream.get_final_response()).output_text

    equal(c.run(ask), (SAID, SAID))


@row
def responses_instructions(c, model):
    got = c.openai.responses.create(model=model, input="What is the system?", instructions="Be brief.")
    equal(got.output_text, "Be brief.")


@row
def responses_limit(c, model):
    got = c.openai.responses.create(model=model, input="Say too much.", max_output_tokens=16)
    equal((got.status, got.incomplete_details.reason), ("incomplete", "max_output_tokens"))


@row
def responses_stream(c, model):
    text, kinds = "", []
    for event in c.openai.responses.create(model=model, input="hello?", stream=True):
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
    equal((text, kinds[0], kinds[-1]), (SAID, "response.created", "response.completed"))


@row
def responses_tools(c, model):
    items = user(BOTH)
    got = c.openai.responses.create(model=model, input=items, tools=FLAT_TOOLS)
    calls = [item for item in got.output if item.type == "function_call"]
    equal([json.loads(call.arguments)["city"] for call in calls], ["Paris", "Rome"])
    items += got.output
    items += [{"type": "function_call_output", "call_id": call.call_id, "output": "21"} for call in calls]
    equal(c.openai.responses.create(model=model, input=items, tools=FLAT_TOOLS).output_text, "The tools said: 21; 21.")


@row
def responses_tools_stream_helper(c, model):
    kinds = []
    with c.openai.responses.stream(model=model, input=BOTH, tools=FLAT_TOOLS) as stream:
        for event in stream:
            kinds.append(event.type)
        final = stream.get_final_response()
    calls = [item for item in final.output if item.type == "function_call"]
    equal([json.loads(call.arguments)["city"] for call in calls], ["Paris", "Rome"])
    equal(kinds.count("response.function_call_arguments.done"), 2)


@row
def responses_sources(c, model):
    """Also in a stream, and sent back with the next question."""
    got = c.openai.responses.create(model=model, input=WHO)
    told = []
    with c.openai.responses.stream(model=model, input=WHO) as stream:
        for event in stream:
            if event.type == "response.output_text.annotation.added":
                told.append(event)
        streamed = stream.get_final_response()
    for response in (got, streamed):
        equal(response.output_text, SAID_FROM_PAGE)
        parts = [part for item in response.output if item.type == "message" for part in item.content]
        equal([one for part in parts for one in cited(part.text, part.annotations)], sources(model))
        items = user(WHO) + response.output + user("How many turns?")
        equal(c.openai.responses.create(model=model, input=items).output_text, "3")
    equal([(event.annotation["url"] if isinstance(event.annotation, dict) else event.annotation.url, event.annotation_index)
           for event in told], [(page[0], 0) for page in sources(model)])


@row
def responses_parse(c, model):
    got = c.openai.responses.parse(model=model, input="hello?", text_format=Weather)
    equal(got.output_parsed, Weather(city="Paris", degrees=21))


@row
def responses_thoughts(c, model):
    items = user(PARIS)
    ask = dict(model=model, tools=FLAT_TOOLS, reasoning={"effort": "low", "summary": "auto"}, max_output_tokens=4096)
    got = c.openai.responses.create(input=items, **ask)
    thoughts = [item for item in got.output if item.type == "reasoning"]
    if thinks(model) or model in [f"m-{kind}" for kind in HIDDEN]:
        equal(thoughts[0].summary[0].text, "Let me think.")
    items += got.output
    call = next(item for item in got.output if item.type == "function_call")
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": "21"})
    equal(c.openai.responses.create(input=items, **ask).output_text, "The tools said: 21.")


@row
def responses_image(c, model):
    parts = [{"type": "input_text", "text": "What do you see?"},
             {"type": "input_image", "image_url": f"data:image/png;base64,{PNG64}", "detail": "auto"}]
    equal(c.openai.responses.create(model=model, input=user(parts)).output_text, "1 images, 0 files")


@row
def responses_parse_stream(c, model):
    with c.openai.responses.stream(model=model, input="hello?", text_format=Weather) as stream:
        equal(stream.get_final_response().output_parsed, Weather(city="Paris", degrees=21))


@row
def responses_server_tool(c, model):
    c.openai.responses.create(model=model, input="hello?", tools=[{"type": "web_search"}])


@row
def responses_continued(c, model):
    c.openai.responses.create(model=model, input="hello?", previous_response_id="resp_1")


@row
def responses_errors(c, model):
    for status, kind in ((401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)):
        ask = dict(model=f"{model}-status-{status}", input="hello?")
        equal(raises(kind, lambda: c.openai.responses.create(**ask)).status_code, status)


@row
def responses_late_error(c, model):
    heard = []

    def listen():
        for event in c.openai.responses.create(model=f"{model}-late-error", input="hello?", stream=True):
            if event.type == "response.output_text.delta":
                heard.append(event.delta)

    raises(openai.APIError, listen)
    equal("".join(heard), "Hello ")
