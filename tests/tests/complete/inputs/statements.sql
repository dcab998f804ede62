-- A rollback journal, a write-ahead log with its shared index, and reading through a mapping.
CREATE TABLE a (id INTEGER PRIMARY KEY, text TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) INSERT INTO a SELECT x, hex(x * 7919) FROM n;
CREATE INDEX b ON a (text);
PRAGMA journal_mode = WAL;
BEGIN;
UPDATE a SET text = text || 'x' WHERE id % 3 = 0;
COMMIT;
PRAGMA wal_checkpoint(TRUNCATE);
PRAGMA mmap_size = 1048576;
SELECT count(*), sum(length(text)) FROM a WHERE text LIKE '%x';
DELETE FROM a WHERE id > 1000;
PRAGMA journal_mode = DELETE;
VACUUM;
PRAGMA integrity_check;
