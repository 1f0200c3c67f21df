//! How long 10,000 capabilities take to register, to index and to search.
#![expect(clippy::expect_used, reason = "a bench that cannot be set up has to stop")]

use std::hint::black_box;

use agcore::{
    capability::{Capability, Registry},
    discover::Index,
    types::RiskClass,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::json;

const TOOLS: usize = 10_000;

/// Tools that all share their words: the worst case for an index.
fn tool(n: usize) -> Capability {
    Capability::builder(format!("shop{}.order_update_{n}", n % 50), format!("orders.update_{n}"))
        .description("Searches, reads, creates or updates an order, an invoice or a file of a customer of the company.")
        .use_when("an order of a customer has to be looked at or changed")
        .runs_function(format!("update_{n}"))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "customer": {"type": "string", "description": "The number of the customer"},
                "order": {"type": "integer", "description": "The number of the order"},
                "state": {"type": "string", "enum": ["open", "paid", "shipped", "cancelled"]},
            },
            "required": ["customer"],
        }))
        .risk(RiskClass::InternalRead)
        .build()
        .expect("the tool is valid")
}

fn registry() -> Registry {
    (0..TOOLS).map(tool).fold(Registry::builder(), |builder, tool| builder.add(tool)).build().expect("ids are unique")
}

fn catalog(c: &mut Criterion) {
    c.bench_function("build and register 10,000 capabilities", |b| b.iter(registry));
    c.bench_function("load the shipped catalog", |b| b.iter(|| Registry::builder().embedded().build()));
    let registry = registry();
    let id = &registry.iter().next().expect("it holds 10,000").id;
    c.bench_function("look one of 10,000 up by id", |b| b.iter(|| registry.get(black_box(id))));
    let all = || registry.iter().map(AsRef::as_ref);
    c.bench_function("index 10,000 capabilities", |b| {
        b.iter_batched(all, Index::build, BatchSize::LargeInput);
    });
    let index = Index::build(all());
    for (name, query) in [
        ("search 10,000: three words", "update customer order"),
        (
            "search 10,000: a question",
            "please look at order 4711 of the customer and update the state of its invoice to paid",
        ),
        ("search 10,000: Chinese", "查询客户的订单并更新发票的状态"),
    ] {
        c.bench_function(name, |b| b.iter(|| index.search(black_box(query), 10)));
    }
    let page = "orders, invoices and files of customers of the company, ".repeat(200);
    c.bench_function("search 10,000: a pasted page", |b| b.iter(|| index.search(black_box(&page), 10)));
}

criterion_group!(benches, catalog);
criterion_main!(benches);
