//! What can be wrong with what was allotted.

/// Why a file of budgets, rates and tenants cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuotaError {
    /// It is no such file.
    #[error("`{file}`: {why}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, with the place.
        why: String,
    },
    /// A row is wrong.
    #[error("`{file}`: {kind} `{row}`: {why}")]
    Row {
        /// The file.
        file: String,
        /// What kind of row.
        kind: &'static str,
        /// Its id.
        row: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A limit cannot be set for a turn.
    #[error("`{file}`: tenant `{tenant}`: {why}")]
    Limit {
        /// The file.
        file: String,
        /// The row.
        tenant: String,
        /// What is wrong.
        why: String,
    },
}
