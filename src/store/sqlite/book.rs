//! Accounts, reservations and rates in SQLite: the rows that a transaction speaks of are read into a [`Book`], its rules
//! are applied, and the rows are written back. The transaction began IMMEDIATE, so nobody else writes in between.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection, sqlite::SqliteRow};

use crate::types::{MicroUsd, Timestamp, TurnId};

use super::{
    super::{
        account::{Account, AccountClaim, Balance, Reserve, Reserved},
        book::{Book, Hold, Sums},
    },
    Answer, Job, number,
};

/// Rows that one statement reads or writes: a few sizes, so that all statements stay prepared. What is missing to the
/// next size is filled up by saying the last row again, which changes nothing.
const SIZES: [usize; 4] = [1, 4, 16, 64];

/// Does the work of the jobs that is about accounts and rates, in their order. Commits answer nothing here.
pub(super) async fn work(connection: &mut SqliteConnection, jobs: &[&Job]) -> Result<Vec<Answer>, sqlx::Error> {
    let mut touched = Touched::of(jobs);
    let mut answers = Vec::with_capacity(jobs.len());
    if touched.is_empty() {
        answers.resize(jobs.len(), Answer::Committed);
        return Ok(answers);
    }
    let mut book = Book::default();
    read_holds(connection, &mut book, &touched.turns).await?;
    let held = book.holds.values().flat_map(|hold| hold.accounts.iter().cloned()).collect::<Vec<_>>();
    touched.accounts.extend(held);
    read_accounts(connection, &mut book, &touched.accounts).await?;
    read_rates(connection, &mut book, &touched.rates).await?;
    let mut swept = false;
    for job in jobs {
        answers.push(match job {
            Job::Commit(commit) => {
                if let Some(settle) = &commit.settle {
                    book.settle(&commit.turn, settle);
                }
                Answer::Committed
            }
            Job::Reserve(reserve) => {
                let mut reserved = book.reserve(reserve);
                if let (Reserved::Short { .. }, false) = (&reserved, swept) {
                    swept = true;
                    sweep(connection, &mut book, &mut touched, reserve).await?;
                    reserved = book.reserve(reserve);
                }
                Answer::Reserved(reserved)
            }
            Job::Take(rates, now) => Answer::Taken(book.take(rates, *now)),
        });
    }
    save(connection, &book, &touched).await?;
    Ok(answers)
}

/// What the jobs of a transaction read and change.
#[derive(Debug, Default)]
struct Touched {
    accounts: BTreeSet<Arc<Account>>,
    turns: BTreeSet<TurnId>,
    rates: BTreeSet<String>,
}

impl Touched {
    fn of(jobs: &[&Job]) -> Self {
        let mut touched = Self::default();
        for job in jobs {
            match job {
                Job::Commit(commit) => {
                    if let Some(settle) = &commit.settle {
                        touched.turn(&commit.turn, &settle.claims);
                    }
                }
                Job::Reserve(reserve) => touched.turn(&reserve.turn, &reserve.claims),
                Job::Take(rates, _) => touched.rates.extend(rates.iter().map(|rate| rate.id.clone())),
            }
        }
        touched
    }

    fn turn(&mut self, turn: &TurnId, claims: &[AccountClaim]) {
        self.turns.insert(turn.clone());
        self.accounts.extend(claims.iter().map(|claim| Arc::clone(&claim.account)));
    }

    fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.rates.is_empty()
    }
}

/// Takes back what expired, anywhere: the money is needed.
async fn sweep(
    connection: &mut SqliteConnection,
    book: &mut Book,
    touched: &mut Touched,
    reserve: &Reserve,
) -> Result<(), sqlx::Error> {
    for (turn, hold) in read_expired(connection, reserve.now).await? {
        // What this transaction has changed already is newer than the row.
        if touched.turns.insert(turn.clone()) {
            let unknown: BTreeSet<_> =
                hold.accounts.iter().filter(|account| !touched.accounts.contains(*account)).cloned().collect();
            read_accounts(connection, book, &unknown).await?;
            touched.accounts.extend(unknown);
            book.holds.insert(turn, hold);
        }
    }
    book.expire(reserve.now);
    Ok(())
}

