//! What speaks for an instruction in one sentence: words of some classes, near each other and in order.

use super::{
    Kind,
    lexicon::{Class, Hit},
};

/// Words of the first class, then within so many bytes one of the next, and so on.
pub(super) struct Chain {
    first: Class,
    then: &'static [(usize, Class)],
}

/// One thing that speaks for or against an instruction.
pub(super) struct Signal {
    pub(super) kind: Kind,
    pub(super) what: &'static str,
    pub(super) weight: f32,
    /// Against it counts less in a question and in a text about attacks.
    pub(super) doubtful: bool,
    /// Of signals on one ladder only the first that holds counts.
    pub(super) rung: bool,
    chains: &'static [Chain],
}

const fn chain(first: Class, then: &'static [(usize, Class)]) -> Chain {
    Chain { first, then }
}

const fn signal(kind: Kind, weight: f32, what: &'static str, chains: &'static [Chain]) -> Signal {
    Signal { kind, what, weight, doubtful: false, rung: false, chains }
}

const fn doubtful(kind: Kind, weight: f32, what: &'static str, chains: &'static [Chain]) -> Signal {
    Signal { kind, what, weight, doubtful: true, rung: false, chains }
}

const fn rung(weight: f32, what: &'static str, chains: &'static [Chain]) -> Signal {
    Signal { kind: Kind::Override, what, weight, doubtful: true, rung: true, chains }
}

use Class as C;
use Kind as K;

