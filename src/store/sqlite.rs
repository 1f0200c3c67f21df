//! The journal in SQLite. One task writes; what is queued when it gets to work goes into one transaction, so many
//! turns share one flush to disk.

mod audit;
mod book;
mod order;
mod pins;

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    str::FromStr,
    time::Duration,
};

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use sqlx::{
    Connection, QueryBuilder, Row, Sqlite, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::types::{CapabilityId, MicroUsd, Timestamp, TurnId};

use super::{
    Accounts, AuditLog, Balance, Commit, EVENT_VERSION, Journal, Orders, Pins, RateClaim, Remembered, Reserve,
    Reserved, StoreError, Taken, TurnHead, TurnState, audit::Record,
};
use audit::{Head, SqliteAudit};
use order::SqliteOrders;
use pins::SqlitePins;

/// At most this many commits share a transaction.
const GROUP: usize = 256;

/// At most this many rows are written by one statement.
const MOST_ROWS: usize = 32;

/// Bytes of a page of a new file. A commit is some thousand bytes long: of the usual 4,096 it would fill one alone, and
/// pages are written whole, twice into the log and once into the file.
const PAGE: u32 = 16_384;

/// Prepared statements that a connection keeps: each number of rows is one of its own.
const STATEMENTS: usize = 160;

/// What the writer is asked to do.
enum Job {
    Commit(Commit),
    Reserve(Reserve),
    Take(Vec<RateClaim>, Timestamp),
}

/// What came of it.
#[derive(Clone)]
enum Answer {
    Committed,
    Reserved(Reserved),
    Taken(Taken),
}

struct Queued {
    job: Job,
    done: oneshot::Sender<Result<Answer, StoreError>>,
}

/// The journal in one SQLite file (mode 0600, write-ahead log, flushed at every commit).
#[derive(Debug)]
pub struct SqliteJournal {
    queue: mpsc::Sender<Queued>,
    readers: SqlitePool,
    orders: SqliteOrders,
    audit: SqliteAudit,
    pins: SqlitePins,
    _writer: TaskTracker,
}

impl SqliteJournal {
    /// Opens the file, makes it and its folder where they are not there, and brings its tables up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`] when the file cannot be made, opened or migrated.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let fail = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Open {
            path: path.display().to_string(),
            source,
        };
        make_private(path).map_err(|error| fail(error.into()))?;
        let options = options(path).map_err(|error| fail(error.into()))?;
        let mut connection = SqliteConnection::connect_with(&options).await.map_err(|error| fail(error.into()))?;
        sqlx::migrate!().run(&mut connection).await.map_err(|error| fail(error.into()))?;
        let readers = SqlitePoolOptions::new().max_connections(4).min_connections(0).connect_lazy_with(options);
        let orders = SqliteOrders::open(path, readers.clone()).await?;
        let (audit, pins) = (SqliteAudit(readers.clone()), SqlitePins(readers.clone()));
        let (queue, incoming) = mpsc::channel(4 * GROUP);
        let writer = TaskTracker::new();
        writer.spawn(write_loop(connection, incoming));
        Ok(Self { queue, readers, orders, audit, pins, _writer: writer })
    }

    /// Has the writer do a job, and waits until it is durable.
    async fn work(&self, job: Job) -> Result<Answer, StoreError> {
        let (done, wait) = oneshot::channel();
        self.queue.send(Queued { job, done }).await.map_err(|_| StoreError::Closed)?;
        wait.await.map_err(|_| StoreError::Closed)?
    }
}

pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

