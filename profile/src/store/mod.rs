//! The store of profiles: one SQLite file, documented in `STORE.md`. Several programs may use it at once.

mod exchange;
mod live;
mod parquet;
mod read;
mod rows;
pub mod schema;

pub use exchange::Format;
pub use live::Live;
pub use read::{Amendment, Selector};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another kind of file.
    #[error("{0} is not a store of profiles; name another one with --store")]
    NotOurs(PathBuf),
    /// Of a later version of this program.
    #[error(
        "{path} has version {found} of the store, and this program knows version {}: use a newer one",
        schema::VERSION
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// Pages that contradict each other.
    #[error("{path} is damaged ({what}); what can still be read comes out with `sqlite3 {path} .recover`")]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        what: String,
    },
    /// It lies where nothing may be written, or is somebody else's.
    #[error("{0} can only be read here; to write, copy it, and name the copy with --store or $SYN_PROFILES")]
    ReadOnly(PathBuf),
    /// Of an earlier version of this program, and it cannot be made one of this version.
    #[error(
        "{path} has version {found} of the store, can only be read here, and so cannot be made one of version {}: copy it, and name the copy with --store",
        schema::VERSION
    )]
    Older {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// Anything else that SQLite says.
    #[error("cannot use the store {path}: {cause}")]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        cause: rusqlite::Error,
    },
}

/// Several writers wait for each other this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    base: Connection,
}

/// The store that is used when none is named: `$SYN_PROFILES`, else `syn/profiles.db` among the user's data.
pub fn default_path() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SYN_PROFILES").unwrap_or_else(|| {
        let data = variable("XDG_DATA_HOME");
        let home = || variable("HOME").unwrap_or_else(std::env::temp_dir).join(".local/share");
        data.unwrap_or_else(home).join("syn/profiles.db")
    })
}

impl Store {
    /// Opens it; makes it, and the folder that it lies in, when it is not there.
    ///
    /// # Errors
    /// When it is not a store, newer, damaged, or not to be written.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent() {
            // Where it cannot be made, opening says so.
            let _ = std::fs::create_dir_all(folder);
        }
        Store::with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens one that is there; only to be read, where it cannot be written.
    ///
    /// # Errors
    /// When it is not there, not a store, newer or damaged.
    pub fn existing(path: &Path) -> Result<Store, StoreError> {
        match Store::with(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
            Err(StoreError::ReadOnly(_)) => Store::only_to_read(path),
            opened => opened,
        }
    }

    fn only_to_read(path: &Path) -> Result<Store, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |name: &Path, flags: OpenFlags| -> rusqlite::Result<Connection> {
            let base = Connection::open_with_flags(name, flags)?;
            base.busy_timeout(PATIENCE)?;
            base.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0))?;
            Ok(base)
        };
        let base = open(path, flags).or_else(|cause| {
            // Readers make a file beside it, unless they are told that nobody writes. A log is of somebody who does, or of changes that
            // are not in the store yet.
            let log = std::fs::metadata(beside(path, "-wal"));
            match log.is_ok_and(|log| log.len() > 0) {
                true => Err(cause),
                false => open(&immutable(path), flags | OpenFlags::SQLITE_OPEN_URI),
            }
        });
        let base = base.map_err(|cause| StoreError::Sqlite { path: path.to_owned(), cause })?;
        Store { path: path.to_owned(), base }.of_this_version()
    }

    fn with(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let base = Connection::open_with_flags(path, flags).map_err(|cause| told(path, cause))?;
        let mut store = Store { path: path.to_owned(), base };
        // Of several programs that make a store at once all but one may be told at once that it is busy.
        let begun = Instant::now();
        while let Err(cause) = store.prepare() {
            if cause.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || begun.elapsed() > PATIENCE {
                return Err(told(path, cause));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        store.of_this_version()
    }

    fn of_this_version(self) -> Result<Store, StoreError> {
        let number = |name: &str| self.base.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let path = self.path.clone();
        match (number("application_id"), number("user_version")) {
            (Ok(schema::APPLICATION), Ok(schema::VERSION)) => Ok(self),
            (Ok(schema::APPLICATION), Ok(found)) if found > schema::VERSION => {
                Err(StoreError::Newer { path, found })
            }
            (Ok(schema::APPLICATION), Ok(found)) => Err(StoreError::Older { path, found }),
            (Err(cause), _) | (_, Err(cause)) => Err(told(&path, cause)),
            _ => Err(StoreError::NotOurs(path)),
        }
    }

    /// Makes the tables of a file that is empty: by one program only, however many come at once.
    fn prepare(&mut self) -> rusqlite::Result<()> {
        self.base.busy_timeout(PATIENCE)?;
        if self.is_empty()? {
            // Readers and a writer do not wait for each other.
            self.base.pragma_update(None, "journal_mode", "WAL")?;
            let change = self.base.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if change.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))? == 0 {
                change.execute_batch(&schema::statements())?;
            }
            change.commit()?;
        }
        self.upgrade()?;
        self.base.pragma_update(None, "synchronous", "NORMAL")?;
        self.base.pragma_update(None, "foreign_keys", true)
    }

    /// Makes a store of a version before one of this version.
    fn upgrade(&mut self) -> rusqlite::Result<()> {
        let older = |base: &Connection| -> rusqlite::Result<Option<usize>> {
            let number = |name: &str| base.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let (application, version) = (number("application_id")?, number("user_version")?);
            let older = application == schema::APPLICATION && (1..schema::VERSION).contains(&version);
            Ok(older.then_some(version as usize))
        };
        if older(&self.base)?.is_some() {
            let change = self.base.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another program may have been first.
            let version = older(&change)?.unwrap_or(schema::UPGRADES.len() + 1);
            schema::UPGRADES[version - 1..]
                .iter()
                .try_for_each(|statements| change.execute_batch(statements))?;
            change.commit()?;
        }
        Ok(())
    }

    fn is_empty(&self) -> rusqlite::Result<bool> {
        let schema =
            self.base.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        let application = self.base.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0))?;
        Ok(schema == 0 && application == 0)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks through all of it.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn check(&self) -> Result<(), StoreError> {
        let found = self.base.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
        match found {
            Ok(text) if text == "ok" => Ok(()),
            Ok(what) => Err(StoreError::Damaged { path: self.path.clone(), what }),
            Err(cause) => Err(self.told(cause)),
        }
    }

    fn told(&self, cause: rusqlite::Error) -> StoreError {
        told(&self.path, cause)
    }
}

/// A file beside another one, named after it.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The name of a file that nobody writes, for SQLite (sqlite.org/uri.html).
fn immutable(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    (uri + "?immutable=1").into()
}

fn told(path: &Path, cause: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match cause.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotOurs(path),
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(path),
        // Beside a store that is there the log cannot be made.
        Some(ErrorCode::CannotOpen) if path.is_file() => StoreError::ReadOnly(path),
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, what: cause.to_string() },
        _ => StoreError::Sqlite { path, cause },
    }
}
