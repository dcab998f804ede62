//! Lists of numbers that steps refer to, each kept once.

use foldhash::HashMap;

/// The lists so far. The first is empty.
#[derive(Debug, Default)]
pub struct Lists {
    numbers: HashMap<Vec<u64>, u32>,
    list: Vec<Vec<u64>>,
}

impl Lists {
    /// There will be steps that refer to lists.
    pub fn begin(&mut self) {
        if self.list.is_empty() {
            self.keep(Vec::new());
        }
    }

    /// The number of a list.
    pub fn number(&mut self, list: Vec<u64>) -> u32 {
        match self.numbers.get(&list) {
            Some(&number) => number,
            None => self.keep(list),
        }
    }

    fn keep(&mut self, list: Vec<u64>) -> u32 {
        let number = self.list.len() as u32;
        self.list.push(list.clone());
        self.numbers.insert(list, number);
        number
    }

    /// The numbers of a list.
    pub fn get(&self, list: u32) -> &[u64] {
        self.list.get(list as usize).map_or(&[], |list| list)
    }

    /// All, by number.
    pub fn finish(self) -> Vec<Vec<u64>> {
        self.list
    }
}
