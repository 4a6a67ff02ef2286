//! A vLLM server: OpenAI's shape with integer codes and names of Python classes for types; older ones are flat, and a
//! refused key is `{"error": "Unauthorized"}`.
//!
//! Source: vllm `entrypoints/openai`.

use super::{Kind, Profile};

pub(super) static PROFILE: Profile =
    Profile { base_url: Some("http://127.0.0.1:8000/v1"), ..Profile::new(Kind::Vllm, "vLLM") };
