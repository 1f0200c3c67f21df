//! The wire formats, one file each.

pub(crate) mod anthropic;
pub(crate) mod dashscope;
mod ending;
pub(crate) mod errors;
pub(crate) mod gemini;
pub(crate) mod gemini_interactions;
pub(crate) mod mistral;
pub(crate) mod openai;
pub(crate) mod openai_response;
mod render;
mod usage;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod traffic;

use super::Dialect;
use crate::types::Api;

/// The dialect of a wire format; `None` for models without a wire.
pub fn dialect(api: Api) -> Option<Box<dyn Dialect>> {
    match api {
        Api::Responses => Some(Box::<OpenAiResponses>::default()),
        Api::Chat => Some(Box::<OpenAiChat>::default()),
        Api::GenerateContent => Some(Box::<GeminiGenerateContent>::default()),
        Api::Interactions => Some(Box::<GeminiInteractions>::default()),
        Api::Conversations => Some(Box::<MistralConversations>::default()),
        Api::Generation => Some(Box::<DashScope>::default()),
        Api::Messages => Some(Box::<AnthropicMessages>::default()),
        Api::Local => None,
    }
}

pub use anthropic::AnthropicMessages;
pub use dashscope::DashScope;
pub use gemini::GeminiGenerateContent;
pub use gemini_interactions::GeminiInteractions;
pub use mistral::MistralConversations;
pub use openai::OpenAiChat;
pub use openai_response::OpenAiResponses;
