//! What tokens and hosted searches cost: a dated table, computed in integers.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::types::{MicroUsd, Usage};

use super::profile::glob;

/// Micro-dollars for a million tokens; written in dollars in the catalog (`1.25`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerMillion(MicroUsd);

impl<'de> Deserialize<'de> for PerMillion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        MicroUsd::from_usd(dollars).map(Self).ok_or_else(|| de::Error::custom(format!("`{dollars}` is no price")))
    }
}

impl Serialize for PerMillion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.usd())
    }
}

impl PerMillion {
    /// Millionths of a micro-dollar that `count` of them cost.
    fn of(self, count: u64) -> u128 {
        u128::from(self.0.micro()) * u128::from(count)
    }
}

/// The rates of one tier, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Prompt tokens.
    pub input: PerMillion,
    /// Prompt tokens read from a cache; the input rate when not given.
    pub cached: Option<PerMillion>,
    /// Prompt tokens written to a cache; the input rate when not given.
    pub cache_write: Option<PerMillion>,
    /// Prompt tokens written to a long-lived cache; the cache-write rate when not given.
    pub cache_write_long: Option<PerMillion>,
    /// Output tokens, reasoning included.
    pub output: PerMillion,
}

/// The rates above a prompt length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongRates {
    /// More prompt tokens than this.
    pub above: u64,
    /// Cost this.
    pub rates: Rates,
}

/// The price of the models that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// An anchored pattern; `*` stands for any text. The first that matches counts.
    pub model: String,
    /// The rates.
    pub rates: Rates,
    /// The rates of very long prompts, where the provider asks more for them.
    pub long: Option<LongRates>,
    /// Dollars for a thousand hosted searches, where they are not those of the table.
    pub searches_per_thousand: Option<PerMillion>,
}

/// All prices of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// The day the prices were read.
    pub as_of: String,
    /// Where.
    pub source: String,
    /// Dollars for a thousand hosted searches.
    #[serde(default)]
    pub searches_per_thousand: PerMillion,
    /// The models.
    pub models: Vec<Price>,
}

impl PriceTable {
    /// Reads a file of one's own prices: a map from a provider's name to its table, in the form of the shipped ones.
    ///
    /// # Errors
    /// [`super::ProfileError`] with the place in the text.
    pub fn parse_many(text: &str) -> Result<BTreeMap<String, Self>, super::ProfileError> {
        serde_saphyr::from_str(text).map_err(|error| super::ProfileError::new(&error))
    }

    fn row(&self, model: &str) -> Option<&Price> {
        self.models.iter().find(|price| glob(&price.model, model))
    }

    /// What a call of `model` with this usage cost, rounded up to a whole micro-dollar; `None` when the model is not
    /// in the table.
    pub fn price(&self, model: &str, usage: &Usage) -> Option<MicroUsd> {
        let row = self.row(model)?;
        let rates = match &row.long {
            Some(long) if usage.prompt() > long.above => &long.rates,
            Some(_) | None => &row.rates,
        };
        let write = rates.cache_write.unwrap_or(rates.input);
        let sum = rates.input.of(usage.input.saturating_add(usage.tool_use))
            + rates.cached.unwrap_or(rates.input).of(usage.cached)
            + write.of(usage.cache_write)
            + rates.cache_write_long.unwrap_or(write).of(usage.cache_write_long)
            + rates.output.of(usage.completion())
            + row.searches_per_thousand.unwrap_or(self.searches_per_thousand).of(usage.searches) * 1000;
        Some(MicroUsd::new(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)))
    }

    /// The most a call can cost that reads `prompt` tokens, writes `output` tokens and makes `searches` hosted searches:
    /// nothing comes from a cache, and all of it may be written to one.
    pub fn worst_case(&self, model: &str, prompt: u64, output: u64, searches: u64) -> Option<MicroUsd> {
        let plain = Usage { input: prompt, output, searches, ..Usage::default() };
        let written = Usage { cache_write: prompt, output, searches, ..Usage::default() };
        Some(self.price(model, &plain)?.max(self.price(model, &written)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_ones_own_are_a_table_by_provider() {
        let text =
            "mine: {as_of: '2026-11-30', source: contract, models: [{model: 'm*', rates: {input: 1, output: 2}}]}";
        let tables = PriceTable::parse_many(text).unwrap();
        let usage = Usage { input: 1_000_000, output: 500_000, ..Usage::default() };
        assert_eq!(tables["mine"].price("m-1", &usage), Some(MicroUsd::new(2_000_000)));
        let error = PriceTable::parse_many("mine: {as_off: x}").unwrap_err().to_string();
        assert!(error.contains("as_off"), "{error}");
    }

    fn table(text: &str) -> PriceTable {
        serde_saphyr::from_str(text).unwrap()
    }

    const TABLE: &str = "
as_of: 2026-11-30
source: a test
searches_per_thousand: 10
models:
  - {model: 'm-1*', rates: {input: 1.25, cached: 0.625, output: 10}}
  - {model: 'm-2', rates: {input: 2, cached: 0.2, cache_write: 2.5, output: 10}, long: {above: 1000, rates: {input: 4, output: 15}}}
";

    /// DEV-K01
    #[test]
    fn cached_tokens_are_priced_once() {
        let usage = Usage { input: 5_005, cached: 257_955, output: 1_744, ..Usage::default() };
        // (5,005 × 1.25 + 257,955 × 0.625 + 1,744 × 10) / 1e6 dollars = 184,918.125 micro-dollars, rounded up.
        assert_eq!(table(TABLE).price("m-1-2026", &usage), Some(MicroUsd::new(184_919)));
    }

    #[test]
    fn searches_and_reasoning_and_long_prompts_have_their_price() {
        let table = table(TABLE);
        let searches = Usage { searches: 3, ..Usage::default() };
        assert_eq!(table.price("m-2", &searches), Some(MicroUsd::new(30_000)));
        let short = Usage { input: 1000, output: 10, reasoning: 90, ..Usage::default() };
        assert_eq!(table.price("m-2", &short), Some(MicroUsd::new(3_000)));
        assert_eq!(table.price("m-2", &Usage { input: 1001, ..short }), Some(MicroUsd::new(5_504)));
    }

    #[test]
    fn an_unknown_model_has_no_price_instead_of_none_to_pay() {
        assert_eq!(table(TABLE).price("m-3", &Usage::default()), None);
        assert_eq!(table(TABLE).worst_case("m-2", 100, 10, 0), Some(MicroUsd::new(350)));
    }
}
