//! How long it takes to set money aside and to book what was spent, alone and with 64 turns at once. A turn does both
//! once for each model call.
#![expect(clippy::expect_used, reason = "a bench that cannot be set up has to stop")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agcore::{
    store::{Account, AccountClaim, Commit, Journal, MemoryJournal, Reserve, Reserved, Settle, SqliteJournal},
    types::{MicroUsd, Timestamp, TurnId},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;

/// The accounts of one of 16 users: everybody's day, the tenant's month, the user's day.
fn claims(user: u64) -> Arc<[AccountClaim]> {
    let claim = |budget: &str, subject: String| AccountClaim {
        account: Arc::new(Account { budget: budget.to_owned(), subject, opened_at: Timestamp::from_ms(0) }),
        limit: MicroUsd::new(1 << 50),
    };
    [claim("day", "all".into()), claim("month", "acme".into()), claim("user", format!("acme/user{user}"))].into()
}

static TURNS: AtomicU64 = AtomicU64::new(0);

/// Sets the worst case aside, then books what was spent with the commit that says so.
async fn pay(store: &dyn Journal, claims: Arc<[AccountClaim]>) {
    let turn = TurnId::new(format!("t{}", TURNS.fetch_add(1, Ordering::Relaxed))).expect("a valid id");
    let amount = MicroUsd::new(500);
    let (now, expires_at) = (Timestamp::from_ms(0), Timestamp::from_ms(90_000));
    let reserve = Reserve { turn: turn.clone(), claims: claims.clone(), amount, expires_at, now };
    let reserved = store.reserve(reserve).await.expect("a database that works");
    assert_eq!(reserved, Reserved::Held);
    let settle = Settle { claims, spent: MicroUsd::new(123), keep: MicroUsd::ZERO };
    let body = "x".repeat(2_000);
    let commit = Commit { turn, seq: 0, last_seq: 3, at: now, body, head: None, anchor: None, settle: Some(settle) };
    store.append(commit).await.expect("a database that works");
}

fn bench(c: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = runtime.block_on(SqliteJournal::open(&folder.path().join("a.db"))).expect("a database");
    let stores: [(&str, Arc<dyn Journal>); 2] =
        [("memory", Arc::new(MemoryJournal::default())), ("sqlite", Arc::new(sqlite))];
    let mut group = c.benchmark_group("ledger/reserve_and_commit");
    group.measurement_time(Duration::from_secs(8)).sample_size(30);
    for (name, store) in &stores {
        for turns in [1_u64, 64] {
            group.throughput(Throughput::Elements(turns));
            group.bench_function(format!("{name}/{turns}_turns"), |b| {
                b.to_async(&runtime).iter_batched(
                    || (0..turns).map(|n| claims(n % 16)).collect::<Vec<_>>(),
                    |claims| async { join_all(claims.into_iter().map(|claims| pay(store.as_ref(), claims))).await },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
