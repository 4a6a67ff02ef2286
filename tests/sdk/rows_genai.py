"""Rows of the matrix: the google-genai SDK."""

from google.genai import errors, types
from pydantic import BaseModel

from script import (
    BOTH, PARIS, PNG, SAID, SAID_FROM_PAGE, SCHEMA, WHO, cached, equal, raises, sources, thinks
)

ROWS = []


def row(function):
    ROWS.append(function)
    return function


class Weather(BaseModel):
    city: str
    degrees: int


def config(**fields):
    return types.GenerateContentConfig(**fields)


def declared():
    function = types.FunctionDeclaration(name="weather", description="The weather", parameters_json_schema=SCHEMA)
    return [types.Tool(function_declarations=[function])]


@row
def gemini(c, model):
    got = c.genai.models.generate_content(model=model, contents="hello?", config=config(temperature=0.5))
    equal((got.text, got.candidates[0].finish_reason), (SAID, types.FinishReason.STOP))
    usage = got.usage_metadata
    equal((usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count), (9, 5, 14))
    equal(usage.cached_content_token_count or 0, cached(model))


@row
def gemini_async(c, model):
    async def ask(o, a, g):
        got = await g.models.generate_content(model=model, contents="hello?")
        text = ""
        async for chunk in await g.models.generate_content_stream(model=model, contents="hello?"):
            text += chunk.text or ""
        return got.text, text

    equal(c.run(ask), (SAID, SAID))


@row
def gemini_system(c, model):
    got = c.genai.models.generate_content(
        model=model, contents="What is the system?", config=config(system_instruction="Be brief."))
    equal(got.text, "Be brief.")


@row
def gemini_limits(c, model):
    ask = c.genai.models.generate_content
    equal(ask(model=model, contents="How long may it be?", config=config(max_output_tokens=77)).text, "Some(77)")
    got = ask(model=model, contents="Say too much.", config=config(max_output_tokens=3))
    equal(got.candidates[0].finish_reason, types.FinishReason.MAX_TOKENS)


@row
def gemini_stop(c, model):
    got = c.genai.models.generate_content(
        model=model, contents="What stops you?", config=config(stop_sequences=["END", "FIN"]))
    equal(got.text, "END,FIN")


@row
def gemini_stream(c, model):
    chunks = list(c.genai.models.generate_content_stream(model=model, contents="hello?"))
    equal("".join(chunk.text or "" for chunk in chunks), SAID)
    equal(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)
    equal(chunks[-1].usage_metadata.total_token_count, 14)


def cited(text, grounding):
    if grounding is None:
        return []
    pages = [chunk.web for chunk in grounding.grounding_chunks]
    return [(pages[at].uri, pages[at].title, text.encode()[support.segment.start_index:support.segment.end_index].decode())
            for support in grounding.grounding_supports for at in support.grounding_chunk_indices]


@row
def gemini_sources(c, model):
    """Also in a stream, and sent back with the next question."""
    got = c.genai.models.generate_content(model=model, contents=WHO)
    chunks = list(c.genai.models.generate_content_stream(model=model, contents=WHO))
    streamed = "".join(chunk.text or "" for chunk in chunks)
    for text, last in ((got.text, got), (streamed, chunks[-1])):
        equal(text, SAID_FROM_PAGE)
        equal(cited(text, last.candidates[0].grounding_metadata), sources(model))
    contents = [types.UserContent(WHO), got.candidates[0].content, types.UserContent("How many turns?")]
    equal(c.genai.models.generate_content(model=model, contents=contents).text, "3")


@row
def gemini_chats(c, model):
    chat = c.genai.chats.create(model=model)
    equal(chat.send_message("hello?").text, SAID)
    equal(chat.send_message("How many turns?").text, "3")
    equal("".join(chunk.text or "" for chunk in chat.send_message_stream("How many turns?")), "5")


@row
def gemini_tools(c, model):
    contents = [types.UserContent(BOTH)]
    got = c.genai.models.generate_content(model=model, contents=contents, config=config(tools=declared()))
    equal([call.args for call in got.function_calls], [{"city": "Paris"}, {"city": "Rome"}])
    contents.append(got.candidates[0].content)
    contents.append(types.UserContent([
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"result": "21"}))
        for call in got.function_calls
    ]))
    got = c.genai.models.generate_content(model=model, contents=contents, config=config(tools=declared()))
    equal(said(got.text), "The tools said: 21; 21.")


