//! Passages of files under their words: a cache that can be thrown away and built again.
//!
//! Ranking is done in two steps: the full-text index of SQLite finds the best few by BM25, the caller orders them.

use std::{collections::HashMap, fs, path::Path, time::Duration};

use sqlx::{
    QueryBuilder, Row, Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};

use super::StoreError;

/// The version of tables, words and passages; a file of another version is built anew.
const FORMAT: i64 = 1;
/// Rows per statement; SQLite takes at most 32,766 values.
const ROWS: usize = 512;

const TABLES: &str = "
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    changed INTEGER NOT NULL, hash BLOB NOT NULL, reason TEXT, lines INTEGER NOT NULL, passages INTEGER NOT NULL);
CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL, page INTEGER, heading TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX passage_file ON passage (file);
CREATE VIRTUAL TABLE word USING fts5(head, body, content='', contentless_delete=1, tokenize=\"ascii tokenchars '._'\");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(word, 'row');
PRAGMA user_version = 1;";

/// By what a file is known to be unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its size in bytes.
    pub size: u64,
    /// When its content was changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When its content, name or rights were changed, in nanoseconds since 1970; 0 where the system does not say.
    pub changed: i64,
}

/// A file of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Its number in the index; ignored when it is written.
    pub id: i64,
    /// Its path below the folder, with `/`.
    pub path: String,
    /// Its stamp when it was read.
    pub stamp: Stamp,
    /// The SHA-256 of its bytes; empty when it was not read.
    pub hash: Vec<u8>,
    /// Why it gave no passages, where that is so.
    pub reason: Option<String>,
    /// How many lines its text has.
    pub lines: u32,
    /// How many passages it has.
    pub passages: u32,
}

/// A passage to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPassage {
    /// First line, from 1.
    pub first_line: u32,
    /// Last line, inclusive.
    pub last_line: u32,
    /// Page, from 1, where there are pages.
    pub page: Option<u32>,
    /// The headings above it.
    pub heading: String,
    /// Its text.
    pub text: String,
    /// The words of path and headings, separated by blanks.
    pub head_words: String,
    /// The words of the text.
    pub body_words: String,
}

/// A passage that was found or read.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageRow {
    /// The number of its file.
    pub file: i64,
    /// First line, from 1.
    pub first_line: u32,
    /// Last line, inclusive.
    pub last_line: u32,
    /// Page, from 1, where there are pages.
    pub page: Option<u32>,
    /// The headings above it.
    pub heading: String,
    /// Its text.
    pub text: String,
    /// BM25: greater is better; 0 when it was not searched for.
    pub bm25: f64,
}

/// The index of one folder in one SQLite file.
#[derive(Debug, Clone)]
pub struct PassageStore {
    pool: SqlitePool,
}

