"""What the rows of the matrix share: what the scripted providers say, and small checks."""

import base64

SAID = "Hello from the script."
PARIS = "What is the weather in Paris?"
BOTH = "What is the weather in Paris and in Rome?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WHO = "Who says so?"
# What is answered to that, what of it comes from a page, and the page.
FROM_PAGE = "hello \u00e0 l\u00e0."
SAID_FROM_PAGE = "\u00c9lan \U0001f600 says " + FROM_PAGE
PAGE = ("https://example.com/page?a=1&b=2", 'A "page"', FROM_PAGE)
# The smallest PNG there is, one transparent pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PNG64 = base64.b64encode(PNG).decode()
PDF64 = base64.b64encode(b"%PDF-1.4 nothing in it").decode()
# Kinds whose thoughts nobody gets to see.
HIDDEN = ("openai", "azure-openai")


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


def thinks(model):
    """Whether the model's thoughts are to be seen."""
    return model.removeprefix("m-") not in HIDDEN


def sources(model):
    """The pages, their titles and the words that come from them. Some name documents by ids of their own only."""
    return [] if model in ("m-ollama-native", "m-cohere-v2") else [PAGE]


def cached(model):
    """How many tokens came from a cache, as far as the provider tells."""
    return 0 if model == "m-ollama-native" else 4
