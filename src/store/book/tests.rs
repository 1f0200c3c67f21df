use std::collections::BTreeMap;

use futures_util::future::join_all;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::store::{Accounts, Commit, Journal, MemoryJournal, SqliteJournal};

fn account(budget: &str) -> Arc<Account> {
    Arc::new(Account { budget: budget.into(), subject: "acme".into(), opened_at: Timestamp::from_ms(0) })
}

fn claims(limits: &[(&str, u64)]) -> Arc<[AccountClaim]> {
    limits
        .iter()
        .map(|(budget, limit)| AccountClaim { account: account(budget), limit: MicroUsd::new(*limit) })
        .collect()
}

fn turn(n: usize) -> TurnId {
    TurnId::new(format!("t{n}")).unwrap()
}

fn wants(n: usize, claims: &Arc<[AccountClaim]>, amount: u64, expires_at: i64, now: i64) -> Reserve {
    Reserve {
        turn: turn(n),
        claims: Arc::clone(claims),
        amount: MicroUsd::new(amount),
        expires_at: Timestamp::from_ms(expires_at),
        now: Timestamp::from_ms(now),
    }
}

/// A commit that settles, at place `seq` of its turn.
fn settles(n: usize, seq: u64, claims: &Arc<[AccountClaim]>, spent: u64, keep: u64) -> Commit {
    let settle = Settle { claims: Arc::clone(claims), spent: MicroUsd::new(spent), keep: MicroUsd::new(keep) };
    let at = Timestamp::from_ms(0);
    Commit {
        turn: turn(n),
        seq,
        last_seq: seq,
        at,
        body: String::new(),
        head: None,
        anchor: None,
        settle: Some(settle),
    }
}

async fn sums(store: &dyn Accounts, budget: &str, now: i64) -> (u64, u64) {
    let all = store.balances(budget, Timestamp::from_ms(0), Timestamp::from_ms(now), 10).await.unwrap();
    all.first().map_or((0, 0), |balance| (balance.spent.micro(), balance.reserved.micro()))
}

/// Runs a test on both stores.
async fn on_both<T: Future<Output = ()>>(test: impl Fn(Arc<dyn Journal>) -> T) {
    let folder = tempfile::tempdir().unwrap();
    test(Arc::new(MemoryJournal::default())).await;
    test(Arc::new(SqliteJournal::open(&folder.path().join("a.db")).await.unwrap())).await;
}

/// DEV-K02: limit 10.00, spent 9.90, five start together with a worst case of 0.05 each.
#[tokio::test]
async fn of_five_that_start_together_only_those_run_that_can_be_paid() {
    on_both(|store| async move {
        let all = claims(&[("day", 1000)]);
        assert_eq!(store.reserve(wants(9, &all, 990, 100, 0)).await.unwrap(), Reserved::Held);
        store.append(settles(9, 0, &all, 990, 0)).await.unwrap();
        let asked = join_all((0..5).map(|n| store.reserve(wants(n, &all, 5, 100, 0)))).await;
        let held = asked.iter().filter(|reserved| matches!(reserved, Ok(Reserved::Held))).count();
        assert_eq!((held, sums(&*store, "day", 0).await), (2, (990, 10)));
        let short = Reserved::Short { account: account("day"), left: MicroUsd::ZERO };
        assert_eq!(store.reserve(wants(7, &all, 5, 100, 0)).await.unwrap(), short);
    })
    .await;
}

#[tokio::test]
async fn money_is_set_aside_in_all_accounts_or_in_none() {
    on_both(|store| async move {
        let all = claims(&[("day", 100), ("month", 20)]);
        let refused = store.reserve(wants(1, &all, 30, 100, 0)).await.unwrap();
        assert_eq!(refused, Reserved::Short { account: account("month"), left: MicroUsd::new(20) });
        assert_eq!((sums(&*store, "day", 0).await, sums(&*store, "month", 0).await), ((0, 0), (0, 0)));
        assert_eq!(store.reserve(wants(1, &all, 20, 100, 0)).await.unwrap(), Reserved::Held);
        store.append(settles(1, 0, &all, 12, 5)).await.unwrap();
        assert_eq!((sums(&*store, "day", 0).await, sums(&*store, "month", 0).await), ((12, 5), (12, 5)));
    })
    .await;
}