impl PassageStore {
    /// Opens the file (mode 0600 in a folder of mode 0700), making it where it is not there. A file that is damaged
    /// or of another version is deleted and begun anew: it only repeats what the folder says.
    ///
    /// # Errors
    /// [`StoreError::Open`] when the file cannot be made or opened.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let fail = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Open {
            path: path.display().to_string(),
            source,
        };
        super::sqlite::make_private(path).map_err(|error| fail(error.into()))?;
        if let Ok(store) = Self::try_open(path).await {
            return Ok(store);
        }
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            if let Err(error) = fs::remove_file(&name)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(fail(error.into()));
            }
        }
        super::sqlite::make_private(path).map_err(|error| fail(error.into()))?;
        Self::try_open(path).await.map_err(|error| fail(error.into()))
    }

    async fn try_open(path: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(Duration::from_secs(60));
        let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options).await?;
        match version(&pool).await? {
            FORMAT => {}
            0 => make_tables(&pool).await?,
            other => {
                pool.close().await;
                return Err(sqlx::Error::Protocol(format!("format {other}, not {FORMAT}")));
            }
        }
        Ok(Self { pool })
    }

    /// All files, by path.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn files(&self) -> Result<Vec<FileRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM file ORDER BY path").fetch_all(&self.pool).await?;
        Ok(rows.iter().map(read_file).collect::<Result<_, _>>()?)
    }

    /// Writes files with their passages in one transaction; files of the same paths are replaced.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn put(&self, batch: &[(FileRow, Vec<NewPassage>)]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let paths: Vec<&str> = batch.iter().map(|(file, _)| file.path.as_str()).collect();
        let old: Vec<i64> = sqlx::query_scalar("SELECT id FROM file WHERE path IN (SELECT value FROM json_each($1))")
            .bind(json(&paths))
            .fetch_all(&mut *transaction)
            .await?;
        delete(&mut transaction, &old).await?;
        let first_file: i64 = next_id(&mut transaction, "SELECT coalesce(max(id), 0) + 1 FROM file").await?;
        let first: i64 = next_id(&mut transaction, "SELECT coalesce(max(id), 0) + 1 FROM passage").await?;
        let files: Vec<(i64, &FileRow)> = (first_file..).zip(batch.iter().map(|(file, _)| file)).collect();
        let passages = (first_file..).zip(batch).flat_map(|(id, (_, all))| all.iter().map(move |one| (id, one)));
        let passages: Vec<(i64, (i64, &NewPassage))> = (first..).zip(passages).collect();
        insert(&mut transaction, &files, &passages).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Notes new stamps of files whose content is the same.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn touch(&self, stamps: &[(i64, Stamp)]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        for (id, stamp) in stamps {
            sqlx::query("UPDATE file SET size = $2, modified = $3, changed = $4 WHERE id = $1")
                .bind(id)
                .bind(stamp.size.cast_signed())
                .bind(stamp.modified)
                .bind(stamp.changed)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Removes files and their passages.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn remove(&self, files: &[i64]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        delete(&mut transaction, files).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// In how many passages each of `words` stands; words that stand nowhere are left out.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn frequencies(&self, words: &[String]) -> Result<HashMap<String, u64>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each($1))")
                .bind(json(words))
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(word, count)| (word, count.cast_unsigned())).collect())
    }

    /// The passages with any of `words` that are best by BM25 (path and headings count double), best first; only in
    /// the files of `within`, if given.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn search(
        &self,
        words: &[String],
        within: Option<&[i64]>,
        limit: u32,
    ) -> Result<Vec<PassageRow>, StoreError> {
        let any = words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect::<Vec<_>>().join(" OR ");
        let sql = if within.is_some() {
            "SELECT p.*, m.score FROM (SELECT rowid AS id, bm25(word, 2.0, 1.0) AS score FROM word WHERE word MATCH $1
             AND rowid IN (SELECT id FROM passage WHERE file IN (SELECT value FROM json_each($3)))
             ORDER BY score LIMIT $2) m JOIN passage p ON p.id = m.id ORDER BY m.score, p.id"
        } else {
            "SELECT p.*, m.score FROM (SELECT rowid AS id, bm25(word, 2.0, 1.0) AS score FROM word WHERE word MATCH $1
             ORDER BY score LIMIT $2) m JOIN passage p ON p.id = m.id ORDER BY m.score, p.id"
        };
        let mut query = sqlx::query(sql).bind(any).bind(limit);
        if let Some(within) = within {
            query = query.bind(json(within));
        }
        let rows = query.fetch_all(&self.pool).await?;
        let read = |row: &SqliteRow| {
            let score: f64 = row.try_get("score")?;
            Ok::<_, sqlx::Error>(PassageRow { bm25: -score, ..read_passage(row)? })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The passages of a file that touch the lines `first..=last`, in order.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn read(&self, file: i64, first: u32, last: u32) -> Result<Vec<PassageRow>, StoreError> {
        let sql = "SELECT * FROM passage WHERE file = $1 AND last_line >= $2 AND first_line <= $3 ORDER BY id";
        let rows = sqlx::query(sql).bind(file).bind(first).bind(last).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(read_passage).collect::<Result<_, _>>()?)
    }
}

