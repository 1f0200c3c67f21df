//! The set `tool_search`: each query is searched in its own pool of tools.

use std::{collections::BTreeMap, path::Path, time::Instant};

use agcore::discover::{Document, Field, Index};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Predicted, lines};

/// The scoring script looks at the first ten.
const ANSWERS: usize = 10;

#[derive(Deserialize)]
struct Tool {
    id: String,
    pool: String,
    #[serde(default)]
    server: String,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
}

#[derive(Deserialize)]
struct Query {
    id: String,
    pool: String,
    query: String,
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let parent = data.parent().with_context(|| format!("`{}` has no parent folder with the tools", data.display()))?;
    let mut pools: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    for file in present(parent, ["tools.jsonl", "tools_nolicence.jsonl"]) {
        for tool in lines::<Tool>(&file)? {
            pools.entry(tool.pool.clone()).or_default().push(document(tool));
        }
    }
    let pools: BTreeMap<String, Index> =
        pools.into_iter().map(|(pool, documents)| (pool, Index::from_documents(documents))).collect();
    let inputs = present(data, ["queries.jsonl", "queries_nolicence.jsonl"]);
    let mut found = Vec::new();
    for file in &inputs {
        for query in lines::<Query>(file)? {
            let index = pools.get(&query.pool).with_context(|| format!("no tools of the pool `{}`", query.pool))?;
            found.push(answer(index, &query));
        }
    }
    Ok(vec![Predicted { inputs, lines: found, args: Vec::new() }])
}

fn present<const N: usize>(folder: &Path, names: [&str; N]) -> Vec<std::path::PathBuf> {
    names.map(|name| folder.join(name)).into_iter().filter(|path| path.is_file()).collect()
}

/// A foreign tool is named `<server>.<tool>`, as agcore names the tools of an MCP server.
fn document(tool: Tool) -> Document {
    let name = if tool.server.is_empty() { tool.name } else { format!("{}.{}", tool.server, tool.name) };
    let document = Document::new(tool.id, name).with_schema(&tool.input_schema);
    document.with(Field::Text, tool.description.unwrap_or_default())
}

fn answer(index: &Index, query: &Query) -> String {
    let start = Instant::now();
    let hits = index.search(&query.query, ANSWERS);
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let ranked: Vec<&str> = hits.iter().map(|hit| hit.key).collect();
    json!({"id": query.id, "ranked": ranked, "ms": ms}).to_string()
}
