//! `agcore config`: every setting with its value and where it came from.

use anyhow::Result;

use super::{Global, exit, screen, setup};

pub(crate) fn run(global: &Global) -> Result<u8> {
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let settings = config.explain();
    if global.json {
        screen::json(&settings)?;
    } else {
        for setting in settings {
            screen::line(setting.to_string());
        }
    }
    Ok(exit::OK)
}