#[tokio::test]
async fn a_reservation_replaces_the_one_before_it_also_in_another_window() {
    on_both(|store| async move {
        let (old, new) = (claims(&[("day", 100)]), claims(&[("next", 100)]));
        store.reserve(wants(1, &old, 80, 100, 0)).await.unwrap();
        assert_eq!(store.reserve(wants(1, &old, 90, 100, 0)).await.unwrap(), Reserved::Held);
        assert_eq!(sums(&*store, "day", 0).await, (0, 90));
        assert_eq!(store.reserve(wants(1, &new, 70, 100, 0)).await.unwrap(), Reserved::Held);
        assert_eq!((sums(&*store, "day", 0).await, sums(&*store, "next", 0).await), ((0, 0), (0, 70)));
    })
    .await;
}

/// DEV-K02: a crash with an open reservation.
#[tokio::test]
async fn a_reservation_comes_back_when_its_lease_is_over_and_not_before() {
    on_both(|store| async move {
        let all = claims(&[("day", 100)]);
        store.reserve(wants(1, &all, 80, 1_000, 0)).await.unwrap();
        let short = Reserved::Short { account: account("day"), left: MicroUsd::new(20) };
        assert_eq!(store.reserve(wants(2, &all, 30, 2_000, 999)).await.unwrap(), short);
        assert_eq!(sums(&*store, "day", 999).await, (0, 80));
        assert_eq!(store.reserve(wants(2, &all, 30, 2_000, 1_000)).await.unwrap(), Reserved::Held);
        assert_eq!(sums(&*store, "day", 1_000).await, (0, 30));
    })
    .await;
}

/// The owner of an expired reservation may still come: what it spent is booked all the same.
#[tokio::test]
async fn what_was_spent_is_booked_however_late_it_is_said() {
    on_both(|store| async move {
        let all = claims(&[("day", 100)]);
        store.reserve(wants(1, &all, 80, 1_000, 0)).await.unwrap();
        store.reserve(wants(2, &all, 90, 9_000, 1_000)).await.unwrap();
        store.append(settles(1, 0, &all, 70, 5)).await.unwrap();
        assert_eq!(sums(&*store, "day", 1_000).await, (70, 90));
        let short = Reserved::Short { account: account("day"), left: MicroUsd::new(30) };
        assert_eq!(store.reserve(wants(2, &all, 95, 9_000, 1_000)).await.unwrap(), short);
    })
    .await;
}

#[tokio::test]
async fn a_commit_that_is_refused_settles_nothing() {
    on_both(|store| async move {
        let all = claims(&[("day", 100)]);
        store.reserve(wants(1, &all, 80, 1_000, 0)).await.unwrap();
        store.append(settles(1, 0, &all, 30, 50)).await.unwrap();
        // Another driver wrote this place first; a good commit beside it is not spoiled.
        let (taken, good) =
            tokio::join!(store.append(settles(1, 0, &all, 40, 0)), store.append(settles(2, 0, &all, 10, 0)),);
        assert!(matches!(taken, Err(crate::store::StoreError::Conflict { .. })), "{taken:?}");
        good.unwrap();
        assert_eq!(sums(&*store, "day", 0).await, (40, 50));
    })
    .await;
}

fn rate(id: &str, calls: u32, per: u64) -> RateClaim {
    RateClaim { id: id.into(), calls, per: DurationMs(per) }
}

