//! The windows of budgets: days and months of the calendar in UTC.

use jiff::{
    civil::{Date, Time},
    tz::Offset,
};
use serde::{Deserialize, Serialize};

use crate::types::Timestamp;

/// How long a budget lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// A day, from midnight UTC.
    Day,
    /// A month of the calendar, in UTC.
    Month,
    /// It never starts anew.
    Total,
}

impl Window {
    /// The word as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Total => "total",
        }
    }

    /// When the window that `now` lies in began.
    pub fn start(self, now: Timestamp) -> Timestamp {
        let first = match self {
            Self::Day => day(now),
            Self::Month => day(now).map(Date::first_of_month),
            Self::Total => None,
        };
        first.and_then(midnight).unwrap_or(Timestamp::from_ms(0))
    }

    /// When it ends; `None` when it does not.
    pub fn end(self, now: Timestamp) -> Option<Timestamp> {
        let last = match self {
            Self::Day => day(now)?,
            Self::Month => day(now)?.last_of_month(),
            Self::Total => return None,
        };
        midnight(last.tomorrow().ok()?)
    }
}

fn day(now: Timestamp) -> Option<Date> {
    let now = jiff::Timestamp::from_millisecond(now.ms()).ok()?;
    Some(Offset::UTC.to_datetime(now).date())
}

fn midnight(day: Date) -> Option<Timestamp> {
    let at = Offset::UTC.to_timestamp(day.to_datetime(Time::midnight())).ok()?;
    Some(Timestamp::from_ms(at.as_millisecond()))
}
