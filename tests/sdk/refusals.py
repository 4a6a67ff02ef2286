"""The cells of the matrix that must be a 400, and the field that it names.

What a target cannot take is refused before anything is sent; a cell that is not here must be an answer.
"""

# Kinds that speak OpenAI's chat completions.
CHAT = (
    "openai azure-openai openrouter deepseek mistral groq cohere bedrock vllm ollama llama-cpp lm-studio together xai fireworks"
).split()
# Those of them that have Responses besides.
BOTH = "openai azure-openai openrouter groq vllm ollama llama-cpp lm-studio xai fireworks".split()
OPENAI = [*CHAT, "openai-responses"]
OTHERS = ["anthropic", "gemini"]

REFUSALS = {}


def refusal(row, column):
    """The field, or None where an answer is due."""
    return next((param for columns, param in REFUSALS.get(row, ()) if column in columns), None)