#[tokio::test]
async fn a_rate_lets_its_calls_through_at_once_and_then_evenly() {
    on_both(|store| async move {
        let rates = [rate("mail/acme", 3, 60_000)];
        let at = |ms| Timestamp::from_ms(ms);
        for _ in 0..3 {
            assert_eq!(store.take(&rates, at(0)).await.unwrap(), Taken::Counted);
        }
        let wait = |ms| Taken::Wait { rate: 0, after: Some(DurationMs(ms)) };
        assert_eq!(store.take(&rates, at(0)).await.unwrap(), wait(20_000));
        assert_eq!(store.take(&rates, at(19_999)).await.unwrap(), wait(1));
        assert_eq!(store.take(&rates, at(20_000)).await.unwrap(), Taken::Counted);
        assert_eq!(store.take(&rates, at(20_000)).await.unwrap(), wait(20_000));
        // A refused call counts nowhere, and after a long rest all of them may come at once again.
        let both = [rate("other", 5, 1_000), rate("mail/acme", 3, 60_000)];
        assert!(matches!(store.take(&both, at(20_000)).await.unwrap(), Taken::Wait { rate: 1, .. }));
        for _ in 0..3 {
            assert_eq!(store.take(&rates, at(600_000)).await.unwrap(), Taken::Counted);
        }
        let never = Taken::Wait { rate: 0, after: None };
        assert_eq!(store.take(&[rate("no", 0, 1_000)], at(0)).await.unwrap(), never);
    })
    .await;
}

#[tokio::test]
async fn two_processes_share_accounts_and_rates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (one, two) = (SqliteJournal::open(&path).await.unwrap(), SqliteJournal::open(&path).await.unwrap());
    let all = claims(&[("day", 100), ("month", 64)]);
    let asked = (0..64).map(|n| [&one, &two][n % 2].reserve(wants(n, &all, 2, 100, 0)));
    let asked = join_all(asked).await;
    let held = asked.iter().filter(|reserved| matches!(reserved, Ok(Reserved::Held))).count();
    assert_eq!((held, sums(&one, "month", 0).await, sums(&two, "day", 0).await), (32, (0, 64), (0, 64)));
    let rates = [rate("r", 10, 1_000)];
    let taken = join_all((0..20).map(|n| [&one, &two][n % 2].take(&rates, Timestamp::from_ms(0)))).await;
    assert_eq!(taken.iter().filter(|taken| matches!(taken, Ok(Taken::Counted))).count(), 10);
}

/// Sixty-four turns at once, each on its own task: a hundred dollars are spent to the last one, and not one more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_turns_at_once_never_overdraw_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteJournal::open(&folder.path().join("a.db")).await.unwrap());
    let all = claims(&[("day", 100_000), ("month", 1_000_000)]);
    let work = |n: usize| {
        let (store, all) = (Arc::clone(&store), Arc::clone(&all));
        async move {
            let mut paid = 0;
            for seq in 0..20_u64 {
                let amount = 100 + (n as u64 * 7 + seq * 13) % 50;
                match store.reserve(wants(n, &all, amount, 1_000, 0)).await.unwrap() {
                    Reserved::Held => {
                        let cost = amount - seq % 3;
                        store.append(settles(n, paid_seq(&mut paid), &all, cost, 0)).await.unwrap();
                    }
                    Reserved::Short { left, .. } => assert!(left.micro() < amount),
                }
                let (spent, reserved) = sums(&*store, "day", 0).await;
                assert!(spent + reserved <= 100_000, "{spent} + {reserved}");
            }
        }
    };
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..64 {
        tasks.spawn(work(n));
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let (spent, reserved) = sums(&*store, "day", 0).await;
    assert!(reserved == 0 && spent <= 100_000 && spent > 99_000, "{spent} + {reserved}");
    assert_eq!(sums(&*store, "month", 0).await, (spent, 0));
}

fn paid_seq(paid: &mut u64) -> u64 {
    *paid += 1;
    *paid - 1
}