async fn read_expired(connection: &mut SqliteConnection, now: Timestamp) -> Result<Vec<(TurnId, Hold)>, sqlx::Error> {
    let rows = sqlx::query("SELECT turn, amount, expires_at, accounts FROM hold WHERE expires_at <= $1")
        .bind(now.ms())
        .fetch_all(connection)
        .await?;
    rows.iter().map(hold).collect()
}

/// The rows in groups of the sizes that have a prepared statement.
fn groups<T: Copy>(rows: &[T]) -> impl Iterator<Item = Vec<T>> {
    let most = SIZES.last().copied().unwrap_or(1);
    rows.chunks(most).map(move |chunk| {
        let mut group = chunk.to_vec();
        let size = SIZES.iter().copied().find(|size| *size >= group.len()).unwrap_or(most);
        if let Some(last) = group.last().copied() {
            group.resize(size, last);
        }
        group
    })
}

async fn read_holds(
    connection: &mut SqliteConnection,
    book: &mut Book,
    turns: &BTreeSet<TurnId>,
) -> Result<(), sqlx::Error> {
    for group in groups(&turns.iter().collect::<Vec<_>>()) {
        let mut query = QueryBuilder::new("SELECT turn, amount, expires_at, accounts FROM hold WHERE turn IN (");
        let mut list = query.separated(", ");
        group.iter().for_each(|turn| {
            list.push_bind(turn.as_str());
        });
        query.push(")");
        for row in query.build().fetch_all(&mut *connection).await? {
            let (turn, hold) = hold(&row)?;
            book.holds.insert(turn, hold);
        }
    }
    Ok(())
}

fn hold(row: &SqliteRow) -> Result<(TurnId, Hold), sqlx::Error> {
    let turn = TurnId::new(row.try_get::<&str, _>(0)?).map_err(|error| sqlx::Error::Decode(error.into()))?;
    let accounts: Vec<Account> =
        serde_json::from_str(row.try_get(3)?).map_err(|error| sqlx::Error::Decode(error.into()))?;
    let hold = Hold {
        accounts: accounts.into_iter().map(Arc::new).collect(),
        amount: money(row.try_get(1)?),
        expires_at: Timestamp::from_ms(row.try_get(2)?),
    };
    Ok((turn, hold))
}

fn money(micro: i64) -> MicroUsd {
    MicroUsd::new(u64::try_from(micro).unwrap_or(0))
}

async fn read_accounts(
    connection: &mut SqliteConnection,
    book: &mut Book,
    accounts: &BTreeSet<Arc<Account>>,
) -> Result<(), sqlx::Error> {
    for group in groups(&accounts.iter().collect::<Vec<_>>()) {
        let mut query = QueryBuilder::new(
            "SELECT budget, subject, opened_at, spent, reserved FROM account WHERE (budget, subject, opened_at) IN ( ",
        );
        query.push_values(&group, |mut row, account| {
            row.push_bind(account.budget.as_str())
                .push_bind(account.subject.as_str())
                .push_bind(account.opened_at.ms());
        });
        query.push(")");
        for row in query.build().fetch_all(&mut *connection).await? {
            let (account, sums) = account(&row)?;
            book.accounts.insert(Arc::new(account), sums);
        }
    }
    Ok(())
}

fn account(row: &SqliteRow) -> Result<(Account, Sums), sqlx::Error> {
    let account =
        Account { budget: row.try_get(0)?, subject: row.try_get(1)?, opened_at: Timestamp::from_ms(row.try_get(2)?) };
    Ok((account, Sums { spent: money(row.try_get(3)?), reserved: money(row.try_get(4)?) }))
}

async fn read_rates(
    connection: &mut SqliteConnection,
    book: &mut Book,
    rates: &BTreeSet<String>,
) -> Result<(), sqlx::Error> {
    for group in groups(&rates.iter().collect::<Vec<_>>()) {
        let mut query = QueryBuilder::new("SELECT id, used_until FROM rate WHERE id IN (");
        let mut list = query.separated(", ");
        group.iter().for_each(|id| {
            list.push_bind(id.as_str());
        });
        query.push(")");
        for row in query.build().fetch_all(&mut *connection).await? {
            book.rates.insert(row.try_get(0)?, row.try_get(1)?);
        }
    }
    Ok(())
}

