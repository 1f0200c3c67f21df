//! What the tests of agcore, and of programs built on it, stand on.
//!
//! - [`ScriptedModel`]: a model that replies from a list and checks the conversation it is given.
//! - [`ScriptedTool`]: an executor that answers from a list, counts and can be held up by a [`Gate`].
//! - [`FakeProvider`]: an HTTP server that speaks OpenAI Responses and Chat Completions, unary and streamed, from a
//!   script, with every way a provider can misbehave, and refuses requests that break the protocol. The program
//!   `fake-provider` is the same server as a process of its own, for tests that kill the program under test.
//! - [`Effects`]: counts side effects outside the process that makes them.
//!
//! Nothing in here sleeps or reads a clock: tests wait for events.

mod effects;
mod gate;
mod history;
mod model;
mod provider;
mod script;
mod tool;

pub use effects::{Effect, Effects};
pub use gate::Gate;
pub use history::check_history;
pub use model::{Asked, Hosted, ScriptedModel, ScriptedReply, reply};
pub use provider::{Captured, FakeProvider};
pub use script::{Answer, By, Delivery, Raw, Script, ScriptedCall, Tokens, answer};
pub use tool::{ScriptedTool, call_context};