/// The signals. Weights add up; [`super::score`] says from where on it is an instruction.
#[rustfmt::skip]
pub(super) const SIGNALS: &[Signal] = &[
    rung(4.2, "says to ignore earlier instructions",
        &[chain(C::Forget, &[(25, C::Prior), (25, C::Instr)]), chain(C::Prior, &[(25, C::Instr), (40, C::ForgetLast)]),
          chain(C::Forget, &[(25, C::Instr), (12, C::Prior)])]),
    rung(3.0, "says to ignore all instructions",
        &[chain(C::Forget, &[(25, C::Any), (20, C::Instr)])]),
    rung(1.3, "says to ignore the rest of the text",
        &[chain(C::Forget, &[(25, C::Prior), (25, C::Thing)]), chain(C::Forget, &[(15, C::Any), (20, C::Thing)])]),
    rung(0.5, "says to ignore instructions", &[chain(C::Forget, &[(30, C::Instr)]), chain(C::Instr, &[(40, C::ForgetLast)])]),
    signal(K::Override, 1.8, "says to ignore something and say something else", &[chain(C::Forget, &[(80, C::SayFix)])]),
    signal(K::Override, 0.4, "says to ignore something and write something",  &[chain(C::Forget, &[(80, C::Out)])]),
    signal(K::Override, -1.8, "says how or that not to ignore something", &[chain(C::Never, &[(6, C::Forget)])]),
    signal(K::Override, 2.6, "gives a new task", &[chain(C::NewTask, &[])]),
    signal(K::Override, 0.3, "says what to do instead",
        &[chain(C::Instead, &[(60, C::Out)]), chain(C::Out, &[(90, C::Instead)]), chain(C::Instead, &[(60, C::Act)])]),
    doubtful(K::Persona, 1.0, "says what the reader is now", &[chain(C::YouAre, &[])]),
    signal(K::Persona, 2.0, "lifts restrictions", &[chain(C::Free, &[])]),
    signal(K::Persona, 1.8, "switches a mode on", &[chain(C::Mode, &[])]),
    signal(K::Persona, 0.8, "gives a role without restrictions", &[chain(C::Pretend, &[(80, C::Free)])]),
    signal(K::Persona, 1.1, "claims authority over the reader", &[chain(C::Authority, &[])]),
    signal(K::Command, 0.3, "speaks of an assistant", &[chain(C::Ai, &[])]),
    signal(K::Command, 0.8, "speaks to an assistant", &[chain(C::Ai, &[(40, C::You)]), chain(C::You, &[(40, C::Ai)])]),
    signal(K::Steer, 0.8, "says what to say", &[chain(C::SayFix, &[])]),
    signal(K::Steer, 1.2, "speaks of the reader's answer", &[chain(C::Yours, &[])]),
    doubtful(K::Steer, 2.0, "changes the reader's answer", &[chain(C::Edit, &[(90, C::Yours)])]),
    signal(K::Steer, 0.9, "says how to answer", &[chain(C::Out, &[(60, C::Yours)])]),
    signal(K::Steer, 0.9, "gives a task for the answer", &[chain(C::Task, &[(60, C::Yours)])]),
    signal(K::Steer, 1.7, "says what belongs into the answer",
        &[chain(C::Yours, &[(40, C::Edit)]), chain(C::Yours, &[(40, C::Out)]), chain(C::Yours, &[(40, C::Task)])]),
    signal(K::Steer, 1.5, "sets the language of the answer",
        &[chain(C::Lang, &[(60, C::Yours)]), chain(C::Yours, &[(60, C::Lang)]), chain(C::CanYou, &[(30, C::Lang)])]),
    signal(K::Steer, 1.5, "asks for an encoded answer",
        &[chain(C::Encoded, &[(60, C::Yours)]), chain(C::Yours, &[(60, C::Encoded)])
        ]),
    signal(K::Steer, 0.5, "writes in an encoding", &[chain(C::Out, &[(40, C::Encoded)])]),
    signal(K::Persona, 1.0, "claims authority over an assistant",
        &[chain(C::Authority, &[(40, C::Ai)]), chain(C::Ai, &[(40, C::Authority)])]),
    signal(K::Steer, 0.3, "speaks of an encoding", &[chain(C::Encoded, &[])]),
    signal(K::Steer, 1.2, "adds code to the reader's code",
        &[chain(C::Edit, &[(70, C::MyCode)]), chain(C::Edit, &[(70, C::Snippet)]), chain(C::Task, &[(50, C::Snippet)])]),
    signal(K::Steer, 2.2, "puts a snippet into the reader's code",
        &[chain(C::Snippet, &[(90, C::MyCode)]), chain(C::MyCode, &[(90, C::Snippet)])]),
    signal(K::Steer, 0.3, "speaks of the reader's code", &[chain(C::MyCode, &[])]),
    signal(K::Steer, 0.6, "speaks of a snippet to come", &[chain(C::Snippet, &[])]),
    signal(K::Command, 0.5, "does something with an address", &[chain(C::Act, &[(140, C::Contact)])]),
    signal(K::Exfiltration, 1.0, "sends something to an address", &[chain(C::Exfil, &[(60, C::Contact)])]),
    signal(K::Credentials, 0.8, "does something with a secret", &[chain(C::Act, &[(60, C::Secret)]), chain(C::Edit, &[(60, C::Secret)])]),
    signal(K::Credentials, 1.0, "says a secret", &[chain(C::Out, &[(60, C::Secret)]), chain(C::Secret, &[(40, C::OutLast)])]),
    signal(K::Credentials, 1.6, "asks for a secret",
        &[chain(C::Out, &[(40, C::You), (12, C::Secret)]), chain(C::Wh, &[(40, C::You), (12, C::Secret)]),
          chain(C::CanYou, &[(60, C::Secret)]), chain(C::Out, &[(40, C::User), (12, C::Secret)]),
          chain(C::Wh, &[(40, C::User), (12, C::Secret)])]),
    signal(K::Credentials, 0.4, "speaks of a user's secret",
        &[chain(C::Secret, &[(30, C::User)]), chain(C::User, &[(30, C::Secret)])]),
    signal(K::Credentials, 0.4, "speaks of a secret", &[chain(C::Secret, &[])]),
    signal(K::Command, 0.6, "sets an order of steps", &[chain(C::First, &[])]),
    signal(K::Command, 0.9, "sets a step before all others", &[chain(C::First, &[(60, C::Act)]), chain(C::First, &[(60, C::Out)])]),
    signal(K::Secrecy, 1.4, "keeps something from the user", &[chain(C::Secrecy, &[])]),
    signal(K::Secrecy, 1.5, "keeps the user from knowing", &[chain(C::Secrecy, &[(30, C::User)])]),
    signal(K::Urgency, 0.1, "is urgent", &[chain(C::Urgent, &[])]),
    signal(K::Urgency, 0.5, "urges a step", &[chain(C::Urgent, &[(40, C::Act)]), chain(C::Urgent, &[(40, C::Out)])]),
    signal(K::Harm, 1.2, "asks for harmful text", &[chain(C::Out, &[(40, C::Harm)]), chain(C::Edit, &[(40, C::Harm)])]),
    signal(K::Harm, 0.1, "speaks of harm", &[chain(C::Harm, &[])]),
    signal(K::Command, 0.3, "does something for or with the user", &[chain(C::Act, &[(60, C::User)]), chain(C::Out, &[(60, C::User)])]),
    signal(K::Command, 0.4, "moves money", &[chain(C::Act, &[(60, C::Money)])]),
    signal(K::Persona, 0.1, "plays a role", &[chain(C::Pretend, &[])]),
    signal(K::Command, -1.0, "speaks about attacks", &[chain(C::Meta, &[])]),
    signal(K::Command, -0.6, "describes a tool", &[chain(C::Scope, &[])]),
    signal(K::Steer, -1.2, "thanks for an answer", &[chain(C::Thanks, &[])]),
    signal(K::Command, -1.5, "asks for care", &[chain(C::Safe, &[])]),
];

/// Of how many words of a class a chain goes on at most, so that a long sentence costs no more than a short one.
const MOST: usize = 24;

/// Where the chain of some signal holds in a sentence. `classes` are the classes of all its `hits`.
pub(super) fn find(signal: &Signal, hits: &[Hit], classes: u64) -> Option<std::ops::Range<usize>> {
    signal.chains.iter().find_map(|chain| holds(chain, hits, classes))
}

fn holds(chain: &Chain, hits: &[Hit], classes: u64) -> Option<std::ops::Range<usize>> {
    let needed = chain.then.iter().fold(chain.first.bit(), |all, (_, class)| all | class.bit());
    if classes & needed != needed {
        return None;
    }
    let mut ends: Vec<(usize, usize)> =
        hits.iter().filter(|hit| hit.is(chain.first)).take(MOST).map(|hit| (hit.start, hit.end)).collect();
    for (gap, class) in chain.then {
        ends = hits
            .iter()
            .filter(|hit| hit.is(*class))
            .filter_map(|hit| {
                let near = ends.iter().find(|(_, end)| hit.start >= *end && hit.start - *end <= *gap)?;
                Some((near.0, hit.end))
            })
            .take(MOST)
            .collect();
    }
    ends.first().map(|(start, end)| *start..*end)
}
