//! A function tool: an executor made from a typed Rust function, with the schema of its arguments.

use std::{fmt, marker::PhantomData};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    capability::schema_of,
    types::{Content, ToolError, ToolOutput},
};

use super::{CallContext, Executor, errors};

/// A typed Rust function as a tool.
///
/// ```
/// use agcore::{execute::{CallContext, function}, types::ToolError};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Args {
///     /// The order number.
///     id: u64,
/// }
///
/// let tool = function("orders.get", |args: Args, _context: CallContext| async move {
///     Ok::<_, ToolError>(format!("order {} is on its way", args.id))
/// });
/// assert_eq!(tool.schema()["required"][0], "id");
/// ```
pub struct FunctionTool<A, F> {
    name: String,
    run: F,
    arguments: PhantomData<fn(A)>,
}

/// Makes a tool from an async function of typed arguments.
///
/// The schema of `A` can be derived (doc comments become descriptions). The function returns text, anything that
/// serialises, or a whole [`ToolOutput`]; its errors are [`ToolError`]s (see [`errors`] for ready-made ones). It must
/// not block its thread: the deadline and the calls beside it run on the same one.
pub fn function<A, O, F, R>(name: impl Into<String>, run: F) -> FunctionTool<A, F>
where
    A: DeserializeOwned + Send,
    O: IntoOutput,
    F: Fn(A, CallContext) -> R + Send + Sync,
    R: Future<Output = Result<O, ToolError>> + Send,
{
    FunctionTool { name: name.into(), run, arguments: PhantomData }
}

impl<A, F> FunctionTool<A, F> {
    /// The name under which capabilities refer to it (`function_name`).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The JSON Schema of its arguments, derived anew each time.
    pub fn schema(&self) -> Value
    where
        A: JsonSchema,
    {
        schema_of::<A>()
    }
}

impl<A, F> fmt::Debug for FunctionTool<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<A, O, F, R> Executor for FunctionTool<A, F>
where
    A: DeserializeOwned + Send,
    O: IntoOutput,
    F: Fn(A, CallContext) -> R + Send + Sync,
    R: Future<Output = Result<O, ToolError>> + Send,
{
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let typed = A::deserialize(arguments).map_err(|error| errors::schema_validation(&error.to_string()))?;
            (self.run)(typed, context.clone()).await?.into_output()
        })
    }
}

/// What a function tool may return.
///
/// Whatever serialises is returned as JSON, except that a string is returned as plain text. A [`ToolOutput`] is
/// returned as it is.
pub trait IntoOutput: Send {
    /// Makes the output.
    ///
    /// # Errors
    /// `TOOL_FAILED` when the value does not serialise.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl<T: Serialize + Send> IntoOutput for T {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        let failed = |error: serde_json::Error| errors::tool_failed(format!("the output does not serialise: {error}"));
        let json = serde_json::to_string(&self).map_err(failed)?;
        let content = if json.starts_with('"') {
            Content::Text(serde_json::from_str(&json).map_err(failed)?)
        } else {
            Content::Json(json)
        };
        Ok(ToolOutput { content: vec![content], ..ToolOutput::default() })
    }
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::execute::testing::context;

    #[derive(Deserialize, JsonSchema)]
    struct Args {
        /// How many.
        count: u64,
        #[serde(default)]
        label: Option<String>,
    }

    #[derive(Serialize)]
    struct Answer {
        total: u64,
    }

    async fn run(tool: &dyn Executor, arguments: Value) -> Result<ToolOutput, ToolError> {
        tool.run(&arguments, &context()).await
    }

    #[tokio::test]
    async fn a_typed_function_gets_its_arguments_and_returns_json_text_or_a_whole_output() {
        let json = function("a", |args: Args, _| async move { Ok(Answer { total: args.count + 1 }) });
        assert_eq!(run(&json, json!({"count": 2})).await, Ok(ToolOutput::json(&json!({"total": 3}))));

        let text = function("b", |args: Args, _| async move { Ok(format!("{}\n{:?}", args.count, args.label)) });
        assert_eq!(run(&text, json!({"count": 2, "label": "é"})).await, Ok(ToolOutput::text("2\nSome(\"é\")")));

        let whole = ToolOutput { receipt: Some("r-1".into()), ..ToolOutput::text("sent") };
        let returned = whole.clone();
        let output = function("c", move |_: Args, _| {
            let returned = returned.clone();
            async move { Ok(returned) }
        });
        assert_eq!(run(&output, json!({"count": 2})).await, Ok(whole));
    }

    #[tokio::test]
    async fn arguments_that_do_not_fit_are_a_schema_error_that_names_the_field() {
        let tool = function("a", |args: Args, _| async move { Ok(args.count) });
        let error = run(&tool, json!({"label": "x"})).await.unwrap_err();
        assert_eq!(error, errors::schema_validation("missing field `count`"));
        assert!(run(&tool, json!({"count": -1})).await.is_err());
    }

    #[tokio::test]
    async fn large_integers_arrive_unrounded() {
        let tool = function("a", |args: Args, _| async move { Ok(args.count) });
        let arguments: Value = serde_json::from_str("{\"count\":18446744073709551615}").unwrap();
        let expected = ToolOutput { content: vec![Content::Json("18446744073709551615".into())], ..Default::default() };
        assert_eq!(run(&tool, arguments).await, Ok(expected));
    }

    #[test]
    fn the_schema_carries_names_types_and_descriptions() {
        let tool = function("a", |args: Args, _| async move { Ok(args.count) });
        assert_eq!(tool.schema()["properties"]["count"]["description"], "How many.");
        assert_eq!(tool.schema()["required"], json!(["count"]));
    }
}
