//! What steps say of the order in which programs go on, read without all else.

use crate::fields::skip;
use crate::steps::{REPEAT, SIGNAL, WAIT};
use crate::{EdgeId, Op, Steps};
use std::sync::LazyLock;

/// What a step has to do with the order in which programs go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Signal {
        edge: EdgeId,
    },
    Wait {
        edge: EdgeId,
        count: u32,
        stride: u32,
    },
    Repeat {
        count: u32,
        steps: u32,
    },
    /// Nothing.
    Other,
}

impl From<&Op> for Order {
    fn from(op: &Op) -> Order {
        match *op {
            Op::Signal { edge } => Order::Signal { edge },
            Op::Wait { edge, count, stride } => Order::Wait { edge, count, stride },
            Op::Repeat { count, steps } => Order::Repeat { count, steps },
            _ => Order::Other,
        }
    }
}

impl Steps {
    /// What of the steps says in which order programs go on.
    pub(crate) fn orders(&self) -> Orders<'_> {
        Orders { bytes: self.as_bytes() }
    }
}

/// Reads that alone, without times and what other steps do. The steps are well-formed: they were made here, or checked when they
/// were loaded.
#[derive(Debug)]
pub(crate) struct Orders<'a> {
    bytes: &'a [u8],
}

impl Iterator for Orders<'_> {
    type Item = Order;

    #[inline]
    fn next(&mut self) -> Option<Order> {
        let (&number, mut rest) = self.bytes.split_first()?;
        let order = if let SIGNAL | WAIT | REPEAT = number {
            skip(TIMES, &mut rest)?;
            Order::from(&Op::take(number, &mut rest)?)
        } else {
            skip(TIMES + usize::from(FIELDS[usize::from(number)]), &mut rest)?;
            Order::Other
        };
        self.bytes = rest;
        Some(order)
    }
}

/// The fields in front of every step's own: when it began, how long it took.
const TIMES: usize = 2;

/// By number of an operation: how many fields it has, each of which is a varint; 0 for a number that none has.
static FIELDS: LazyLock<[u8; 256]> = LazyLock::new(|| {
    std::array::from_fn(|number| {
        let smallest = [0; u8::MAX as usize];
        let mut rest = &smallest[..];
        let op = Op::take(number as u8, &mut rest);
        op.map_or(0, |_| (smallest.len() - rest.len()) as u8)
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MPI_ROWS, ROWS};

    #[test]
    fn every_operation_is_gone_past() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|&number| FIELDS[usize::from(number)] > 0).collect();
        assert!(known.len() > ROWS.len() + MPI_ROWS.len() + usize::from(REPEAT), "{known:?}");
        // Zeros of one byte, and of two.
        for zero in [&[0][..], &[0x80, 0]] {
            for &number in &known {
                let mut bytes = vec![number];
                (0..TIMES + usize::from(FIELDS[usize::from(number)])).for_each(|_| bytes.extend(zero));
                bytes.extend([SIGNAL, 0, 0, 7]);
                let mut rest = &bytes[1 + TIMES * zero.len()..];
                let op = Op::take(number, &mut rest).expect("it has so many fields");
                assert_eq!(rest, [SIGNAL, 0, 0, 7], "{op:?}");
                let orders: Vec<Order> = Orders { bytes: &bytes }.collect();
                assert_eq!(orders, [Order::from(&op), Order::Signal { edge: 7 }]);
            }
        }
    }
}
