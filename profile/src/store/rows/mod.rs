//! A profile's rows: one file that writes each table, one that reads it.

mod read;
mod write;

pub use read::{profile, sample};
pub use write::{
    add_metrics, amend_blocks, amend_samples, blocks_to_bytes, command_text, insert_blocks, insert_files,
    insert_head, insert_samples, insert_tail, insert_totals, remove_files,
};

use crate::sample::{Block, BlockKind};

type Result<T> = rusqlite::Result<T>;

const BLOCK_BYTES: usize = 18;

/// None when they are cut off, or of a kind that does not exist.
pub fn blocks_from_bytes(bytes: &[u8]) -> Option<Vec<Block>> {
    let whole = bytes.len().is_multiple_of(BLOCK_BYTES);
    whole.then(|| bytes.chunks_exact(BLOCK_BYTES).map(block).collect())?
}

fn block(bytes: &[u8]) -> Option<Block> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(Block {
        kind: *BlockKind::ALL.get(usize::from(bytes[0]))?,
        bin: bytes[1],
        count: number(2)?,
        bytes: number(10)?,
    })
}
