//! Where the values of a call come from: what the user said, or only something that was read.
//!
//! A model that obeys an instruction hidden in a page calls a tool the user did not ask for, or calls the right tool
//! with somebody else's address. Neither can be seen in the call alone; both can be seen beside the user's own words.
//! [`Said`] holds those words, [`Heard`] the untrusted results of the turn, and [`CallOrigin`] is what comes out when
//! a call is held against them. All of it is plain text work: no model, no clock, no I/O, the same answer each time.
//!
//! What counts as said:
//! - an address (e-mail, URL, account) when the very same address stands in the user's words; a URL also when its host
//!   does and it carries no query of its own;
//! - an amount when the number does, however it is spelled; a date when its day and month do;
//! - anything else when its words stand there in the same order, whatever the case and punctuation.
//!
//! What a person can only have meant indirectly ("the same participants as last time") is not said, and a rule asks.

mod action;
mod address;
mod call;
mod date;
mod heard;
mod number;
mod role;
mod said;
mod words;

#[cfg(test)]
mod tests;

pub use action::{Action, Asked};
pub use call::{CallOrigin, Unnamed};
pub use heard::Heard;
pub use said::Said;
