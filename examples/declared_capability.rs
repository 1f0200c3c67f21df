//! A capability declared in YAML: who may use it, how risky it is, what of its result a model sees. The function behind
//! it is given beside it.
//!
//! `cargo run --example declared_capability`

use std::sync::Arc;

use agcore::{
    execute::function,
    runtime::{Runtime, RuntimeError},
    turn::{TurnEnd, TurnError},
    types::{Intent, Scope, ToolError},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const CATALOG: &str = "
capabilities:
  - id: crm.customer_by_name
    intent: customers.get_by_name
    description: Looks up a customer by name
    input_schema: { query: string }
    mode: runtime_function
    function_name: customer_by_name
    risk_class: internal_read
    required_scopes: [customer.read]
    projection: { preserve_fields: [name, city], redact_fields: [phone] }
";

#[derive(Debug, Deserialize, JsonSchema)]
struct Query {
    query: String,
}

#[derive(Debug, Serialize)]
struct Customer {
    name: &'static str,
    city: &'static str,
    phone: &'static str,
}

/// Anything that goes wrong here.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The parts do not fit.
    #[error(transparent)]
    Build(#[from] RuntimeError),
    /// The turn could not run.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// A name is no valid id.
    #[error(transparent)]
    Name(#[from] agcore::types::IdError),
}

/// Asks with and without the scope the capability requires, and returns both answers.
pub async fn answers() -> Result<(String, String), Failed> {
    Ok((ask(Some("customer.read")).await?, ask(None).await?))
}

async fn ask(scope: Option<&str>) -> Result<String, Failed> {
    let look_up = |query: Query, _| async move {
        let known = query.query.contains("Lin");
        let customer = Customer { name: "Lin Mei", city: "Chengdu", phone: "+86 139 0000 0000" };
        if known {
            Ok(customer)
        } else {
            Err(ToolError::new(agcore::types::ErrorCode::NotFound, "no such customer", "ask for the full name"))
        }
    };
    let mut builder = Runtime::builder()
        .catalog(CATALOG, "the example's catalog")
        .executor("customer_by_name", Arc::new(function("customer_by_name", look_up)));
    if let Some(scope) = scope {
        builder = builder.scope(Scope::new(scope)?);
    }
    let runtime = builder.build()?;
    let wanted = [Intent::new("customers.get_by_name")?];
    let outcome = runtime.turn("In which city does the customer Lin Mei live?").intents(wanted).run().await?;
    Ok(match outcome.end {
        TurnEnd::Ended(ended) => ended.answer.clone(),
        TurnEnd::Waiting(_) | TurnEnd::Paused(_) => "the turn waits for a person".to_owned(),
    })
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
#[cfg_attr(test, allow(dead_code, clippy::allow_attributes, reason = "the tests call what it calls"))]
async fn main() -> Result<(), Failed> {
    let (with, without) = answers().await?;
    println!("with the scope:\n{with}\n\nwithout it:\n{without}");
    Ok(())
}
