"""The official openai and anthropic SDKs, unpatched, with nothing changed but `base_url`.

    run.py --url http://127.0.0.1:PORT [--gateway]

The server at the URL answers the models that tests/tests/sdk.rs scripts: `gpt-scripted` and `claude-scripted` well,
`*-status-N` with status N, `*-late-error` with an error after the first word of a stream. With `--gateway` the gateway's own errors are
checked too. Prints one line a check; the exit status is 1 when one failed.
"""

import argparse
import sys
import traceback

import anthropic
import openai

CHECKS = []
SAID = "Hello from the script."
HELLO = [{"role": "user", "content": "hello?"}]


def check(function):
    CHECKS.append(function)
    return function


def equal(got, want):
    if got != want:
        raise AssertionError(f"wanted {want!r}, got {got!r}")


def raises(kind, call):
    """The error, when the call raises exactly that type."""
    try:
        call()
    except Exception as error:
        if type(error) is not kind:
            raise AssertionError(f"wanted {kind.__name__}, got {type(error).__name__}: {error}") from error
        return error
    raise AssertionError(f"wanted {kind.__name__}, got an answer")


@check
def openai_chat(o, a):
    got = o.chat.completions.create(model="gpt-scripted", messages=HELLO)
    equal(got.choices[0].message.content, SAID)
    equal(got.choices[0].finish_reason, "stop")
    equal(got.usage.total_tokens, got.usage.prompt_tokens + got.usage.completion_tokens)


@check
def openai_chat_stream(o, a):
    text, finish = "", None
    for chunk in o.chat.completions.create(model="gpt-scripted", messages=HELLO, stream=True):
        text += chunk.choices[0].delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
    equal((text, finish), (SAID, "stop"))


@check
def openai_chat_stream_helper(o, a):
    with o.chat.completions.stream(model="gpt-scripted", messages=HELLO) as stream:
        equal(stream.get_final_completion().choices[0].message.content, SAID)


@check
def openai_completion(o, a):
    equal(o.completions.create(model="gpt-scripted", prompt="hello?").choices[0].text, SAID)


@check
def openai_responses(o, a):
    got = o.responses.create(model="gpt-scripted", input="hello?")
    equal((got.status, got.output_text), ("completed", SAID))


@check
def openai_responses_stream(o, a):
    text, kinds = "", []
    for event in o.responses.create(model="gpt-scripted", input="hello?", stream=True):
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
    equal((text, kinds[0], kinds[-1]), (SAID, "response.created", "response.completed"))


@check
def openai_responses_stream_helper(o, a):
    with o.responses.stream(model="gpt-scripted", input="hello?") as stream:
        equal(stream.get_final_response().output_text, SAID)


@check
def openai_embeddings(o, a):
    got = o.embeddings.create(model="gpt-scripted", input=["one", "two"])
    equal([one.embedding for one in got.data], [[0.5, -0.25, 0.125, 1.0]] * 2)
    got = o.embeddings.create(model="gpt-scripted", input="one", encoding_format="float")
    equal(got.data[0].embedding, [0.5, -0.25, 0.125, 1.0])


@check
def openai_models(o, a):
    if "gpt-scripted" not in [model.id for model in o.models.list()]:
        raise AssertionError("gpt-scripted is not listed")


@check
def openai_errors(o, a):
    for status, kind in (
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ):
        model = f"gpt-status-{status}"
        error = raises(kind, lambda: o.chat.completions.create(model=model, messages=HELLO))
        equal(error.status_code, status)
        equal(error.code, f"code_{status}")
        error = raises(kind, lambda: o.chat.completions.create(model=model, messages=HELLO, stream=True))
        equal(error.status_code, status)
        raises(kind, lambda: o.responses.create(model=model, input="hello?"))
        raises(kind, lambda: o.embeddings.create(model=model, input="hello?"))


@check
def openai_late_error(o, a):
    heard = []

    def listen():
        for chunk in o.chat.completions.create(model="gpt-late-error", messages=HELLO, stream=True):
            heard.append(chunk.choices[0].delta.content or "")

    raises(openai.APIError, listen)
    equal("".join(heard), "Hello ")


@check
def anthropic_message(o, a):
    got = a.messages.create(model="claude-scripted", max_tokens=64, messages=HELLO)
    equal((got.content[0].text, got.stop_reason), (SAID, "end_turn"))


@check
def anthropic_stream(o, a):
    with a.messages.stream(model="claude-scripted", max_tokens=64, messages=HELLO) as stream:
        equal("".join(stream.text_stream), SAID)
        equal(stream.get_final_message().stop_reason, "end_turn")


@check
def anthropic_raw_stream(o, a):
    kinds = [event.type for event in a.messages.create(
        model="claude-scripted", max_tokens=64, messages=HELLO, stream=True)]
    equal((kinds[0], kinds[-1]), ("message_start", "message_stop"))


@check
def anthropic_models(o, a):
    if "claude-scripted" not in [model.id for model in a.models.list()]:
        raise AssertionError("claude-scripted is not listed")


@check
def anthropic_errors(o, a):
    for status, kind in (
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
    ):
        model = f"claude-status-{status}"
        call = dict(model=model, max_tokens=64, messages=HELLO)
        error = raises(kind, lambda: a.messages.create(**call))
        equal(error.status_code, status)
        equal(error.body["type"], "error")
        raises(kind, lambda: a.messages.create(**call, stream=True))


@check
def anthropic_late_error(o, a):
    heard = []

    def listen():
        with a.messages.stream(model="claude-late-error", max_tokens=64, messages=HELLO) as stream:
            for piece in stream.text_stream:
                heard.append(piece)

    try:
        listen()
    except anthropic.APIStatusError:
        pass
    else:
        raise AssertionError("no error was raised")
    equal("".join(heard), "Hello ")


def gateway_errors(o, a):
    error = raises(openai.NotFoundError, lambda: o.chat.completions.create(model="nobody", messages=HELLO))
    equal(error.code, "model_not_found")
    error = raises(openai.InternalServerError,
                   lambda: o.chat.completions.create(model="gpt-down", messages=HELLO))
    equal((error.status_code, error.code), (502, "upstream_unreachable"))
    error = raises(anthropic.NotFoundError, lambda: a.messages.create(
        model="nobody", max_tokens=64, messages=HELLO))
    equal(error.body["error"]["code"], "model_not_found")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--gateway", action="store_true")
    args = parser.parse_args()
    o = openai.OpenAI(base_url=f"{args.url}/v1", api_key="sk-caller", max_retries=0, timeout=20)
    a = anthropic.Anthropic(base_url=args.url, api_key="sk-caller", max_retries=0, timeout=20)
    failed = 0
    for function in CHECKS + ([gateway_errors] if args.gateway else []):
        try:
            function(o, a)
            print(f"ok   {function.__name__}")
        except Exception:
            failed += 1
            print(f"FAIL {function.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
