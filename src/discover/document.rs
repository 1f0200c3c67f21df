//! What the index reads of a capability: five fields of different weight.

use serde_json::Value;

use super::token::Reading;
use crate::capability::Capability;

/// How deep parameters inside parameters are read.
const MAX_DEPTH: usize = 5;

/// A part of a document. Where a word stands decides how much it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The intent, or `server.tool` of a foreign tool.
    Name,
    /// The description, and when to use it.
    Text,
    /// Names of parameters.
    Parameter,
    /// Descriptions of parameters.
    ParameterText,
    /// Values a parameter may have.
    Value,
}

impl Field {
    /// How many there are.
    pub(super) const COUNT: usize = 5;

    /// How much one occurrence counts.
    pub(super) const fn weight(self) -> f32 {
        match self {
            Self::Name => 1.5,
            Self::Text | Self::Value => 1.0,
            Self::Parameter | Self::ParameterText => 0.5,
        }
    }

    /// How much a long field is held against its words, 0 to 1.
    pub(super) const fn length_penalty(self) -> f32 {
        match self {
            Self::Name => 0.5,
            Self::Text => 0.7,
            Self::Parameter | Self::ParameterText | Self::Value => 0.75,
        }
    }

    pub(super) const fn reading(self) -> Reading {
        match self {
            Self::Name | Self::Parameter | Self::Value => Reading::Name,
            Self::Text | Self::ParameterText => Reading::Prose,
        }
    }
}

/// One thing to be found: a key and the texts it is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What a hit is reported as; unique in an index.
    pub key: String,
    /// The texts.
    pub fields: Vec<(Field, String)>,
}

impl Document {
    /// A document that is found by the words of its name.
    pub fn new(key: impl Into<String>, name: impl Into<String>) -> Self {
        Self { key: key.into(), fields: vec![(Field::Name, name.into())] }
    }

    /// Adds a text.
    #[must_use]
    pub fn with(mut self, field: Field, text: impl Into<String>) -> Self {
        self.fields.push((field, text.into()));
        self
    }

    /// Adds names, descriptions and allowed values of the parameters of a JSON Schema.
    #[must_use]
    pub fn with_schema(mut self, schema: &Value) -> Self {
        self.read_schema(schema, 0);
        self
    }

    fn read_schema(&mut self, schema: &Value, depth: usize) {
        let Value::Object(keywords) = schema else { return };
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(Value::String(text)) = keywords.get("description").filter(|_| depth > 0) {
            self.fields.push((Field::ParameterText, text.clone()));
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            let texts = values.iter().filter_map(Value::as_str);
            self.fields.extend(texts.map(|text| (Field::Value, text.to_owned())));
        }
        if let Some(Value::Object(properties)) = keywords.get("properties") {
            for (name, property) in properties {
                self.fields.push((Field::Parameter, name.clone()));
                self.read_schema(property, depth + 1);
            }
        }
        if let Some(items) = keywords.get("items") {
            self.read_schema(items, depth + 1);
        }
        for branches in ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| keywords.get(*word)?.as_array()) {
            for branch in branches {
                self.read_schema(branch, depth + 1);
            }
        }
    }
}

impl From<&Capability> for Document {
    fn from(capability: &Capability) -> Self {
        let mut document = Self::new(capability.id.as_str(), capability.intent.as_str());
        if capability.id.as_str() != capability.intent.as_str() {
            document = document.with(Field::Text, capability.id.as_str());
        }
        document = document.with(Field::Text, capability.description.clone());
        for text in &capability.use_when {
            document = document.with(Field::Text, text.clone());
        }
        document.with_schema(&capability.input.schema)
    }
}
