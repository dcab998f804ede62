//! Which profiles a command is about.

use crate::profile::Profile;
use crate::store::{Selector, Store, default_path};
use anyhow::bail;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which profiles, and where they are.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Chosen {
    /// The store; without it $SYN_PROFILES, else syn/profiles.db among the user's data.
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Profiles with this tag; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    pub tags: Vec<(String, String)>,
    /// Number of a profile, or the command that was profiled.
    #[arg(value_name = "ID|COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// A tag as it is given.
///
/// # Errors
/// When it has no `=`.
pub fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is KEY=VALUE")?;
    Ok((key.into(), value.into()))
}

impl Chosen {
    /// True when it says anything about which profiles.
    pub fn is_given(&self) -> bool {
        !self.words.is_empty() || !self.tags.is_empty()
    }

    /// What the store is asked for.
    pub fn selector(&self) -> Selector {
        let id = match self.words.as_slice() {
            [one] => one.parse().ok(),
            _ => None,
        };
        let command = (id.is_none() && !self.words.is_empty()).then(|| self.words.clone());
        Selector { id, command, tags: self.tags.iter().cloned().collect::<BTreeMap<_, _>>() }
    }

    /// The store, which must be there.
    ///
    /// # Errors
    /// When it is not, or is no store.
    pub fn open(&self) -> anyhow::Result<Store> {
        let path = self.store.clone().unwrap_or_else(default_path);
        if !path.exists() {
            bail!("there is no store of profiles at {}; `syn profile` makes it", path.display());
        }
        Ok(Store::existing(&path)?)
    }

    /// The profiles that fit, at least one.
    ///
    /// # Errors
    /// When there is none, or the store cannot be read.
    pub fn find(&self) -> anyhow::Result<(Store, Vec<Profile>)> {
        let store = self.open()?;
        let profiles = store.find(&self.selector())?;
        if profiles.is_empty() {
            let late = self.words.iter().skip(1).find(|word| word.starts_with("--"));
            let hint =
                late.map(|word| format!(" (`{word}` is taken for the command's: options of syn come first)"));
            bail!(
                "no profile in {} fits{}; `syn profiles list` lists them",
                store.path().display(),
                hint.unwrap_or_default()
            );
        }
        Ok((store, profiles))
    }
}