fn options(path: &Path) -> Result<SqliteConnectOptions, sqlx::Error> {
    Ok(SqliteConnectOptions::from_str("sqlite::memory:")?
        .filename(path)
        .in_memory(false)
        .shared_cache(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .page_size(PAGE)
        .statement_cache_capacity(STATEMENTS)
        .pragma("temp_store", "MEMORY")
        .busy_timeout(Duration::from_secs(10)))
}

async fn write_loop(mut connection: SqliteConnection, mut incoming: mpsc::Receiver<Queued>) {
    let mut group = Vec::with_capacity(GROUP);
    let mut chain = None;
    while incoming.recv_many(&mut group, GROUP).await > 0 {
        write_group(&mut connection, &mut chain, &mut group).await;
    }
}

/// One transaction for the whole group; when that fails, one for each, so that one conflict spoils nobody else's commit.
async fn write_group(connection: &mut SqliteConnection, chain: &mut Option<Head>, group: &mut Vec<Queued>) {
    let jobs: Vec<&Job> = group.iter().map(|queued| &queued.job).collect();
    if let Ok(answers) = write(connection, chain, &jobs).await {
        for (queued, answer) in group.drain(..).zip(answers) {
            let _ = queued.done.send(Ok(answer));
        }
        return;
    }
    for queued in group.drain(..) {
        let result = match write(connection, chain, &[&queued.job]).await {
            Ok(answers) => answers.into_iter().next().ok_or(StoreError::Closed),
            Err(error) => Err(refine(error, &queued.job)),
        };
        let _ = queued.done.send(result);
    }
}

fn refine(error: sqlx::Error, job: &Job) -> StoreError {
    match (error.as_database_error(), job) {
        (Some(database), Job::Commit(commit)) if database.is_unique_violation() => {
            StoreError::Conflict { turn: commit.turn.clone(), seq: commit.seq }
        }
        (Some(_) | None, Job::Commit(_) | Job::Reserve(_) | Job::Take(..)) => StoreError::Database(error),
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

// Writers begin IMMEDIATE: a transaction that reads first and writes later fails under contention. A statement that fails
// ends the transaction, so it need not be undone by itself: without OR FAIL, SQLite copies each page aside to be able to.
async fn write(
    connection: &mut SqliteConnection,
    chain: &mut Option<Head>,
    jobs: &[&Job],
) -> Result<Vec<Answer>, sqlx::Error> {
    let commits: Vec<&Commit> =
        jobs.iter().filter_map(|job| if let Job::Commit(it) = job { Some(it) } else { None }).collect();
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for commits in commits.chunks(MOST_ROWS) {
        insert(commits).build().execute(&mut *transaction).await?;
    }
    let heads: Vec<&TurnHead> = commits.iter().filter_map(|commit| commit.head.as_ref()).collect();
    for heads in heads.chunks(MOST_ROWS) {
        upsert(heads).build().execute(&mut *transaction).await?;
    }
    let anchors: Vec<Record> =
        commits.iter().filter_map(|commit| commit.anchor.as_deref().cloned().map(Record::Turn)).collect();
    let end = match anchors.as_slice() {
        [] => None,
        anchors => Some(audit::append(&mut transaction, chain.as_ref(), anchors).await?),
    };
    let answers = book::work(&mut transaction, jobs).await?;
    transaction.commit().await?;
    *chain = end.or(chain.take());
    Ok(answers)
}

fn insert(commits: &[&Commit]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("INSERT OR FAIL INTO journal (turn, seq, last_seq, at, version, body) ");
    query.push_values(commits, |mut row, commit| {
        row.push_bind(commit.turn.as_str())
            .push_bind(number(commit.seq))
            .push_bind(number(commit.last_seq))
            .push_bind(commit.at.ms())
            .push_bind(i64::from(EVENT_VERSION))
            .push_bind(commit.body.as_str());
    });
    query
}

fn upsert(heads: &[&TurnHead]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(
        "INSERT OR FAIL INTO turn (id, trace, tenant, title, state, reason, started_at, updated_at, spent, driver) ",
    );
    query.push_values(heads, |mut row, head| {
        row.push_bind(head.turn.as_str())
            .push_bind(head.trace.as_str())
            .push_bind(head.tenant.as_str())
            .push_bind(head.title.as_str())
            .push_bind(head.state.as_str())
            .push_bind(head.reason.as_deref())
            .push_bind(head.started_at.ms())
            .push_bind(head.updated_at.ms())
            .push_bind(number(head.spent.micro()))
            .push_bind(head.driver.as_deref());
    });
    query.push(
        " ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, \
         updated_at = excluded.updated_at, spent = excluded.spent, driver = excluded.driver",
    );
    query
}

fn read_head(row: &SqliteRow) -> Result<TurnHead, sqlx::Error> {
    let bad = |error: crate::types::IdError| sqlx::Error::Decode(error.into());
    Ok(TurnHead {
        turn: row.try_get::<&str, _>("id")?.parse().map_err(bad)?,
        trace: row.try_get::<&str, _>("trace")?.parse().map_err(bad)?,
        tenant: row.try_get::<&str, _>("tenant")?.parse().map_err(bad)?,
        title: row.try_get("title")?,
        state: TurnState::parse(row.try_get("state")?),
        reason: row.try_get("reason")?,
        started_at: Timestamp::from_ms(row.try_get("started_at")?),
        updated_at: Timestamp::from_ms(row.try_get("updated_at")?),
        spent: MicroUsd::new(u64::try_from(row.try_get::<i64, _>("spent")?).unwrap_or(0)),
        driver: row.try_get::<Option<&str>, _>("driver")?.map(Into::into),
    })
}

impl Accounts for SqliteJournal {
    fn reserve(&self, reserve: Reserve) -> BoxFuture<'_, Result<Reserved, StoreError>> {
        async move {
            match self.work(Job::Reserve(reserve)).await? {
                Answer::Reserved(reserved) => Ok(reserved),
                Answer::Committed | Answer::Taken(_) => Err(StoreError::Closed),
            }
        }
        .boxed()
    }

    fn take<'a>(&'a self, rates: &'a [RateClaim], now: Timestamp) -> BoxFuture<'a, Result<Taken, StoreError>> {
        async move {
            match self.work(Job::Take(rates.to_vec(), now)).await? {
                Answer::Taken(taken) => Ok(taken),
                Answer::Committed | Answer::Reserved(_) => Err(StoreError::Closed),
            }
        }
        .boxed()
    }

    fn balances<'a>(
        &'a self,
        budget: &'a str,
        opened_at: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Balance>, StoreError>> {
        async move { Ok(book::balances(&self.readers, budget, opened_at, now, limit).await?) }.boxed()
    }
}

impl Journal for SqliteJournal {
    fn append(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        self.work(Job::Commit(commit)).map_ok(drop).boxed()
    }

    fn read<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        async move {
            let rows = sqlx::query("SELECT seq, last_seq, version, body FROM journal WHERE turn = $1 ORDER BY seq")
                .bind(turn.as_str())
                .fetch_all(&self.readers)
                .await?;
            let mut bodies = Vec::with_capacity(rows.len());
            let mut next = 0i64;
            for row in &rows {
                let (seq, last, version): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                if seq != next || version != i64::from(EVENT_VERSION) {
                    let why =
                        format!("expected place {next} of version {EVENT_VERSION}, found {seq} of version {version}");
                    let seq = u64::try_from(seq).unwrap_or(0);
                    return Err(StoreError::Damaged { turn: turn.clone(), seq, why });
                }
                next = last + 1;
                bodies.push(row.try_get(3)?);
            }
            if bodies.is_empty() { Err(StoreError::NotFound(turn.to_string())) } else { Ok(bodies) }
        }
        .boxed()
    }

    fn list(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TurnHead>, StoreError>> {
        async move {
            let rows = sqlx::query("SELECT * FROM turn ORDER BY id DESC LIMIT $1")
                .bind(i64::from(limit))
                .fetch_all(&self.readers)
                .await?;
            Ok(rows.iter().map(read_head).collect::<Result<_, _>>()?)
        }
        .boxed()
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TurnHead, StoreError>> {
        async move {
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            if !plain {
                return Err(StoreError::NotFound(name.to_owned()));
            }
            let find = "SELECT * FROM turn WHERE id LIKE $1 OR trace LIKE $1 ORDER BY id DESC LIMIT 1";
            let row = sqlx::query(find).bind(format!("{name}%")).fetch_optional(&self.readers).await?;
            let row = row.ok_or_else(|| StoreError::NotFound(name.to_owned()))?;
            Ok(read_head(&row)?)
        }
        .boxed()
    }

    fn remember(&self, approval: Remembered) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let body = serde_json::to_string(&approval).map_err(|error| sqlx::Error::Encode(error.into()))?;
            sqlx::query("INSERT INTO remembered_approval (capability, body) VALUES ($1, $2)")
                .bind(approval.capability.as_str())
                .bind(body)
                .execute(&self.readers)
                .await?;
            Ok(())
        }
        .boxed()
    }

    fn remembered<'a>(&'a self, capability: &'a CapabilityId) -> BoxFuture<'a, Result<Vec<Remembered>, StoreError>> {
        async move {
            let rows = sqlx::query("SELECT body FROM remembered_approval WHERE capability = $1")
                .bind(capability.as_str())
                .fetch_all(&self.readers)
                .await?;
            let read = |row: &SqliteRow| {
                let body: &str = row.try_get(0)?;
                serde_json::from_str(body).map_err(|error| sqlx::Error::Decode(error.into()))
            };
            Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
        }
        .boxed()
    }

    fn orders(&self) -> &dyn Orders {
        &self.orders
    }

    fn pins(&self) -> &dyn Pins {
        &self.pins
    }

    fn audit(&self) -> Option<&dyn AuditLog> {
        Some(&self.audit)
    }
}
