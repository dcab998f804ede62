//! What a sample holds: one table of columns, from which the store, the exports, the statistics and the pages are made.

/// Which resource a column is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Processors.
    Cpu,
    /// Memory.
    Memory,
    /// Files.
    Storage,
    /// Sockets.
    Network,
    /// Processes and threads.
    Processes,
}

/// One column of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// As it is called in the store and in exports; ends with its unit where it has one.
    pub name: &'static str,
    /// The resource it belongs to.
    pub resource: Resource,
    /// A level holds at the end of the sample; everything else is what was added during the sample.
    pub level: bool,
    /// What it is.
    pub about: &'static str,
}

macro_rules! columns {
    ($($id:ident $name:literal $resource:ident $level:literal $about:literal)*) => {
        /// A column of [`COLUMNS`], by its place.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each stands with its meaning in COLUMNS")]
        pub enum Field { $($id),* }
        /// All columns, in the order of the store.
        pub const COLUMNS: &[Column] = &[
            $(Column { name: $name, resource: Resource::$resource, level: $level, about: $about }),*
        ];
        /// All fields, in the same order.
        pub const FIELDS: &[Field] = &[$(Field::$id),*];
    };
}

columns! {
    Cpu "cpu_ns" Cpu false "CPU time of the process tree, children that have ended included"
    System "system_ns" Cpu false "the part of it spent in the kernel, in the kernel's clock ticks"
    Delay "delay_ns" Cpu false "time that living threads were runnable and had no processor"
    Cycles "cycles" Cpu false "processor cycles"
    Instructions "instructions" Cpu false "instructions"
    StalledFront "stalled_front" Cpu false "cycles without a decoded instruction"
    StalledBack "stalled_back" Cpu false "cycles in which instructions waited for data or units"
    Resident "resident_bytes" Memory true "resident memory of all processes, shared pages counted in each"
    Faults "faults" Memory false "page faults served without a device; each touched a new page"
    ReadBytes "read_bytes" Storage false "bytes that read calls returned"
    WriteBytes "write_bytes" Storage false "bytes that write calls took"
    Reads "reads" Storage false "read calls"
    Writes "writes" Storage false "write calls"
    DeviceReadBytes "device_read_bytes" Storage false "bytes that came from devices"
    DeviceWriteBytes "device_write_bytes" Storage false "bytes that go to devices"
    SentBytes "sent_bytes" Network false "bytes sent to others"
    ReceivedBytes "received_bytes" Network false "bytes received from others"
    InnerBytes "inner_bytes" Network false "bytes sent from one process of the tree to another"
    Processes "processes" Processes true "living processes"
    Threads "threads" Processes true "living threads"
    Syncs "syncs" Storage false "calls that bring data to a device: fsync and the like"
    Seeks "seeks" Storage false "calls that set a position"
    Opens "opens" Storage false "files opened"
    Stats "stats" Storage false "questions about files: stat, access, readlink and the like"
    Names "names" Storage false "changes of names and attributes: unlink, rename, mkdir, chmod and the like"
    Allocations "allocations" Memory false "blocks taken from allocators"
    AllocatedBytes "allocated_bytes" Memory false "their bytes, as allocators use them"
    FreedBytes "freed_bytes" Memory false "bytes given back to allocators"
}

/// Number of columns.
pub const WIDTH: usize = COLUMNS.len();
/// What files of this version and of the one before have.
pub const WIDTHS: [usize; 2] = [WIDTH, 25];

/// What was consumed between two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// End of the sample, nanoseconds since the start of the command.
    pub end_ns: u64,
    /// How long it is.
    pub span_ns: u64,
    /// One value a column; none where nothing could observe it.
    pub values: [Option<u64>; WIDTH],
    /// Sizes of the calls in it, where they are known.
    pub blocks: Vec<Block>,
}

