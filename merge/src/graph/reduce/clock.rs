//! Vector clocks that share what they have in common.
//!
//! A clock is a list that may be shared with others, and what is higher than that. After a barrier all threads know the
//! same but for themselves, so that one list serves all of them, and a barrier of m threads takes m steps, not m².

use std::rc::Rc;

/// A list is copied when more than one number in so many is higher: those beside it take an eighth of its memory then.
const LENGTH_FOR_ONE: usize = 16;
/// More than so many are merged with those that are there, not put in one by one.
const FEW: usize = 4;

/// How far every thread must have come: by number of the thread, how many of its points.
#[derive(Clone, Debug)]
pub struct VectorClock {
    /// Never changed while it is shared.
    list: Rc<[u32]>,
    /// There is nothing in the list, so that no clock is below it.
    is_empty: bool,
    /// A list that this clock is nowhere below: those that still have it are joined in a few steps.
    below: Option<Rc<[u32]>>,
    /// (thread, points): what is higher than in `list`, by thread.
    higher: Vec<(u32, u32)>,
}

impl VectorClock {
    /// Nobody has done anything.
    pub fn new(threads: usize) -> VectorClock {
        VectorClock { list: vec![0; threads].into(), is_empty: true, below: None, higher: Vec::new() }
    }

    /// How many points of a thread are known.
    #[inline]
    pub fn get(&self, thread: u32) -> u32 {
        match self.higher.binary_search_by_key(&thread, |&(thread, _)| thread) {
            Ok(place) => self.higher[place].1,
            Err(_) => self.list[thread as usize],
        }
    }

    /// So many points of a thread are known, or more.
    pub fn raise(&mut self, thread: u32, points: u32) {
        let place = match self.higher.binary_search_by_key(&thread, |&(thread, _)| thread) {
            Ok(place) => return self.higher[place].1 = points.max(self.higher[place].1),
            Err(_) if points <= self.list[thread as usize] => return,
            Err(place) => place,
        };
        if let Some(own) = Rc::get_mut(&mut self.list) {
            own[thread as usize] = points;
            self.is_empty = false;
        } else if self.higher.len() < self.list.len() / LENGTH_FOR_ONE {
            self.higher.insert(place, (thread, points));
        } else {
            self.own_list()[thread as usize] = points;
        }
    }

    /// The same for several, by thread.
    fn raise_all(&mut self, news: &[(u32, u32)]) {
        if news.len() <= FEW || Rc::get_mut(&mut self.list).is_some() {
            return news.iter().for_each(|&(thread, points)| self.raise(thread, points));
        }
        let own = std::mem::take(&mut self.higher);
        self.higher.reserve(own.len() + news.len());
        let mut own = own.into_iter().peekable();
        for &(thread, points) in news {
            while let Some(before) = own.next_if(|before| before.0 < thread) {
                self.higher.push(before);
            }
            match own.next_if(|same| same.0 == thread) {
                Some(same) => self.higher.push((thread, points.max(same.1))),
                None if points > self.list[thread as usize] => self.higher.push((thread, points)),
                None => {}
            }
        }
        self.higher.extend(own);
        if self.higher.len() > self.list.len() / LENGTH_FOR_ONE {
            self.own_list();
        }
    }

    /// A list that is not shared, with all that is known.
    fn own_list(&mut self) -> &mut [u32] {
        if Rc::get_mut(&mut self.list).is_none() {
            let own = self.list.iter().copied().collect();
            self.below = Some(std::mem::replace(&mut self.list, own));
        }
        self.is_empty = false;
        let own = Rc::make_mut(&mut self.list);
        self.higher.drain(..).for_each(|(thread, points)| own[thread as usize] = points);
        own
    }