/// What may happen to one of a few turns.
#[derive(Debug, Clone)]
enum Act {
    /// It wants so much set aside, with a lease of so many milliseconds.
    Reserve(u64, i64),
    /// It spends these hundredths of what it holds, and keeps these hundredths of the rest.
    Spend(u64, u64),
    /// Its process dies.
    Crash,
    /// Time passes.
    Wait(i64),
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        4 => (0_u64..400, 1_i64..50).prop_map(|(amount, lease)| Act::Reserve(amount, lease)),
        3 => (0_u64..=100, 0_u64..=100).prop_map(|(spent, kept)| Act::Spend(spent, kept)),
        1 => Just(Act::Crash),
        2 => (0_i64..40).prop_map(Act::Wait),
    ];
    prop::collection::vec((0_usize..4, act), 1..60)
}

/// What a turn believes it holds, until when, and the next place of its journal.
#[derive(Debug, Clone, Copy, Default)]
struct Driver {
    held: u64,
    until: i64,
    seq: u64,
}

/// Plays `acts`. A turn keeps to its lease, as drivers do: after it nothing is spent. Returns all that was spent.
async fn play(store: &dyn Journal, limits: [u64; 2], acts: &[(usize, Act)]) -> Result<u64, TestCaseError> {
    // Turns 0 and 1 pay from both accounts, the others from one of them.
    let both = claims(&[("a", limits[0]), ("b", limits[1])]);
    let of = [both.clone(), both, claims(&[("a", limits[0])]), claims(&[("b", limits[1])])];
    let mut drivers: BTreeMap<usize, Driver> = BTreeMap::new();
    let (mut now, mut total) = (0_i64, 0);
    for (n, act) in acts {
        let claims = &of[*n];
        let driver = drivers.entry(*n).or_default();
        match act {
            Act::Reserve(amount, lease) => {
                let until = now + lease;
                if store.reserve(wants(*n, claims, *amount, until, now)).await.unwrap() == Reserved::Held {
                    (driver.held, driver.until) = (*amount, until);
                }
            }
            Act::Spend(spent, kept) if now < driver.until => {
                let spent = driver.held * spent / 100;
                let keep = (driver.held - spent) * kept / 100;
                store.append(settles(*n, driver.seq, claims, spent, keep)).await.unwrap();
                (driver.held, driver.seq) = (keep, driver.seq + 1);
                total += spent;
            }
            Act::Spend(..) => driver.held = 0,
            Act::Crash => (driver.held, driver.until) = (0, now),
            Act::Wait(ms) => now += ms,
        }
        for (budget, limit) in [("a", limits[0]), ("b", limits[1])] {
            let (spent, reserved) = sums(store, budget, now).await;
            prop_assert!(spent + reserved <= limit, "{budget}: {spent} + {reserved} > {limit} after {act:?}");
        }
    }
    // When every lease is over, all that is not spent is there for the asking.
    let (spent, _) = sums(store, "a", now).await;
    let rest = limits[0] - spent;
    let last = claims(&[("a", limits[0])]);
    let all = store.reserve(wants(9, &last, rest, now + 2_000, now + 1_000)).await.unwrap();
    prop_assert_eq!(all, Reserved::Held);
    Ok(total)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_interleaving_of_turns_overdraws_an_account(a in 0_u64..1_000, b in 0_u64..1_000, acts in acts()) {
        block_on(play(&MemoryJournal::default(), [a, b], &acts))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// The database books the same as the pure rules.
    #[test]
    fn no_interleaving_of_turns_overdraws_the_database(a in 0_u64..1_000, b in 0_u64..1_000, acts in acts()) {
        let folder = tempfile::tempdir().unwrap();
        let (spent, expected) = block_on(async {
            let sqlite = SqliteJournal::open(&folder.path().join("a.db")).await.unwrap();
            let spent = play(&sqlite, [a, b], &acts).await;
            (spent, play(&MemoryJournal::default(), [a, b], &acts).await)
        });
        prop_assert_eq!(spent?, expected?);
    }
}