async fn save(connection: &mut SqliteConnection, book: &Book, touched: &Touched) -> Result<(), sqlx::Error> {
    let sums = |account: &Arc<Account>| book.accounts.get(account).copied();
    let accounts: Vec<(&Account, Sums)> =
        touched.accounts.iter().filter_map(|account| Some((account.as_ref(), sums(account)?))).collect();
    for group in groups(&accounts) {
        let mut query =
            QueryBuilder::<Sqlite>::new("INSERT INTO account (budget, subject, opened_at, spent, reserved) ");
        query.push_values(group, |mut row, (account, sums)| {
            row.push_bind(account.budget.as_str())
                .push_bind(account.subject.as_str())
                .push_bind(account.opened_at.ms())
                .push_bind(number(sums.spent.micro()))
                .push_bind(number(sums.reserved.micro()));
        });
        query.push(
            " ON CONFLICT (budget, subject, opened_at) DO UPDATE SET spent = excluded.spent, reserved = excluded.reserved",
        );
        query.build().execute(&mut *connection).await?;
    }
    save_holds(connection, book, touched).await?;
    let rates: Vec<(&String, i64)> =
        touched.rates.iter().filter_map(|id| Some((id, book.rates.get(id).copied()?))).collect();
    for group in groups(&rates) {
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO rate (id, used_until) ");
        query.push_values(group, |mut row, (id, until)| {
            row.push_bind(id.as_str()).push_bind(until);
        });
        query.push(" ON CONFLICT (id) DO UPDATE SET used_until = excluded.used_until");
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

async fn save_holds(connection: &mut SqliteConnection, book: &Book, touched: &Touched) -> Result<(), sqlx::Error> {
    let (held, gone): (Vec<&TurnId>, Vec<&TurnId>) =
        touched.turns.iter().partition(|turn| book.holds.contains_key(*turn));
    for group in groups(&gone) {
        let mut query = QueryBuilder::<Sqlite>::new("DELETE FROM hold WHERE turn IN (");
        let mut list = query.separated(", ");
        group.iter().for_each(|turn| {
            list.push_bind(turn.as_str());
        });
        query.push(")");
        query.build().execute(&mut *connection).await?;
    }
    let mut texts: HashMap<&TurnId, String> = HashMap::with_capacity(held.len());
    for turn in &held {
        if let Some(hold) = book.holds.get(*turn) {
            let accounts: Vec<&Account> = hold.accounts.iter().map(AsRef::as_ref).collect();
            let text = serde_json::to_string(&accounts).map_err(|error| sqlx::Error::Encode(error.into()))?;
            texts.insert(turn, text);
        }
    }
    let rows: Vec<(&TurnId, &Hold, &str)> =
        held.iter().filter_map(|turn| Some((*turn, book.holds.get(*turn)?, texts.get(*turn)?.as_str()))).collect();
    for group in groups(&rows) {
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO hold (turn, amount, expires_at, accounts) ");
        query.push_values(group, |mut row, (turn, hold, accounts)| {
            row.push_bind(turn.as_str())
                .push_bind(number(hold.amount.micro()))
                .push_bind(hold.expires_at.ms())
                .push_bind(accounts);
        });
        query.push(
            " ON CONFLICT (turn) DO UPDATE SET amount = excluded.amount, expires_at = excluded.expires_at, \
             accounts = excluded.accounts",
        );
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// The accounts of a budget and window, read outside of any transaction: for people to look at.
pub(super) async fn balances(
    pool: &sqlx::SqlitePool,
    budget: &str,
    opened_at: Timestamp,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Balance>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let mut book = Book::default();
    let rows = sqlx::query(
        "SELECT budget, subject, opened_at, spent, reserved FROM account WHERE budget = $1 AND opened_at = $2 \
         ORDER BY spent DESC, subject LIMIT $3",
    )
    .bind(budget)
    .bind(opened_at.ms())
    .bind(i64::from(limit))
    .fetch_all(&mut *connection)
    .await?;
    for row in &rows {
        let (account, sums) = account(row)?;
        book.accounts.insert(Arc::new(account), sums);
    }
    book.holds.extend(read_expired(&mut connection, now).await?);
    Ok(book.balances(budget, opened_at, now, limit))
}
