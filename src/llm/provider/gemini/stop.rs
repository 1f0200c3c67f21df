//! Why a candidate ended.

use super::super::ending::ended;
use crate::types::{Reply, Stop};

/// The reason in our words (the list of google-genai 3.6.1; it is open). `STOP` is said with calls as well, so calls
/// are told by the parts.
pub(super) fn read(reason: Option<&str>, message: Option<&str>, reply: &Reply) -> Stop {
    let has_calls = reply.calls().next().is_some();
    match reason {
        Some("STOP") => ended(reply),
        // A default of proto3 is left out: a whole reply without a reason.
        None if !reply.items.is_empty() => ended(reply),
        None => Stop::Unknown("the reply has neither content nor a reason for its end".to_owned()),
        Some("MAX_TOKENS") => Stop::Length,
        Some(
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Stop::Filtered,
        // A call of a function that was not offered: the model can be told so.
        Some("UNEXPECTED_TOOL_CALL") if has_calls => Stop::ToolCalls,
        Some(
            failed @ ("MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE"
            | "NO_IMAGE"
            | "IMAGE_OTHER"),
        ) => Stop::Failed(match message {
            Some(message) => format!("{failed}: {}", message.chars().take(400).collect::<String>()),
            None => failed.to_owned(),
        }),
        Some(other) => Stop::Unknown(other.chars().take(80).collect()),
    }
}