def said(text):
    """Results of tools are objects here; elsewhere they are told as JSON."""
    return text.replace('{"result": "', "").replace('{"result":"', "").replace('"}', "")


@row
def gemini_functions(c, model):
    """Functions that the SDK calls by itself."""

    def weather(city: str) -> str:
        """The weather in a city."""
        return f"21 in {city}"

    got = c.genai.models.generate_content(model=model, contents=BOTH, config=config(tools=[weather]))
    equal(said(got.text), "The tools said: 21 in Paris; 21 in Rome.")
    chat = c.genai.chats.create(model=model, config=config(tools=[weather]))
    equal(said(chat.send_message(PARIS).text), "The tools said: 21 in Paris.")


@row
def gemini_tool_forced(c, model):
    calling = types.FunctionCallingConfig(mode="ANY", allowed_function_names=["weather"])
    got = c.genai.models.generate_content(model=model, contents=PARIS, config=config(
        tools=declared(), tool_config=types.ToolConfig(function_calling_config=calling)))
    equal(got.function_calls[0].name, "weather")


@row
def gemini_schema(c, model):
    got = c.genai.models.generate_content(model=model, contents="hello?", config=config(
        response_mime_type="application/json", response_schema=Weather))
    equal(got.parsed, Weather(city="Paris", degrees=21))


@row
def gemini_json_schema(c, model):
    got = c.genai.models.generate_content(model=model, contents="hello?", config=config(
        response_mime_type="application/json", response_json_schema=SCHEMA))
    equal(got.parsed, {"city": "Paris", "degrees": 21})


@row
def gemini_json(c, model):
    c.genai.models.generate_content(model=model, contents="hello?", config=config(response_mime_type="application/json"))


@row
def gemini_image(c, model):
    contents = [types.Part.from_bytes(data=PNG, mime_type="image/png"), "What do you see?"]
    equal(c.genai.models.generate_content(model=model, contents=contents).text, "1 images, 0 files")


@row
def gemini_thoughts(c, model):
    thinking = types.ThinkingConfig(thinking_level="LOW", include_thoughts=True)
    got = c.genai.models.generate_content(model=model, contents="hello?", config=config(
        thinking_config=thinking, max_output_tokens=4096))
    equal(got.text, SAID)
    if thinks(model):
        equal([part.text for part in got.candidates[0].content.parts if part.thought], ["Let me think."])


@row
def gemini_top_k(c, model):
    c.genai.models.generate_content(model=model, contents="hello?", config=config(top_k=5))


@row
def gemini_safety(c, model):
    safety = [types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")]
    c.genai.models.generate_content(model=model, contents="hello?", config=config(safety_settings=safety))


@row
def gemini_count_tokens(c, model):
    equal(c.genai.models.count_tokens(model=model, contents="hello?").total_tokens, 9)


@row
def gemini_embeddings(c, model):
    equal(c.genai.models.embed_content(model=model, contents="one").embeddings[0].values, [0.5, -0.25])


@row
def gemini_errors(c, model):
    for status, kind in ((401, errors.ClientError), (404, errors.ClientError), (429, errors.ClientError),
                         (500, errors.ServerError), (503, errors.ServerError)):
        error = raises(kind, lambda: c.genai.models.generate_content(model=f"{model}-status-{status}", contents="hello?"))
        equal(error.code, status)
        if "the script says so" not in error.message:
            raise AssertionError(f"the provider's words are lost: {error.message}")
        raises(kind, lambda: list(c.genai.models.generate_content_stream(model=f"{model}-status-{status}", contents="hello?")))


@row
def gemini_late_error(c, model):
    heard = []

    def listen():
        for chunk in c.genai.models.generate_content_stream(model=f"{model}-late-error", contents="hello?"):
            heard.append(chunk.text or "")

    try:
        listen()
    except errors.APIError:
        equal("".join(heard), "Hello ")
    else:
        raise AssertionError("no error was raised")
