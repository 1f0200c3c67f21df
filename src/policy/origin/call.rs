//! One call held against what the user said and what was read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    address::{self, Address},
    date,
    heard::Heard,
    number, role,
    said::Said,
    words,
};
use crate::{
    capability::Capability,
    types::{ArgumentRole, SideEffect},
};

/// The deepest nesting of arguments that is looked at; what lies deeper counts as not said.
const MAX_DEPTH: usize = 16;
/// The most values of one call that are looked at; more count as not said.
const MAX_VALUES: usize = 512;

/// An argument with a value that the user did not name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unnamed {
    /// The argument.
    pub argument: String,
    /// The untrusted result it stands in, e.g. `call_2 (email.read)`; `None` when it stands in none.
    pub source: Option<String>,
}

impl std::fmt::Display for Unnamed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Some(source) => write!(f, "`{}` stands only in what {source} returned", self.argument),
            None => write!(f, "`{}` was not named by the user", self.argument),
        }
    }
}

/// Where the values of a call come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOrigin {
    /// The arguments whose value has an effect and was not named by the user, each once, in the order of the call.
    pub unnamed: Vec<Unnamed>,
    /// Whether something in the call was named by the user.
    pub anchored: bool,
    /// Whether it goes to a web host that neither the user named nor the contract allows.
    pub new_host: bool,
}

impl CallOrigin {
    /// Holds a call against what was said and heard.
    pub fn of(capability: &Capability, arguments: Option<&Value>, said: &Said, heard: &[Arc<Heard>]) -> Self {
        let mut look =
            Look { capability, said, heard, found: Self::default(), days: Vec::new(), target: false, left: MAX_VALUES };
        if let Some(Value::Object(fields)) = arguments {
            for (name, value) in fields {
                look.argument(name, name, value, 0);
            }
        }
        look.finish()
    }

    /// Whether the user named the call: something in it, and every value in it that has an effect.
    pub fn from_user(&self) -> bool {
        self.anchored && self.unnamed.is_empty()
    }
}

struct Look<'a> {
    capability: &'a Capability,
    said: &'a Said,
    heard: &'a [Arc<Heard>],
    found: CallOrigin,
    /// Days that were not named: they count where nothing surer was.
    days: Vec<Unnamed>,
    /// Whether a target or host was named.
    target: bool,
    left: usize,
}

