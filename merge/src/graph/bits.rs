//! A set of numbers as bits, which can be counted.

/// Words whose bits are counted together.
const BLOCK: usize = 8;
const BITS: usize = u64::BITS as usize;

/// Which of the numbers below a limit are in a set: a bit for each.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
    /// How many are in front of every block; see [`Bits::count`].
    before: Vec<u32>,
}

impl Bits {
    /// None of the numbers below this.
    pub fn new(limit: usize) -> Bits {
        Bits { words: vec![0; limit / BITS + 1], before: Vec::new() }
    }

    /// Puts a number in.
    #[inline]
    pub fn insert(&mut self, number: usize) {
        self.words[number / BITS] |= 1 << (number % BITS);
    }

    /// Whether a number is in it.
    #[inline]
    pub fn contains(&self, number: usize) -> bool {
        self.words[number / BITS] & 1 << (number % BITS) != 0
    }

    /// Counts them, for [`Bits::rank`]; how many there are.
    pub fn count(&mut self) -> usize {
        let mut count = 0;
        self.before = Vec::with_capacity(self.words.len() / BLOCK + 1);
        for block in self.words.chunks(BLOCK) {
            self.before.push(count);
            count += block.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        count as usize
    }

    /// How many smaller ones were in it when they were counted.
    #[inline]
    pub fn rank(&self, number: usize) -> usize {
        let word = number / BITS;
        let first = word / BLOCK * BLOCK;
        let whole: u32 = self.words[first..word].iter().map(|word| word.count_ones()).sum();
        let part = (self.words[word] & ((1 << (number % BITS)) - 1)).count_ones();
        (self.before[word / BLOCK] + whole + part) as usize
    }

    /// The smallest one above this number.
    #[inline]
    pub fn next_above(&self, number: usize) -> Option<usize> {
        let above = number + 1;
        let mut word = above / BITS;
        let mut bits = self.words.get(word)? & (!0 << (above % BITS));
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(word * BITS + bits.trailing_zeros() as usize)
    }

    /// Those from a number on, rising.
    pub fn iter_from(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        let first = if self.contains(number) { Some(number) } else { self.next_above(number) };
        std::iter::successors(first, |&number| self.next_above(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_and_found() {
        const LIMIT: usize = 3000;
        for numbers in [vec![], vec![0], vec![2999], vec![0, 63, 64, 65, 511, 512, 513, 1024, 2047, 2999]] {
            let mut bits = Bits::new(LIMIT);
            numbers.iter().for_each(|&number| bits.insert(number));
            assert_eq!(bits.count(), numbers.len());
            assert_eq!(bits.iter_from(0).collect::<Vec<_>>(), numbers);
            for number in 0..LIMIT {
                assert_eq!(bits.contains(number), numbers.contains(&number));
                assert_eq!(bits.rank(number), numbers.iter().filter(|&&other| other < number).count());
                let above = numbers.iter().copied().find(|&other| other > number);
                assert_eq!(bits.next_above(number), above, "{number}");
            }
        }
    }
}
