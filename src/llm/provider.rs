//! The wire formats, one file each.

pub(crate) mod errors;
pub(crate) mod openai;
pub(crate) mod openai_response;
mod render;
mod usage;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod traffic;

pub use openai::OpenAiChat;
pub use openai_response::OpenAiResponses;
