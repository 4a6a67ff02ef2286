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
# Kinds that nobody's SDK speaks, and that are only translated to.
OLLAMA, COHERE, BEDROCK = NATIVE = ["ollama-native", "cohere-v2", "bedrock-converse"]

UNSUPPORTED = "unsupported_by_target"

REFUSALS = {
    # They look at no addresses but Google's.
    "chat_image_address": [(["gemini", OLLAMA, BEDROCK], "messages[0].content[1].image_url")],
    "chat_file": [([OLLAMA, COHERE], "messages[0].content[1].file.file_data")],
    # Which tool it calls, and whether, is a model's own choice there.
    "chat_tool_forced": [([OLLAMA], "tool_choice")],
    "chat_two_answers": [([*OTHERS, *NATIVE, "openai-responses"], "n")],
    "chat_logprobs": [([*OTHERS, *NATIVE, "openai-responses"], "logprobs")],
    "chat_one_tool_at_a_time": [(["gemini", *NATIVE], "parallel_tool_calls")],
    "chat_seed": [(["anthropic", "openai-responses", BEDROCK], "seed")],
    "chat_stop": [(["openai-responses"], "stop")],
    "chat_verbosity": [([*OTHERS, *NATIVE, "openai-responses"], "verbosity")],
    "chat_sound": [(["anthropic", "openai-responses", *NATIVE], "messages[0].content[1].input_audio")],
    "embeddings": [([*OTHERS, *NATIVE], UNSUPPORTED)],
    "responses_server_tool": [([kind for kind in CHAT if kind not in BOTH] + OTHERS + NATIVE, "tools[0]")],
    "responses_continued": [([kind for kind in CHAT if kind not in BOTH] + OTHERS + NATIVE, "previous_response_id")],
    "messages_document": [([OLLAMA, COHERE], "messages[0].content[0].source")],
    "messages_tool_forced": [([OLLAMA], "tool_choice")],
    "messages_stop": [(["openai-responses"], "stop_sequences")],
    "messages_top_k": [(OPENAI, "top_k")],
    "messages_server_tool": [([*OPENAI, *NATIVE, "gemini"], "tools[0]")],
    "messages_count_tokens": [([*OPENAI, *NATIVE, "gemini"], UNSUPPORTED)],
    "gemini_stop": [(["openai-responses"], "generationConfig.stopSequences")],
    "gemini_tool_forced": [([OLLAMA], "toolConfig.functionCallingConfig")],
    "gemini_json": [(["anthropic", BEDROCK], "generationConfig.responseMimeType")],
    "gemini_top_k": [(OPENAI, "generationConfig.topK")],
    "gemini_safety": [([*OPENAI, *NATIVE, "anthropic"], "safetySettings")],
    "gemini_count_tokens": [([*OPENAI, *NATIVE, "anthropic"], UNSUPPORTED)],
    "gemini_embeddings": [([*OPENAI, *NATIVE, "anthropic"], UNSUPPORTED)],
}


def refusal(row, column):
    """The field, or None where an answer is due."""
    return next((param for columns, param in REFUSALS.get(row, ()) if column in columns), None)
