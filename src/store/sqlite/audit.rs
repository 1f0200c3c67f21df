//! The audit log in SQLite. The writer remembers the end of the chain and goes on from there without asking; where
//! another process has gone on meanwhile, the key of the place refuses that, and the end is read again. So two
//! processes cannot fork it.

use futures_util::future::{BoxFuture, FutureExt};
use sqlx::{Connection, QueryBuilder, Row, Sqlite, SqliteConnection, SqlitePool, sqlite::SqliteRow};

use crate::store::{
    AuditLog, StoreError,
    audit::{Acted, Line, Record, link},
};

use super::MOST_ROWS;

/// The end of the chain.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    place: i64,
    hash: String,
}

/// Adds lines within a transaction that has begun IMMEDIATE. Returns the new end of the chain, which holds once the
/// transaction is committed.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    known: Option<&Head>,
    records: &[Record],
) -> Result<Head, sqlx::Error> {
    let bodies = records.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let bodies = bodies.map_err(|error| sqlx::Error::Encode(error.into()))?;
    let mut head = match known {
        Some(head) => head.clone(),
        None => read_head(connection).await?,
    };
    for bodies in bodies.chunks(MOST_ROWS) {
        let (lines, end) = linked(&head, bodies);
        head = match insert(&lines).build().execute(&mut *connection).await {
            Ok(_) => end,
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                let (lines, end) = linked(&read_head(connection).await?, bodies);
                insert(&lines).build().execute(&mut *connection).await?;
                end
            }
            Err(error) => return Err(error),
        };
    }
    Ok(head)
}

fn linked<'a>(head: &Head, bodies: &'a [String]) -> (Vec<(i64, &'a str, String)>, Head) {
    let mut end = head.clone();
    let lines = bodies.iter().map(|body| {
        end = Head { place: end.place + 1, hash: link(&end.hash, body) };
        (end.place, body.as_str(), end.hash.clone())
    });
    (lines.collect(), end)
}

fn insert(lines: &[(i64, &str, String)]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("INSERT OR FAIL INTO audit (place, body, hash) ");
    query.push_values(lines, |mut row, (place, body, hash)| {
        row.push_bind(*place).push_bind(*body).push_bind(hash.as_str());
    });
    query
}

async fn read_head(connection: &mut SqliteConnection) -> Result<Head, sqlx::Error> {
    let row =
        sqlx::query("SELECT place, hash FROM audit ORDER BY place DESC LIMIT 1").fetch_optional(connection).await?;
    row.map_or_else(|| Ok(Head::default()), |row| Ok(Head { place: row.try_get(0)?, hash: row.try_get(1)? }))
}

#[derive(Debug)]
pub(super) struct SqliteAudit(pub(super) SqlitePool);

impl AuditLog for SqliteAudit {
    fn record<'a>(&'a self, acted: &'a Acted) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let mut connection = self.0.acquire().await?;
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            append(&mut transaction, None, &[Record::Acted(acted.clone())]).await?;
            Ok(transaction.commit().await?)
        }
        .boxed()
    }

    fn lines(&self, after: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Line>, StoreError>> {
        async move {
            let rows = sqlx::query("SELECT place, body, hash FROM audit WHERE place > $1 ORDER BY place LIMIT $2")
                .bind(super::number(after))
                .bind(i64::from(limit))
                .fetch_all(&self.0)
                .await?;
            let read = |row: &SqliteRow| -> Result<Line, sqlx::Error> {
                let place = u64::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0);
                Ok(Line { place, body: row.try_get(1)?, hash: row.try_get(2)? })
            };
            Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
        }
        .boxed()
    }
}
