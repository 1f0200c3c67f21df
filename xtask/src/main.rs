//! Chores of the repository: `cargo xtask measure SET --data DIR`, `cargo xtask check`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

mod measure;
mod validate;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of the agcore repository")]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Runs the product's own code over a labelled set, writes the predictions and prints the score
    Measure {
        /// The set
        set: measure::Set,
        /// A split of the set (a folder)
        #[arg(long)]
        data: PathBuf,
        /// Where the prediction lines go (default: a temporary file)
        #[arg(long)]
        out: Option<PathBuf>,
        /// The scoring script (default: ../shared/tools/score_SET.py)
        #[arg(long)]
        score: Option<PathBuf>,
    },
    /// Builds a matrix of requests for every provider and lets the providers' own SDK types judge them
    Validate {
        /// The folder with `openai_validate.py` and `others_validate.py`
        #[arg(long, default_value = "../shared/tools/validators")]
        validators: PathBuf,
        /// A Python that has the packages the validators name
        #[arg(long, default_value = "python3")]
        python: PathBuf,
        /// Recordings: each reply is sent back with results
        #[arg(long, default_value = "../shared/traffic/dev")]
        traffic: PathBuf,
        /// Keep the bodies in this folder
        #[arg(long)]
        keep: Option<PathBuf>,
    },
}

fn main() -> anyhow::Result<()> {
    match Xtask::parse().chore {
        Chore::Measure { set, data, out, score } => measure::run(set, &data, out, score),
        Chore::Validate { validators, python, traffic, keep } => validate::run(&validators, &python, &traffic, keep),
    }
}
