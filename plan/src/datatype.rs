//! How the file type of a view was made, as a list of numbers: the constructor, how many integers, addresses and datatypes it
//! takes, these, and each datatype in the same way; of a basic type, 0 and its size.

/// The constructors, numbered from 1 on, each with how many integers, addresses and datatypes it takes. Where `first`, its first
/// integer, is in these, it counts further ones.
macro_rules! constructors {
    (|$first:ident| $($name:ident: $lengths:expr,)+) => {
        /// What datatypes are made by: `MPI_Type_…`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Constructor {
            $($name,)+
        }

        impl Constructor {
            const ALL: &[Constructor] = &[$(Constructor::$name),+];

            fn lengths(self, $first: usize) -> (usize, usize, usize) {
                match self {
                    $(Constructor::$name => $lengths,)+
                }
            }
        }
    };
}

constructors! { |first|
    Dup: (0, 0, 1),
    Contiguous: (1, 0, 1),
    Vector: (3, 0, 1),
    Hvector: (2, 1, 1),
    Indexed: (1 + 2 * first, 0, 1),
    Hindexed: (1 + first, first, 1),
    IndexedBlock: (2 + first, 0, 1),
    HindexedBlock: (2, first, 1),
    Struct: (1 + first, first, first),
    Subarray: (2 + 3 * first, 0, 1),
    Resized: (0, 2, 1),
}

/// Datatypes are in each other so deep at most.
const MAX_DEPTH: u32 = 32;

/// More pieces than a file type of a view has: libraries list them, which takes memory.
const MAX_PIECES: u64 = 1 << 24;

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
        let by = *Constructor::ALL.get(usize::try_from(constructor).ok()? - 1)?;
        let mut count = || usize::try_from(next(rest)?).ok().filter(|&count| count <= rest.len());
        let counts = [count()?, count()?, count()?];
        let integers: Vec<i32> = (0..counts[0]).map(|_| integer(rest)).collect::<Option<_>>()?;
        let addresses = (0..counts[1]).map(|_| Some(next(rest)? as i64)).collect::<Option<_>>()?;
        let depth = (depth < MAX_DEPTH).then_some(depth + 1)?;
        let of = (0..counts[2]).map(|_| Datatype::take(rest, depth)).collect::<Option<_>>()?;
        let made = Datatype::Made { by, integers, addresses, of };
        made.fits().then_some(made)
    }

    /// Whether a view can have it: a list of a few numbers may stand for billions of pieces.
    pub fn is_bounded(&self) -> bool {
        self.pieces() <= MAX_PIECES
    }

    /// So many contiguous pieces at most. Elements of a basic type that follow each other are one.
    fn pieces(&self) -> u64 {
        use Constructor::*;
        let Datatype::Made { by, integers, of, .. } = self else { return 1 };
        let count = |at: usize| integers.get(at).map_or(0, |&count| count.max(0) as u64);
        // Each part once, however many blocks there are of it.
        let each = |of: &Datatype| match of {
            Datatype::Basic(_) => None,
            made => Some(made.pieces()),
        };
        let row =
            |length: u64, each: Option<u64>| each.map_or(length.min(1), |each| length.saturating_mul(each));
        let in_row = |length: u64, of: &Datatype| row(length, each(of));
        let blocks = || integers[1..].iter().take(count(0) as usize).map(|&length| length.max(0) as u64);
        let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
        match by {
            Dup | Resized => of[0].pieces(),
            Contiguous => in_row(count(0), &of[0]),
            Vector | Hvector | IndexedBlock | HindexedBlock => {
                count(0).saturating_mul(in_row(count(1), &of[0]))
            }
            Indexed | Hindexed => {
                let each = each(&of[0]);
                sum(&mut blocks().map(|length| row(length, each)))
            }
            Struct => sum(&mut blocks().zip(of).map(|(length, of)| in_row(length, of))),
            // Rows of the part that is in it, whichever of its sides they run along.
            Subarray => {
                let dimensions = count(0) as usize;
                let sides = || (0..dimensions).map(|at| count(1 + dimensions + at));
                let all = sides().fold(1, u64::saturating_mul);
                let longest = if integers.last() == Some(&1) { sides().next() } else { sides().next_back() };
                let longest = longest.unwrap_or(1).max(1);
                (all / longest).saturating_mul(in_row(longest, &of[0]))
            }
        }
    }

    /// Whether the constructor has as many numbers as it takes.
    fn fits(&self) -> bool {
        let Datatype::Made { by, integers, addresses, of } = self else { return true };
        let first = usize::try_from(integers.first().copied().unwrap_or(0));
        first.is_ok_and(|first| (integers.len(), addresses.len(), of.len()) == by.lengths(first))
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

    /// A part of an array of 64³, by rows; and few numbers that stand for many.
    #[test]
    fn pieces_are_bounded() {
        let of = |list: &[u64]| Datatype::of(list).expect("a datatype");
        let part = of(&[10, 11, 0, 1, 3, 64, 64, 64, 32, 16, 8, 0, 0, 0, 0, 0, 8]);
        assert_eq!(part.pieces(), 32 * 16);
        assert_eq!(of(&[3, 3, 0, 1, 5, 7, 9, 0, 8]).pieces(), 5);
        assert_eq!(of(&[5, 5, 0, 1, 2, 3, 0, 0, 9, 0, 8]).pieces(), 1, "a block of nothing is none");
        let many = 1 << 30;
        let vector = [3, 3, 0, 1, many, 1, 2, 0, 1];
        assert!(!of(&vector).is_bounded());
        assert!(!of(&[&[3, 3, 0, 1, many, many, many][..], &vector].concat()).is_bounded());
        let blocks = [5, 21, 0, 1, 10].into_iter().chain([0; 20]).collect::<Vec<u64>>();
        assert_eq!(
            of(&[blocks.repeat(30), vec![0, 8]].concat()).pieces(),
            0,
            "no block is looked into twice"
        );
        assert!(part.is_bounded());
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
