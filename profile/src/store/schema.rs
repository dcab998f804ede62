//! The schema of the store, as `STORE.md` documents it.

use crate::sample::COLUMNS;

/// Written into the database's header: says whose it is ("SYNP").
pub const APPLICATION: i64 = 0x5359_4e50;
/// Version of the schema.
pub const VERSION: i64 = 3;

/// What makes a store of version 1 one of version 2, and that one of version 3.
pub const UPGRADES: [&str; 2] = [
    "ALTER TABLE sample ADD COLUMN syncs INTEGER;
     ALTER TABLE sample ADD COLUMN seeks INTEGER;
     ALTER TABLE sample ADD COLUMN opens INTEGER;
     ALTER TABLE sample ADD COLUMN stats INTEGER;
     ALTER TABLE sample ADD COLUMN names INTEGER;
     PRAGMA user_version = 2;",
    "ALTER TABLE sample ADD COLUMN allocations INTEGER;
     ALTER TABLE sample ADD COLUMN allocated_bytes INTEGER;
     ALTER TABLE sample ADD COLUMN freed_bytes INTEGER;
     CREATE TABLE file_block (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, file INTEGER NOT NULL,
         kind INTEGER NOT NULL, bin INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
         PRIMARY KEY (profile, file, kind, bin)) WITHOUT ROWID;
     PRAGMA user_version = 3;",
];

/// The statements that make an empty store.
pub fn statements() -> String {
    let columns: String = COLUMNS.iter().map(|column| format!("{} INTEGER, ", column.name)).collect();
    format!(
        "CREATE TABLE profile (id INTEGER PRIMARY KEY AUTOINCREMENT, command TEXT NOT NULL, started_ns INTEGER NOT NULL,
             rate TEXT NOT NULL, source TEXT NOT NULL, machine TEXT NOT NULL, wall_ns INTEGER, outcome TEXT, status INTEGER);
         CREATE INDEX profile_command ON profile (command);
         CREATE TABLE tag (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, key TEXT NOT NULL,
             value TEXT NOT NULL, PRIMARY KEY (profile, key)) WITHOUT ROWID;
         CREATE TABLE total (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, name TEXT NOT NULL,
             value INTEGER NOT NULL, PRIMARY KEY (profile, name)) WITHOUT ROWID;
         CREATE TABLE metric (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, number INTEGER NOT NULL,
             name TEXT NOT NULL, unit TEXT NOT NULL, value REAL, how TEXT NOT NULL, PRIMARY KEY (profile, number)) WITHOUT ROWID;
         CREATE TABLE note (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, number INTEGER NOT NULL,
             text TEXT NOT NULL, PRIMARY KEY (profile, number)) WITHOUT ROWID;
         CREATE TABLE process (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, number INTEGER NOT NULL,
             pid INTEGER NOT NULL, ppid INTEGER NOT NULL, name TEXT NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,
             cpu_ns INTEGER NOT NULL, read_bytes INTEGER, write_bytes INTEGER, peak_bytes INTEGER NOT NULL,
             threads INTEGER NOT NULL, PRIMARY KEY (profile, number)) WITHOUT ROWID;
         CREATE TABLE block (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, kind INTEGER NOT NULL,
             bin INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (profile, kind, bin)) WITHOUT ROWID;
         CREATE TABLE file (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, number INTEGER NOT NULL,
             path TEXT NOT NULL, system TEXT NOT NULL, read_bytes INTEGER NOT NULL, write_bytes INTEGER NOT NULL,
             reads INTEGER NOT NULL, writes INTEGER NOT NULL, PRIMARY KEY (profile, number)) WITHOUT ROWID;
         CREATE TABLE file_block (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, file INTEGER NOT NULL,
             kind INTEGER NOT NULL, bin INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
             PRIMARY KEY (profile, file, kind, bin)) WITHOUT ROWID;
         CREATE TABLE sample (profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE, number INTEGER NOT NULL,
             end_ns INTEGER NOT NULL, span_ns INTEGER NOT NULL, {columns}blocks BLOB, PRIMARY KEY (profile, number)) WITHOUT ROWID;
         PRAGMA application_id = {APPLICATION};
         PRAGMA user_version = {VERSION};"
    )
}