    /// What another knows is known here, too.
    pub fn join(&mut self, news: &VectorClock) {
        let is_below = |one: &VectorClock, other: &VectorClock| {
            one.is_empty
                || Rc::ptr_eq(&one.list, &other.list)
                || other.below.as_ref().is_some_and(|below| Rc::ptr_eq(&one.list, below))
        };
        if is_below(news, self) {
            self.raise_all(&news.higher);
        } else if is_below(self, news) {
            let mine = std::mem::replace(self, news.clone());
            self.raise_all(&mine.higher);
        } else {
            self.join_lists(news);
        }
    }

    /// Its lists by their addresses, with their lengths, and how much it keeps besides.
    #[cfg(test)]
    pub fn kept(&self) -> (impl Iterator<Item = (*const u32, usize)>, usize) {
        let lists = std::iter::once(&self.list).chain(&self.below);
        (lists.map(|list| (list.as_ptr(), list.len())), self.higher.len())
    }

    fn join_lists(&mut self, news: &VectorClock) {
        let own = self.own_list();
        own.iter_mut().zip(&*news.list).for_each(|(mine, news)| *mine = (*mine).max(*news));
        self.raise_all(&news.higher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a clock of plain lists would say.
    fn all(clock: &VectorClock, threads: u32) -> Vec<u32> {
        (0..threads).map(|thread| clock.get(thread)).collect()
    }

    #[test]
    fn who_knows_nothing_takes_the_list_of_another() {
        let mut clocks = vec![VectorClock::new(400); 2];
        // More than there is room for beside a list.
        (0..100).for_each(|thread| clocks[0].raise(thread, thread + 1));
        let mut late = clocks[1].clone();
        late.raise(300, 1);
        let _shared = clocks[0].clone();
        // The list is copied: that of the late one is no longer known to be below it.
        (100..200).for_each(|thread| clocks[0].raise(thread, thread + 1));
        late.join(&clocks[0]);
        assert!(Rc::ptr_eq(&late.list, &clocks[0].list));
        assert_eq!([0, 150, 300].map(|thread| late.get(thread)), [1, 151, 1]);
    }

    #[test]
    fn shared_clocks_say_what_plain_ones_would() {
        // As many as have room for more than a few numbers beside a list.
        const THREADS: u32 = 400;
        let mut clocks = vec![VectorClock::new(THREADS as usize); THREADS as usize];
        let mut plain = vec![vec![0u32; THREADS as usize]; THREADS as usize];
        let mut seed = 1u64;
        let mut random = move |below: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % below
        };
        for round in 1..1000 {
            let (one, other) = (random(THREADS) as usize, random(THREADS) as usize);
            clocks[one].raise(one as u32, round);
            plain[one][one] = round;
            let (news, plain_news) = (clocks[one].clone(), plain[one].clone());
            clocks[other].join(&news);
            plain[other].iter_mut().zip(&plain_news).for_each(|(mine, news)| *mine = (*mine).max(*news));
            if round % 250 == 0 {
                // A barrier.
                let mut joined = clocks[0].clone();
                clocks.iter().for_each(|clock| joined.join(clock));
                clocks.iter_mut().for_each(|clock| clock.join(&joined));
                let highest = |thread: usize| plain.iter().map(|clock| clock[thread]).max().unwrap_or(0);
                let highest: Vec<u32> = (0..THREADS as usize).map(highest).collect();
                plain.iter_mut().for_each(|clock| clock.clone_from(&highest));
            }
            for (clock, plain) in clocks.iter().zip(&plain) {
                assert_eq!(all(clock, THREADS), *plain, "round {round}");
            }
        }
    }

    #[test]
    fn a_barrier_leaves_one_list() {
        let mut clocks = vec![VectorClock::new(1000); 1000];
        let mut joined = clocks[0].clone();
        for (thread, clock) in (0..).zip(&mut clocks) {
            clock.raise(thread, 1);
            joined.join(clock);
        }
        clocks.iter_mut().for_each(|clock| clock.join(&joined));
        assert!(clocks.iter().all(|clock| Rc::ptr_eq(&clock.list, &joined.list) && clock.higher.is_empty()));
    }
}
