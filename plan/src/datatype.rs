//! How the file type of a view was made, as a list of numbers: the constructor, how many integers, addresses and datatypes it
//! takes, these, and each datatype in the same way; of a basic type, 0 and its size.

/// The constructors, by number in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Constructor {
    Dup = 1,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Resized,
}

const CONSTRUCTORS: [Constructor; 11] = {
    use Constructor::*;
    [
        Dup,
        Contiguous,
        Vector,
        Hvector,
        Indexed,
        Hindexed,
        IndexedBlock,
        HindexedBlock,
        Struct,
        Subarray,
        Resized,
    ]
};

/// Datatypes are in each other so deep at most.
const MAX_DEPTH: u32 = 32;

/// A datatype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// Of so many bytes.
    Basic(i32),
    /// Made of others.
    Made {
        /// By which constructor.
        by: Constructor,
        /// Its integers, as `MPI_Type_get_contents` gives them.
        integers: Vec<i32>,
        /// Its addresses, likewise.
        addresses: Vec<i64>,
        /// What it is made of.
        of: Vec<Datatype>,
    },
}

impl Datatype {
    /// The datatype that a list tells; `None` when it tells none.
    pub fn of(list: &[u64]) -> Option<Datatype> {
        let mut rest = list;
        Datatype::take(&mut rest, 0).filter(|_| rest.is_empty())
    }

    fn take(rest: &mut &[u64], depth: u32) -> Option<Datatype> {
        let constructor = next(rest)?;
        if constructor == 0 {
            return Some(Datatype::Basic(integer(rest)?)).filter(|_| depth <= MAX_DEPTH);
        }
        let by = *CONSTRUCTORS.get(usize::try_from(constructor).ok()? - 1)?;
        let mut count = || usize::try_from(next(rest)?).ok().filter(|&count| count <= rest.len());
        let counts = [count()?, count()?, count()?];
        let integers: Vec<i32> = (0..counts[0]).map(|_| integer(rest)).collect::<Option<_>>()?;
        let addresses = (0..counts[1]).map(|_| Some(next(rest)? as i64)).collect::<Option<_>>()?;
        let depth = (depth < MAX_DEPTH).then_some(depth + 1)?;
        let of = (0..counts[2]).map(|_| Datatype::take(rest, depth)).collect::<Option<_>>()?;
        let made = Datatype::Made { by, integers, addresses, of };
        made.fits().then_some(made)
    }

    /// Whether the constructor has as many numbers as it takes.
    fn fits(&self) -> bool {
        use Constructor::*;
        let Datatype::Made { by, integers, addresses, of } = self else { return true };
        let lengths = (integers.len(), addresses.len(), of.len());
        let Ok(first) = usize::try_from(integers.first().copied().unwrap_or(0)) else { return false };
        let wanted = match by {
            Dup => (0, 0, 1),
            Contiguous => (1, 0, 1),
            Vector => (3, 0, 1),
            Hvector => (2, 1, 1),
            Indexed => (1 + 2 * first, 0, 1),
            Hindexed => (1 + first, first, 1),
            IndexedBlock => (2 + first, 0, 1),
            HindexedBlock => (2, first, 1),
            Struct => (1 + first, first, first),
            Subarray => (2 + 3 * first, 0, 1),
            Resized => (0, 2, 1),
        };
        // But for these, the first integer is a count of further ones.
        lengths == wanted
    }
}

fn next(rest: &mut &[u64]) -> Option<u64> {
    let (&number, behind) = rest.split_first()?;
    *rest = behind;
    Some(number)
}

fn integer(rest: &mut &[u64]) -> Option<i32> {
    i32::try_from(next(rest)? as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_list_tells_is_understood() {
        let vector = Datatype::Made {
            by: Constructor::Vector,
            integers: vec![4, 2, -8],
            addresses: vec![],
            of: vec![Datatype::Basic(8)],
        };
        let list = [3, 3, 0, 1, 4, 2, -8i64 as u64, 0, 8];
        assert_eq!(Datatype::of(&list), Some(vector.clone()));
        let resized = [&[11, 0, 2, 1, 0, 4096][..], &list].concat();
        let Some(Datatype::Made { by, addresses, of, .. }) = Datatype::of(&resized) else {
            panic!("no datatype")
        };
        assert_eq!((by, addresses, of), (Constructor::Resized, vec![0, 4096], vec![vector]));
    }

    #[test]
    fn what_is_none_is_refused() {
        let too_deep = [[1, 0, 0, 1]; 40].concat();
        let all: [&[u64]; 10] = [
            &[],
            &[0],
            &[0, 8, 8],
            &[0, 1 << 40],
            &[12, 0, 0, 1, 0, 8],
            &[3, 2, 0, 1, 4, 2, 0, 8],
            &[3, 3, 0, u64::MAX, 4, 2, 8, 0, 8],
            &[10, 1, 0, 1, 2, 0, 8],
            &[5, 1, 0, 1, -2_i64 as u64, 0, 8],
            &too_deep,
        ];
        for list in all {
            assert_eq!(Datatype::of(list), None, "{list:?}");
        }
    }
}
