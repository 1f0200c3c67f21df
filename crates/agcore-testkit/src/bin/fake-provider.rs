//! The fake provider as a process of its own.
//!
//! `fake-provider [--script FILE] [--port-file FILE] [--effects FILE]`
//!
//! It reads the script (a `Script` as JSON; without one it only serves `/effects`) and listens on a free port of
//! 127.0.0.1. Once it listens it writes the port to the port file and its base address as a line to standard output,
//! and runs until it is killed. Each side effect of `/effects/NAME` is appended to the effects file, one JSON document
//! per line. `GET /violations` returns the protocol violations so far.

use std::{error::Error, io::Write, path::PathBuf};

use agcore_testkit::{Effects, FakeProvider, Script};

#[derive(Debug, Default)]
struct Options {
    port_file: Option<PathBuf>,
    script: Option<PathBuf>,
    effects: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = parse(std::env::args().skip(1))?;
    let script: Script = match options.script {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => Script::default(),
    };
    let effects = options.effects.as_deref().map_or_else(|| Ok(Effects::default()), Effects::in_file)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let provider = FakeProvider::serve(script, effects, false).await?;
        if let Some(port_file) = options.port_file {
            // Renamed into place, so that whoever sees the file sees the whole number.
            let draft = port_file.with_extension("part");
            std::fs::write(&draft, provider.port().to_string())?;
            std::fs::rename(&draft, &port_file)?;
        }
        writeln!(std::io::stdout(), "{}", provider.base_url())?;
        std::future::pending::<Result<(), Box<dyn Error>>>().await
    })
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(flag) = arguments.next() {
        let slot = match flag.as_str() {
            "--port-file" => &mut options.port_file,
            "--script" => &mut options.script,
            "--effects" => &mut options.effects,
            other => return Err(format!("`{other}` is no option: there are --port-file, --script and --effects")),
        };
        *slot = Some(arguments.next().ok_or_else(|| format!("{flag} needs a file"))?.into());
    }
    Ok(options)
}
