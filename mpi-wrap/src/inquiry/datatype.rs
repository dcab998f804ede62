//! How a derived datatype was made.

use core::ffi::c_int;
use syn_trace::record::MAX_LIST;

use super::{SUCCESS, number, type_free, type_get_contents, type_get_envelope, type_size};
use crate::abi::Mpi;
use crate::scratch::Scratch;

/// Places in the list of constructors.
const NAMED: usize = 0;
const SUBARRAY: usize = 10;
/// A datatype is made of others in so many steps at most.
const MAX_DEPTH: u32 = 16;
/// Datatypes that one is made of, at most.
const MAX_TYPES: usize = 256;

impl Mpi {
    /// The constructors of a datatype as the trace tells them; empty when they are not known, or too long to tell.
    pub fn describe<'a>(self, datatype: usize, scratch: &mut Scratch) -> &'a [i64] {
        let mut list = List { numbers: scratch.take_up_to(MAX_LIST), used: 0 };
        match list.add(self, datatype, scratch, 0) {
            Some(()) => &list.numbers[..list.used],
            None => &[],
        }
    }
}

struct List<'a> {
    numbers: &'a mut [i64],
    used: usize,
}

impl List<'_> {
    fn push(&mut self, number: i64) -> Option<()> {
        *self.numbers.get_mut(self.used)? = number;
        self.used += 1;
        Some(())
    }

    /// Adds one datatype, and those that it is made of.
    fn add(&mut self, mpi: Mpi, datatype: usize, scratch: &mut Scratch, depth: u32) -> Option<()> {
        let (mut counts, mut combiner) = ([0; 3], 0);
        let [integers, addresses, datatypes] = counts.each_mut();
        if type_get_envelope(datatype, integers, addresses, datatypes, &mut combiner) != SUCCESS {
            return None;
        }
        let constructor = mpi.abi.combiners.iter().position(|&one| one == combiner)?;
        self.push(constructor as i64)?;
        if constructor == NAMED {
            return self.push(number(|size| type_size(datatype, size))?.into());
        }
        let [integers, addresses, datatypes] = counts.map(|count| count.max(0) as usize);
        if depth == MAX_DEPTH || datatypes > MAX_TYPES || integers.max(addresses) > self.numbers.len() {
            return None;
        }
        counts.iter().try_for_each(|&count| self.push(count.into()))?;
        let integer = scratch.take::<c_int>(integers)?;
        let address = scratch.take::<i64>(addresses)?;
        let of = scratch.take::<usize>(datatypes)?;
        let places = (integer.as_mut_ptr(), address.as_mut_ptr().cast(), of.as_mut_ptr().cast());
        if type_get_contents(datatype, counts[0], counts[1], counts[2], places.0, places.1, places.2)
            != SUCCESS
        {
            return None;
        }
        if constructor == SUBARRAY
            && let Some(order) = integer.last_mut()
        {
            *order = mpi.abi.orders.iter().position(|one| one == order)? as c_int;
        }
        let numbers = integer.iter().map(|&number| number.into()).chain(address.iter().copied());
        let mut added = numbers.into_iter().try_for_each(|number| self.push(number));
        for index in 0..datatypes {
            // SAFETY: `of` holds so many handles, each as wide as this MPI's are.
            let part = unsafe { mpi.handle_at(of.as_ptr().cast(), index) };
            if added.is_some() {
                added = self.add(mpi, part, scratch, depth + 1);
            }
            give_back(mpi, part);
        }
        added
    }
}

/// The contents of a datatype are new handles, but for basic types, those of Fortran's kinds among them (`MPI_COMBINER_F90_REAL` and the like),
/// of which MPI says that they may not be freed.
fn give_back(mpi: Mpi, mut datatype: usize) {
    let (mut counts, mut combiner) = ([0; 3], 0);
    let [integers, addresses, datatypes] = counts.each_mut();
    let asked = type_get_envelope(datatype, integers, addresses, datatypes, &mut combiner);
    if asked == SUCCESS && mpi.abi.combiners[NAMED + 1..].contains(&combiner) {
        type_free(&mut datatype);
    }
}