impl Look<'_> {
    /// Looks at one argument; `top` is the argument of the call it lies in.
    fn argument(&mut self, top: &str, name: &str, value: &Value, depth: usize) {
        let room = self.left.checked_sub(1);
        self.left = room.unwrap_or(0);
        if depth > MAX_DEPTH || room.is_none() {
            return self.not_said(top, None);
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.argument(top, name, item, depth + 1)),
            Value::Object(fields) => {
                fields.iter().for_each(|(field, value)| self.argument(top, field, value, depth + 1));
            }
            Value::String(text) if text.trim().is_empty() => {}
            Value::String(text) => self.judge(top, role::of(self.capability, name, value), text),
            Value::Number(number) => self.judge(top, role::of(self.capability, name, value), &number.to_string()),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn judge(&mut self, top: &str, role: ArgumentRole, text: &str) {
        match role {
            ArgumentRole::Option => {}
            ArgumentRole::Host => self.host(top, text),
            ArgumentRole::Target => self.target(top, text),
            ArgumentRole::Amount => {
                let named = number::canonical(text.trim_start_matches(['$', '€', '£', '¥']))
                    .is_some_and(|n| self.said.has_number(&n));
                self.settle(top, text, named);
            }
            ArgumentRole::Date => self.date(top, text),
            ArgumentRole::Reference => self.reference(top, text),
            ArgumentRole::Content => self.content(top, text),
        }
    }

    fn settle(&mut self, top: &str, text: &str, named: bool) {
        if named { self.found.anchored = true } else { self.not_said(top, Some(text)) }
    }

    fn host(&mut self, top: &str, text: &str) {
        let Some(web) = address::web(text) else {
            self.found.new_host = true;
            return self.not_said(top, Some(text));
        };
        let named = self.said.has_web(&web);
        let allowed = self.allows(&web.host);
        self.found.new_host |= !allowed && !self.said.has_host(&web.host);
        self.target |= named;
        self.found.anchored |= named;
        if !named && !allowed {
            self.not_said(top, Some(text));
        }
    }

    fn target(&mut self, top: &str, text: &str) {
        let named = match address::read(text.trim()) {
            Some(Address::Web(_)) if text.contains("://") => return self.host(top, text),
            Some(address @ (Address::Mail(_) | Address::Account(_))) => {
                if let Address::Mail(mail) = &address
                    && mail.rsplit_once('@').is_some_and(|(_, host)| self.allows(host))
                {
                    return;
                }
                self.said.has_address(&address)
            }
            Some(Address::Web(_)) | None => self.said.has_phrase(&words::normalise(text)),
        };
        self.target |= named;
        self.settle(top, text, named);
    }

    fn date(&mut self, top: &str, text: &str) {
        let named = match date::read(text) {
            Some(day) => self.said.has_day(day),
            None => self.said.has_phrase(&words::normalise(text)),
        };
        if named {
            self.found.anchored = true;
        } else {
            let source = self.source(text);
            self.days.push(Unnamed { argument: top.to_owned(), source });
        }
    }

    /// A handle is known from a look-up, so it may be unnamed; not where the call destroys what it stands for.
    fn reference(&mut self, top: &str, text: &str) {
        let destroys = self.capability.execution.side_effect == SideEffect::Destructive;
        let named = self.said.has_phrase(&words::normalise(text));
        if destroys {
            self.settle(top, text, named);
        }
    }

    /// Free text may hold what was read, but no address the user does not know of: a reader would follow it.
    fn content(&mut self, top: &str, text: &str) {
        let foreign = address::all(text).into_iter().find(|address| !self.knows(address));
        match foreign {
            Some(_) => self.not_said(top, Some(text)),
            None => self.found.anchored |= self.said.has_phrase(&words::normalise(text)),
        }
    }

    fn knows(&self, address: &Address) -> bool {
        let host = match address {
            Address::Mail(mail) => mail.rsplit_once('@').map(|(_, host)| host),
            Address::Web(web) => Some(web.host.as_str()),
            Address::Account(_) => None,
        };
        host.is_some_and(|host| self.allows(host)) || self.said.has_address(address)
    }

    /// Whether the contract allows a host, or a domain it lies in. Names of sets of hosts are no hosts.
    fn allows(&self, host: &str) -> bool {
        self.capability.governance.allowed_domains.iter().filter(|domain| domain.contains('.')).any(|domain| {
            let domain = domain.trim_start_matches("*.").trim_start_matches("www.");
            host.eq_ignore_ascii_case(domain)
                || host.len() > domain.len()
                    && host.get(host.len() - domain.len()..).is_some_and(|end| end.eq_ignore_ascii_case(domain))
                    && host.as_bytes().get(host.len() - domain.len() - 1) == Some(&b'.')
        })
    }

    fn not_said(&mut self, top: &str, text: Option<&str>) {
        if self.found.unnamed.iter().any(|unnamed| unnamed.argument == top) {
            return;
        }
        let source = text.and_then(|text| self.source(text));
        self.found.unnamed.push(Unnamed { argument: top.to_owned(), source });
    }

    fn source(&self, text: &str) -> Option<String> {
        if self.heard.is_empty() {
            return None;
        }
        let phrase = words::normalise(text);
        self.heard.iter().find(|heard| heard.holds(&phrase)).map(|heard| heard.to_string())
    }

    /// Days decide where nothing surer was named: a meeting with somebody the user named may be on any day.
    fn finish(mut self) -> CallOrigin {
        if !self.target {
            for day in self.days {
                if self.found.unnamed.iter().all(|unnamed| unnamed.argument != day.argument) {
                    self.found.unnamed.push(day);
                }
            }
        }
        self.found
    }
}
