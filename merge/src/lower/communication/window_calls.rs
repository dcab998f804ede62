//! Calls on windows, as a replay makes them again.

use super::{Communication, bytes};
use crate::follow::pass::Seen;
use crate::mpi::{Meaning, expand, window};
use syn_plan::{Access, Epoch, Lock, Mpi, SELF, Window};
use syn_trace::Call;
use syn_trace::calls::effect;

impl Communication<'_> {
    /// A window is made: nothing for one whose members are not known.
    pub(super) fn make_window(&mut self, seen: &Seen<'_>) -> Option<Mpi> {
        let (process, [size, unit, parent, handle, ..]) = (seen.process, seen.event.numbers);
        let comm = self.comm(process, parent);
        let instance = self.communicators.take_part(process, parent);
        if !self.communicators.create_window(self.worlds, process, parent, handle)
            || instance.is_some_and(|instance| self.matching.broken.contains(&instance.id))
        {
            return None;
        }
        // Every process has windows of its own on `MPI_COMM_SELF`, under the same numbers.
        let comm = comm.filter(|&comm| comm != SELF)?;
        let &mut Meaning::Within(joined) = self.communicators.meaning(process, window(handle))? else {
            return None;
        };
        let next = self.windows.len() as u32;
        let window = *self.windows.entry(joined.comm).or_insert(next);
        Some(Mpi::WinMake {
            how: Window::named(seen.event.call.name())?,
            comm,
            window,
            bytes: size.max(0) as u64,
            unit: unit.clamp(1, 1 << 30) as u32,
        })
    }

    /// Any other call on a window.
    pub(super) fn on_window(&mut self, seen: &Seen<'_>, form: effect::Mpi) -> Option<Mpi> {
        use effect::Mpi as Form;
        let (name, n) = (seen.event.call.name(), &seen.event.numbers);
        let handle = if matches!(form, Form::Rma | Form::RmaRequest) { n[3] } else { n[0] };
        // A request is counted whether the call is made or not.
        let request = (form == Form::RmaRequest)
            .then(|| self.processes[seen.process as usize].begin(n[4], seen.thread, false));
        let instance = match form {
            Form::Fence | Form::FreeWindow => self.communicators.take_part(seen.process, window(handle)),
            _ => None,
        };
        let known = match self.communicators.meaning(seen.process, window(handle))? {
            Meaning::Within(joined) => self.windows.get(&joined.comm).copied(),
            _ => None,
        };
        if form == Form::FreeWindow {
            self.communicators.free(seen.process, window(handle));
        }
        let window = known?;
        if instance.is_some_and(|instance| self.matching.broken.contains(&instance.id)) {
            return None;
        }
        Some(match form {
            Form::FreeWindow => Mpi::WinFree { window },
            Form::LockTarget => {
                Mpi::WinLock { how: Lock::Lock, window, peer: n[1] as i32, exclusive: n[2] != 0 }
            }
            Form::FlushTarget | Form::UnlockTarget => {
                Mpi::WinLock { how: Lock::named(name)?, window, peer: n[1] as i32, exclusive: false }
            }
            Form::Rma => {
                let (how, bytes) = (Access::named(name)?, bytes(n[0]));
                Mpi::Rma { how, window, peer: n[1] as i32, at: n[2].max(0) as u64, bytes }
            }
            Form::RmaRequest => {
                let (how, bytes, request) = (Access::named(name)?, bytes(n[0]), request?);
                Mpi::RmaRequest { how, window, peer: n[1] as i32, at: n[2].max(0) as u64, bytes, request }
            }
            _ => {
                let told = self.matching.told.get(&((seen.thread, seen.record), Call::MpiWinGroup));
                let members = told.and_then(|runs| expand(runs, self.worlds.ranks())).unwrap_or_default();
                let members = members.into_iter().map(u64::from).collect();
                Mpi::WinSync { how: Epoch::named(name)?, window, members: self.lists.number(members) }
            }
        })
    }
}
