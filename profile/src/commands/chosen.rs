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
/// When it has no `=`, or nothing in front of it.
pub fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("it is KEY=VALUE".into()),
    }
}

/// All tags as they were given.
///
/// # Errors
/// When a key has two values.
pub fn tags(given: &[(String, String)]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut tags = BTreeMap::new();
    for (key, value) in given {
        if let Some(other) = tags.insert(key.clone(), value.clone()) {
            bail!("--tag {key} is given twice, with {other:?} and {value:?}");
        }
    }
    Ok(tags)
}

impl Chosen {
    /// True when it says anything about which profiles.
    pub fn is_given(&self) -> bool {
        !self.words.is_empty() || !self.tags.is_empty()
    }

    /// What the store is asked for.
    ///
    /// # Errors
    /// As [`tags`].
    pub fn selector(&self) -> anyhow::Result<Selector> {
        let id = match self.words.as_slice() {
            [one] => one.parse().ok(),
            _ => None,
        };
        let command = (id.is_none() && !self.words.is_empty()).then(|| self.words.clone());
        Ok(Selector { id, command, tags: tags(&self.tags)? })
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
        let profiles = store.find(&self.selector()?)?;
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