/// Calls of about one size: a bin of a histogram with the bounds 2^n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Block {
    /// What the calls do.
    pub kind: BlockKind,
    /// The bin: sizes from 2^(bin-1) to 2^bin - 1 bytes; 0 is size 0.
    pub bin: u8,
    /// Calls.
    pub count: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// What calls of a block do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// Read a file.
    Read,
    /// Write a file.
    Write,
    /// Send to a socket.
    Send,
    /// Receive from a socket.
    Receive,
    /// Take a block from an allocator.
    Allocate,
}

impl BlockKind {
    /// All, in the order of their numbers in the store.
    pub const ALL: [BlockKind; 5] =
        [BlockKind::Read, BlockKind::Write, BlockKind::Send, BlockKind::Receive, BlockKind::Allocate];

    /// As shown.
    pub fn name(self) -> &'static str {
        ["read", "write", "send", "receive", "allocate"][self as usize]
    }
}

/// The bin of a size.
pub fn bin_of(bytes: u64) -> u8 {
    (u64::BITS - bytes.leading_zeros()) as u8
}

/// Adds a block to those of its kind and bin.
pub fn add_block(blocks: &mut Vec<Block>, more: Block) {
    match blocks.iter_mut().find(|block| (block.kind, block.bin) == (more.kind, more.bin)) {
        Some(block) => {
            block.count += more.count;
            block.bytes += more.bytes;
        }
        None => blocks.push(more),
    }
}

impl Sample {
    /// A column's value; 0 where it was not observed.
    pub fn get(&self, field: Field) -> u64 {
        self.values[field as usize].unwrap_or(0)
    }

    /// Sets a column.
    pub fn set(&mut self, field: Field, value: u64) {
        self.values[field as usize] = Some(value);
    }

    /// Takes in the sample that follows: amounts add up, of levels the later one holds.
    pub fn append(&mut self, next: &Sample) {
        self.end_ns = next.end_ns;
        self.span_ns += next.span_ns;
        for ((mine, theirs), column) in self.values.iter_mut().zip(next.values).zip(COLUMNS) {
            *mine = match (*mine, theirs) {
                (Some(mine), Some(theirs)) if !column.level => Some(mine + theirs),
                (mine, theirs) => theirs.or(mine),
            };
        }
        for &block in &next.blocks {
            add_block(&mut self.blocks, block);
        }
    }
}

/// Names of the columns of a sample in every kind of file.
pub fn column_names() -> Vec<&'static str> {
    ["end_ns", "span_ns"]
        .into_iter()
        .chain(COLUMNS.iter().map(|column| column.name))
        .chain(["blocks"])
        .collect()
}

/// The names of the columns, or of the first ones, as an older version has them.
pub fn are_columns(names: &[&str]) -> bool {
    let known = column_names();
    let Some((last, names)) = names.split_last() else { return false };
    // Without the two times.
    let width = names.len().checked_sub(2);
    known.last() == Some(last)
        && known.starts_with(names)
        && width.is_some_and(|width| WIDTHS.contains(&width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_add_up_and_levels_do_not() {
        let mut first = Sample { end_ns: 10, span_ns: 10, ..Sample::default() };
        first.set(Field::Cpu, 5);
        first.set(Field::Resident, 100);
        let mut second = Sample { end_ns: 30, span_ns: 20, ..Sample::default() };
        second.set(Field::Cpu, 7);
        second.set(Field::Resident, 60);
        second.set(Field::Reads, 1);
        first.append(&second);
        assert_eq!((first.end_ns, first.span_ns), (30, 30));
        assert_eq!((first.get(Field::Cpu), first.get(Field::Resident), first.get(Field::Reads)), (12, 60, 1));
        assert_eq!(first.values[Field::Writes as usize], None, "what nobody observed stays unobserved");
    }

    #[test]
    fn bins_have_powers_of_two_for_bounds() {
        assert_eq!([0, 1, 2, 3, 4, 4095, 4096].map(bin_of), [0, 1, 2, 2, 3, 12, 13]);
    }
}
