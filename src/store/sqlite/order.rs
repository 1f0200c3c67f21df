//! Orders in SQLite. Who gives one counts up a number in a small file beside the database; who drives a turn reads that
//! file before each call, which costs less than a microsecond, and asks the database only when the number is another.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use futures_util::future::{BoxFuture, FutureExt};
use sqlx::{Connection, Row, SqlitePool};

use crate::{
    clock::{Clock, SystemClock},
    store::{
        Claim, Order, Orders, StoreError,
        audit::{Acted, Record},
        order::Driven,
    },
    types::TurnId,
};

use super::audit;

/// The number when the file cannot be read: then the database is asked each time.
const UNKNOWN: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct SqliteOrders {
    pool: SqlitePool,
    counter: File,
    /// The orders that stood when the file had this number.
    known: Mutex<Option<(u64, Arc<[Order]>)>>,
    driven: Driven,
    drivers: PathBuf,
    driver: OnceLock<Driver>,
}

/// This process in the book of drivers: a file that is locked for as long as the process lives.
#[derive(Debug)]
struct Driver {
    name: Arc<str>,
    path: PathBuf,
    _lock: File,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl SqliteOrders {
    /// Opens the counter beside the database `db`. Its tables are there already.
    pub(super) async fn open(db: &Path, pool: SqlitePool) -> Result<Self, StoreError> {
        let counter = open_counter(&beside(db, "orders"));
        let counter =
            counter.map_err(|error| StoreError::Open { path: db.display().to_string(), source: error.into() })?;
        let orders = Self {
            pool,
            counter,
            known: Mutex::new(None),
            driven: Driven::default(),
            drivers: beside(db, "drivers"),
            driver: OnceLock::new(),
        };
        // Somebody may have removed the file while orders stand.
        if orders.version() == 0 && !orders.standing().await?.is_empty() {
            orders.count_up();
        }
        Ok(orders)
    }

    fn read_counter(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        let read = self.counter.read_at(&mut bytes, 0)?;
        Ok(if read == 8 { u64::from_le_bytes(bytes) } else { 0 })
    }

    /// After the commit, never before it: who sees the new number has to find the order.
    fn count_up(&self) {
        let next = self.version().wrapping_add(1).max(1);
        if let Err(error) = self.counter.write_all_at(&next.to_le_bytes(), 0) {
            tracing::error!(%error, "running turns of other processes do not notice this order before they are taken up again");
        }
    }

    async fn read_standing(&self) -> Result<Vec<Order>, StoreError> {
        let rows = sqlx::query("SELECT body FROM operator_order ORDER BY id").fetch_all(&self.pool).await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let body: &str = row.try_get(0)?;
            serde_json::from_str(body).map_err(|error| sqlx::Error::Decode(error.into()))
        };
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    fn driver(&self) -> Result<Arc<str>, StoreError> {
        if let Some(driver) = self.driver.get() {
            return Ok(driver.name.clone());
        }
        let made = sign_in(&self.drivers);
        let made =
            made.map_err(|error| StoreError::Open { path: self.drivers.display().to_string(), source: error.into() })?;
        Ok(self.driver.get_or_init(|| made).name.clone())
    }
}

impl Orders for SqliteOrders {
    fn version(&self) -> u64 {
        self.read_counter().unwrap_or(UNKNOWN)
    }

    fn standing(&self) -> BoxFuture<'_, Result<Arc<[Order]>, StoreError>> {
        async move {
            let version = self.version();
            if let Some((at, standing)) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner)
                && *at == version
                && version != UNKNOWN
            {
                return Ok(standing.clone());
            }
            let standing: Arc<[Order]> = self.read_standing().await?.into();
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, standing.clone()));
            Ok(standing)
        }
        .boxed()
    }

    fn give(&self, order: Order) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let body = serde_json::to_string(&order).map_err(|error| sqlx::Error::Encode(error.into()))?;
            let mut connection = self.pool.acquire().await?;
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query("INSERT INTO operator_order (id, turn, body) VALUES ($1, $2, $3)")
                .bind(&order.id)
                .bind(order.turn.as_ref().map(TurnId::as_str))
                .bind(body)
                .execute(&mut *transaction)
                .await?;
            audit::append(&mut transaction, None, &[Record::Acted(Acted::ordered(&order))]).await?;
            transaction.commit().await?;
            self.count_up();
            Ok(())
        }
        .boxed()
    }

    fn take_back<'a>(&'a self, ids: &'a [String], acted: Option<Acted>) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let mut connection = self.pool.acquire().await?;
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            for id in ids {
                sqlx::query("DELETE FROM operator_order WHERE id = $1").bind(id).execute(&mut *transaction).await?;
            }
            if let Some(acted) = acted {
                audit::append(&mut transaction, None, &[Record::Acted(acted)]).await?;
            }
            transaction.commit().await?;
            self.count_up();
            Ok(())
        }
        .boxed()
    }

    fn claim_new(&self, turn: &TurnId) -> Result<Claim, StoreError> {
        self.driven.claim(turn, self.driver()?)
    }

    fn claim<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Claim, StoreError>> {
        async move {
            let claim = self.claim_new(turn)?;
            let row = sqlx::query("SELECT driver FROM turn WHERE id = $1 AND state = 'running'")
                .bind(turn.as_str())
                .fetch_optional(&self.pool)
                .await?;
            let driver = row.map(|row| row.try_get::<Option<String>, _>(0)).transpose()?.flatten();
            match driver.filter(|driver| **driver != **claim.driver()) {
                Some(driver) if is_alive(&self.drivers, &driver) => {
                    Err(StoreError::Driven { turn: turn.clone(), by: who(&driver) })
                }
                Some(_) | None => Ok(claim),
            }
        }
        .boxed()
    }
}

fn beside(db: &Path, what: &str) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push("-");
    path.push(what);
    PathBuf::from(path)
}

fn open_counter(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

/// Puts this process into the book. The file gets its name only once it is locked: who finds it unlocked knows that its
/// process is gone.
fn sign_in(folder: &Path) -> io::Result<Driver> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    sweep(folder);
    let name = format!("{}-{}", std::process::id(), SystemClock.fresh_id());
    let (path, new) = (folder.join(&name), folder.join(format!("{name}.new")));
    let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
    file.lock()?;
    fs::rename(&new, &path)?;
    Ok(Driver { name: name.into(), path, _lock: file })
}

/// Removes the files of processes that are gone.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.ends_with(".new") && !is_alive(folder, &name) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_alive(folder: &Path, driver: &str) -> bool {
    let file = OpenOptions::new().write(true).open(folder.join(driver));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

fn who(driver: &str) -> String {
    format!("process {}", driver.split_once('-').map_or(driver, |(pid, _)| pid))
}