async fn version(pool: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA user_version").fetch_one(pool).await
}

/// Makes the tables, unless another process has done so meanwhile.
async fn make_tables(pool: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *transaction).await?;
    if version == 0 {
        sqlx::raw_sql(TABLES).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

fn json(values: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(values).unwrap_or_else(|_| "[]".to_owned())
}

async fn next_id(transaction: &mut Transaction<'_, Sqlite>, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(&mut **transaction).await
}

async fn delete(transaction: &mut Transaction<'_, Sqlite>, files: &[i64]) -> Result<(), sqlx::Error> {
    if files.is_empty() {
        return Ok(());
    }
    for sql in [
        "DELETE FROM word WHERE rowid IN
         (SELECT id FROM passage WHERE file IN (SELECT value FROM json_each($1)))",
        "DELETE FROM passage WHERE file IN (SELECT value FROM json_each($1))",
        "DELETE FROM file WHERE id IN (SELECT value FROM json_each($1))",
    ] {
        sqlx::query(sql).bind(json(files)).execute(&mut **transaction).await?;
    }
    Ok(())
}

async fn insert(
    transaction: &mut Transaction<'_, Sqlite>,
    files: &[(i64, &FileRow)],
    passages: &[(i64, (i64, &NewPassage))],
) -> Result<(), sqlx::Error> {
    for rows in files.chunks(ROWS) {
        let mut sql = QueryBuilder::new("INSERT INTO file ");
        sql.push_values(rows, |mut row, (id, file)| {
            row.push_bind(*id).push_bind(file.path.clone()).push_bind(file.stamp.size.cast_signed());
            row.push_bind(file.stamp.modified).push_bind(file.stamp.changed).push_bind(file.hash.clone());
            row.push_bind(file.reason.clone()).push_bind(file.lines).push_bind(file.passages);
        });
        sql.build().persistent(false).execute(&mut **transaction).await?;
    }
    for rows in passages.chunks(ROWS) {
        let mut sql = QueryBuilder::new("INSERT INTO passage ");
        sql.push_values(rows, |mut row, (id, (file, passage))| {
            row.push_bind(*id).push_bind(*file).push_bind(passage.first_line).push_bind(passage.last_line);
            row.push_bind(passage.page).push_bind(passage.heading.clone()).push_bind(passage.text.clone());
        });
        sql.build().persistent(false).execute(&mut **transaction).await?;
        let mut sql = QueryBuilder::new("INSERT INTO word (rowid, head, body) ");
        sql.push_values(rows, |mut row, (id, (_, passage))| {
            row.push_bind(*id).push_bind(passage.head_words.clone()).push_bind(passage.body_words.clone());
        });
        sql.build().persistent(false).execute(&mut **transaction).await?;
    }
    Ok(())
}

fn read_file(row: &SqliteRow) -> Result<FileRow, sqlx::Error> {
    let size: i64 = row.try_get("size")?;
    let stamp =
        Stamp { size: size.cast_unsigned(), modified: row.try_get("modified")?, changed: row.try_get("changed")? };
    Ok(FileRow {
        id: row.try_get("id")?,
        path: row.try_get("path")?,
        stamp,
        hash: row.try_get("hash")?,
        reason: row.try_get("reason")?,
        lines: row.try_get("lines")?,
        passages: row.try_get("passages")?,
    })
}

fn read_passage(row: &SqliteRow) -> Result<PassageRow, sqlx::Error> {
    Ok(PassageRow {
        file: row.try_get("file")?,
        first_line: row.try_get("first_line")?,
        last_line: row.try_get("last_line")?,
        page: row.try_get("page")?,
        heading: row.try_get("heading")?,
        text: row.try_get("text")?,
        bm25: 0.0,
    })
}
