//! Pins in SQLite.

use futures_util::future::{BoxFuture, FutureExt};
use sqlx::{Connection, Row, SqlitePool, sqlite::SqliteRow};

use crate::{
    store::{
        Pins, StoreError,
        audit::{Acted, Record},
        pins::agreed,
    },
    types::{CapabilityId, Pin, Timestamp},
};

use super::audit;

#[derive(Debug)]
pub(super) struct SqlitePins(pub(super) SqlitePool);

fn read(row: &SqliteRow) -> Result<Pin, sqlx::Error> {
    let capability = row.try_get::<&str, _>("capability")?;
    Ok(Pin {
        capability: CapabilityId::new(capability).map_err(|error| sqlx::Error::Decode(error.into()))?,
        hash: row.try_get("hash")?,
        contract: row.try_get("contract")?,
        by: row.try_get("by")?,
        why: row.try_get("why")?,
        at: Timestamp::from_ms(row.try_get("at")?),
    })
}

impl Pins for SqlitePins {
    fn all(&self) -> BoxFuture<'_, Result<Vec<Pin>, StoreError>> {
        async move {
            let rows = sqlx::query("SELECT * FROM pin ORDER BY capability").fetch_all(&self.0).await?;
            Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
        }
        .boxed()
    }

    fn put(&self, pin: Pin) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let mut connection = self.0.acquire().await?;
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            let before: Option<String> = sqlx::query_scalar("SELECT hash FROM pin WHERE capability = $1")
                .bind(pin.capability.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
            sqlx::query(
                "INSERT INTO pin (capability, hash, contract, \"by\", why, at) VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (capability) DO UPDATE SET hash = excluded.hash, contract = excluded.contract, \
                 \"by\" = excluded.\"by\", why = excluded.why, at = excluded.at",
            )
            .bind(pin.capability.as_str())
            .bind(&pin.hash)
            .bind(&pin.contract)
            .bind(&pin.by)
            .bind(&pin.why)
            .bind(pin.at.ms())
            .execute(&mut *transaction)
            .await?;
            audit::append(&mut transaction, None, &[Record::Acted(agreed(&pin, before.as_deref()))]).await?;
            Ok(transaction.commit().await?)
        }
        .boxed()
    }

    fn remove<'a>(&'a self, capability: &'a CapabilityId, acted: Acted) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let mut connection = self.0.acquire().await?;
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            let gone = sqlx::query("DELETE FROM pin WHERE capability = $1").bind(capability.as_str());
            let gone = gone.execute(&mut *transaction).await?.rows_affected() > 0;
            if gone {
                audit::append(&mut transaction, None, &[Record::Acted(acted)]).await?;
            }
            transaction.commit().await?;
            Ok(gone)
        }
        .boxed()
    }
}
