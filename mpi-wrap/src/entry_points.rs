//! The table of entry points, and what makes functions of it.
//!
//! A line is the language (`all`, or one of them), the MPI function with its arguments and their kinds (the types of
//! [`Language`](crate::language::Language)), the form of call in [`calls`](crate::calls), the argument that the form
//! may replace, and after the call's name in the trace the arguments that the form needs.

/// Defines all entry points, recording through this implementation of [`Recorder`](crate::Recorder).
///
/// Under `cfg(test)` they get no symbol names: a test program must not define the functions of MPI.
#[macro_export]
macro_rules! mpi_entry_points {
    ($recorder:ty) => { $crate::mpi_entry_point_table! { $recorder;
        c MPI_Init(argc: Ptr, argv: Ptr) = init[] MpiInit();
        fortran MPI_Init() = init[] MpiInit();
        c MPI_Init_thread(argc: Ptr, argv: Ptr, required: Int, provided: Ptr) = init_thread[] MpiInitThread(required);
        fortran MPI_Init_thread(required: Int, provided: Ptr) = init_thread[] MpiInitThread(required);
        all MPI_Finalize() = finalize[] MpiFinalize();
        all MPI_Abort(comm: Handle, code: Int) = abort[] MpiAbort(comm, code);

        all MPI_Send(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiSend(count, datatype, dest, tag, comm);
        all MPI_Bsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiBsend(count, datatype, dest, tag, comm);
        all MPI_Ssend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiSsend(count, datatype, dest, tag, comm);
        all MPI_Rsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiRsend(count, datatype, dest, tag, comm);
        all MPI_Isend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiIsend(count, datatype, dest, tag, comm, request);
        all MPI_Ibsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiIbsend(count, datatype, dest, tag, comm, request);
        all MPI_Issend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiIssend(count, datatype, dest, tag, comm, request);
        all MPI_Irsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiIrsend(count, datatype, dest, tag, comm, request);
        all MPI_Recv(buf: Ptr, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, status: Ptr)
            = receive[status] MpiRecv(count, datatype, source, tag, comm, status);
        all MPI_Irecv(buf: Ptr, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiIrecv(count, datatype, source, tag, comm, request);
        all MPI_Sendrecv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, dest: Int, sendtag: Int,
                recvbuf: Ptr, recvcount: Int, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, status: Ptr)
            = exchange[status] MpiSendrecv(sendcount, sendtype, dest, sendtag, recvcount, recvtype, source, recvtag, comm, status);
        all MPI_Sendrecv_replace(buf: Ptr, count: Int, datatype: Handle, dest: Int, sendtag: Int, source: Int,
                recvtag: Int, comm: Handle, status: Ptr)
            = exchange_in_place[status] MpiSendrecvReplace(count, datatype, dest, sendtag, source, recvtag, comm, status);

        all MPI_Probe(source: Int, tag: Int, comm: Handle, status: Ptr)
            = probe[status] MpiProbe(source, tag, comm, status);
        all MPI_Iprobe(source: Int, tag: Int, comm: Handle, flag: Ptr, status: Ptr)
            = try_probe[status] MpiIprobe(source, tag, comm, flag, status);
        all MPI_Mprobe(source: Int, tag: Int, comm: Handle, message: Ptr, status: Ptr)
            = match_probe[status] MpiMprobe(source, tag, comm, message, status);
        all MPI_Improbe(source: Int, tag: Int, comm: Handle, flag: Ptr, message: Ptr, status: Ptr)
            = try_match_probe[status] MpiImprobe(source, tag, comm, flag, message, status);
        all MPI_Mrecv(buf: Ptr, count: Int, datatype: Handle, message: Ptr, status: Ptr)
            = receive_matched[status] MpiMrecv(count, datatype, message, status);
        all MPI_Imrecv(buf: Ptr, count: Int, datatype: Handle, message: Ptr, request: Ptr)
            = post_matched[] MpiImrecv(count, datatype, message, request);

        all MPI_Send_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiSendInit(count, datatype, dest, tag, comm, request);
        all MPI_Bsend_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiBsendInit(count, datatype, dest, tag, comm, request);
        all MPI_Ssend_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiSsendInit(count, datatype, dest, tag, comm, request);
        all MPI_Rsend_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiRsendInit(count, datatype, dest, tag, comm, request);
        all MPI_Recv_init(buf: Ptr, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
            = post[] MpiRecvInit(count, datatype, source, tag, comm, request);
        all MPI_Start(request: Ptr) = activate[] MpiStart(request);
        all MPI_Startall(count: Int, requests: Ptr) = activate_all[] MpiStartall(count, requests);
        all MPI_Request_free(request: Ptr) = give_up[] MpiRequestFree(request);
        all MPI_Cancel(request: Ptr) = give_up[] MpiCancel(request);

        all MPI_Wait(request: Ptr, status: Ptr) = wait[status] MpiWait(request, status);
        all MPI_Waitall(count: Int, requests: Ptr, statuses: Ptr)
            = wait_all[statuses] MpiWaitall(count, requests, statuses);
        all MPI_Waitany(count: Int, requests: Ptr, index: Ptr, status: Ptr)
            = wait_any[status] MpiWaitany(count, requests, index, status);
        all MPI_Waitsome(incount: Int, requests: Ptr, outcount: Ptr, indices: Ptr, statuses: Ptr)
            = some[statuses] MpiWaitsome(incount, requests, outcount, indices, statuses);
        all MPI_Test(request: Ptr, flag: Ptr, status: Ptr) = test[status] MpiTest(request, flag, status);
        all MPI_Testall(count: Int, requests: Ptr, flag: Ptr, statuses: Ptr)
            = test_all[statuses] MpiTestall(count, requests, flag, statuses);
        all MPI_Testany(count: Int, requests: Ptr, index: Ptr, flag: Ptr, status: Ptr)
            = test_any[status] MpiTestany(count, requests, index, flag, status);
        all MPI_Testsome(incount: Int, requests: Ptr, outcount: Ptr, indices: Ptr, statuses: Ptr)
            = some[statuses] MpiTestsome(incount, requests, outcount, indices, statuses);

        all MPI_Barrier(comm: Handle) = barrier[] MpiBarrier(comm);
        all MPI_Bcast(buf: Ptr, count: Int, datatype: Handle, root: Int, comm: Handle)
            = broadcast[] MpiBcast(count, datatype, root, comm);
        all MPI_Reduce(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, root: Int, comm: Handle)
            = reduce[] MpiReduce(count, datatype, root, comm);
        all MPI_Allreduce(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle)
            = reduce_to_all[] MpiAllreduce(count, datatype, comm);
        all MPI_Gather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                root: Int, comm: Handle)
            = gather[] MpiGather(sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm);
        all MPI_Gatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ptr, displs: Ptr,
                recvtype: Handle, root: Int, comm: Handle)
            = gather_varying[] MpiGatherv(sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm);
        all MPI_Scatter(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                root: Int, comm: Handle)
            = scatter[] MpiScatter(sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
        all MPI_Scatterv(sendbuf: Ptr, sendcounts: Ptr, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, root: Int, comm: Handle)
            = scatter_varying[] MpiScatterv(sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm);
        all MPI_Allgather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle)
            = gather_to_all[] MpiAllgather(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
        all MPI_Allgatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ptr, displs: Ptr,
                recvtype: Handle, comm: Handle)
            = gather_varying_to_all[] MpiAllgatherv(sendbuf, sendcount, sendtype, recvcounts, recvtype, comm);
        all MPI_Alltoall(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                comm: Handle)
            = all_to_all[] MpiAlltoall(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
        all MPI_Alltoallv(sendbuf: Ptr, sendcounts: Ptr, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr, recvcounts: Ptr,
                rdispls: Ptr, recvtype: Handle, comm: Handle)
            = all_to_all_varying[] MpiAlltoallv(sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm);
        all MPI_Alltoallw(sendbuf: Ptr, sendcounts: Ptr, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts: Ptr,
                rdispls: Ptr, recvtypes: Ptr, comm: Handle)
            = all_to_all_typed[] MpiAlltoallw(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm);
        all MPI_Reduce_scatter(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Ptr, datatype: Handle, op: Handle, comm: Handle)
            = reduce_scatter[] MpiReduceScatter(recvcounts, datatype, comm);
        all MPI_Reduce_scatter_block(sendbuf: Ptr, recvbuf: Ptr, recvcount: Int, datatype: Handle, op: Handle,
                comm: Handle)
            = reduce_scatter_block[] MpiReduceScatterBlock(recvcount, datatype, comm);
        all MPI_Scan(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle)
            = reduce_to_all[] MpiScan(count, datatype, comm);
        all MPI_Exscan(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle)
            = exclusive_scan[] MpiExscan(count, datatype, comm);

        all MPI_Comm_dup(comm: Handle, newcomm: Ptr) = create[] MpiCommDup(comm, newcomm);
        all MPI_Comm_split(comm: Handle, color: Int, key: Int, newcomm: Ptr) = create[] MpiCommSplit(comm, newcomm);
        all MPI_Comm_create(comm: Handle, group: Handle, newcomm: Ptr) = create[] MpiCommCreate(comm, newcomm);
        all MPI_Comm_create_group(comm: Handle, group: Handle, tag: Int, newcomm: Ptr)
            = create[] MpiCommCreateGroup(comm, newcomm);
        all MPI_Comm_split_type(comm: Handle, split_type: Int, key: Int, info: Handle, newcomm: Ptr)
            = create[] MpiCommSplitType(comm, newcomm);
        all MPI_Cart_create(comm: Handle, ndims: Int, dims: Ptr, periods: Ptr, reorder: Int, newcomm: Ptr)
            = create[] MpiCartCreate(comm, newcomm);
        all MPI_Cart_sub(comm: Handle, remain_dims: Ptr, newcomm: Ptr) = create[] MpiCartSub(comm, newcomm);
        all MPI_Graph_create(comm: Handle, nnodes: Int, index: Ptr, edges: Ptr, reorder: Int, newcomm: Ptr)
            = create[] MpiGraphCreate(comm, newcomm);
        all MPI_Dist_graph_create(comm: Handle, n: Int, sources: Ptr, degrees: Ptr, destinations: Ptr, weights: Ptr,
                info: Handle, reorder: Int, newcomm: Ptr)
            = create[] MpiDistGraphCreate(comm, newcomm);
        all MPI_Dist_graph_create_adjacent(comm: Handle, indegree: Int, sources: Ptr, sourceweights: Ptr, outdegree: Int,
                destinations: Ptr, destweights: Ptr, info: Handle, reorder: Int, newcomm: Ptr)
            = create[] MpiDistGraphCreateAdjacent(comm, newcomm);
        all MPI_Intercomm_create(comm: Handle, local_leader: Int, peer_comm: Handle, remote_leader: Int, tag: Int,
                newcomm: Ptr)
            = create[] MpiIntercommCreate(comm, newcomm);
        all MPI_Intercomm_merge(comm: Handle, high: Int, newcomm: Ptr) = create[] MpiIntercommMerge(comm, newcomm);
        all MPI_Comm_dup_with_info(comm: Handle, info: Handle, newcomm: Ptr)
            = create[] MpiCommDupWithInfo(comm, newcomm);
        all MPI_Comm_free(comm: Ptr) = release[] MpiCommFree(comm);
        all MPI_Comm_disconnect(comm: Ptr) = release[] MpiCommDisconnect(comm);
    } };
}

/// Makes functions of the lines of the table, and a list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_entry_point_table {
    ($recorder:ty; $( $language:ident $name:ident ( $($argument:ident : $kind:ident),* )
        = $form:ident [ $($replaced:ident)? ] $call:ident ( $($used:ident),* ); )*) => {
        $( $crate::mpi_entry_point! { $language $recorder; $name ( $($argument : $kind),* )
            = $form [ $($replaced)? ] $call ( $($used),* ) } )*

        /// The MPI functions that have entry points, and the calls they are recorded as.
        #[allow(dead_code)]
        pub const MPI_ENTRY_POINTS: &[(&str, $crate::Call)] =
            &[ $( (stringify!($name), $crate::Call::$call) ),* ];
    };
}

/// Makes the functions of one line.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_entry_point {
    (all $($line:tt)*) => {
        $crate::mpi_entry_point! { c $($line)* }
        $crate::mpi_entry_point! { fortran $($line)* }
    };

    (c $recorder:ty; $name:ident ( $($argument:ident : $kind:ident),* )
        = $form:ident [ $($replaced:ident)? ] $call:ident ( $($used:ident),* )) => { const _: () = {
        use $crate::language::C as Binding;
        use $crate::symbol::{NO_SUCH_FUNCTION, Symbol, c_name};

        /// The C binding.
        ///
        /// # Safety
        /// As the MPI function.
        #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name(
            $($argument: <Binding as $crate::language::Language>::$kind),*
        ) -> ::core::ffi::c_int {
            // A profiling library behind the shim, if there is one, or else MPI itself.
            static REAL: Symbol = Symbol::new(&[
                c_name(concat!(stringify!($name), "\0")),
                c_name(concat!("P", stringify!($name), "\0")),
            ]);
            type Real = unsafe extern "C-unwind" fn(
                $(<Binding as $crate::language::Language>::$kind),*
            ) -> ::core::ffi::c_int;
            let Some(found) = REAL.find() else { return NO_SUCH_FUNCTION };
            // SAFETY: the function of this name has this signature.
            let real = unsafe { ::core::mem::transmute::<*mut ::core::ffi::c_void, Real>(found.address) };
            // SAFETY: the application's own arguments.
            unsafe {
                $crate::calls::$form::<$recorder, Binding>(
                    $crate::Call::$call,
                    |$($replaced)?| real($($argument),*),
                    $($used),*
                )
            }
        }
    }; };

    (fortran $recorder:ty; $name:ident ( $($argument:ident : $kind:ident),* )
        = $form:ident [ $($replaced:ident)? ] $call:ident ( $($used:ident),* )) => {
    $crate::pastey::paste! { const _: () = {
        use $crate::language::Fortran as Binding;
        use $crate::symbol::{NO_SUCH_FUNCTION, Symbol, c_name};

        type Real = unsafe extern "C-unwind" fn(
            $(<Binding as $crate::language::Language>::$kind,)* *mut ::core::ffi::c_int
        );

        /// What all spellings of the Fortran name do; they are subroutines and return nothing.
        #[allow(dead_code, clippy::too_many_arguments)]
        #[inline(never)]
        unsafe fn call(
            symbol: &'static Symbol,
            $($argument: <Binding as $crate::language::Language>::$kind,)*
            error: *mut ::core::ffi::c_int,
        ) {
            let Some(found) = symbol.find() else {
                if !error.is_null() {
                    // SAFETY: the place for the error code, which is absent (null) at most in mpi_f08.
                    unsafe { error.write(NO_SUCH_FUNCTION) };
                }
                return;
            };
            // SAFETY: the function of this name has this signature.
            let real = unsafe { ::core::mem::transmute::<*mut ::core::ffi::c_void, Real>(found.address) };
            let mut own = 0;
            let error = if error.is_null() { &raw mut own } else { error };
            // SAFETY: the application's own arguments; the real call sets the error code.
            unsafe {
                $crate::calls::$form::<$recorder, Binding>(
                    $crate::Call::$call,
                    |$($replaced)?| {
                        real($($argument,)* error);
                        error.read()
                    },
                    $($used),*
                );
            }
        }

        // gfortran and most others; with a second underscore (g77, -fsecond-underscore).
        static UNDERSCORED: Symbol = Symbol::new(&[
            c_name(concat!(stringify!([<$name:lower _>]), "\0")),
            c_name(concat!(stringify!([<$name:lower __>]), "\0")),
            c_name(concat!("p", stringify!([<$name:lower _>]), "\0")),
            c_name(concat!("p", stringify!([<$name:lower __>]), "\0")),
        ]);
        // The mpi_f08 module, where it does not call one of the above.
        static F08: Symbol = Symbol::new(&[
            c_name(concat!(stringify!([<$name:lower _f08_>]), "\0")),
            c_name(concat!("p", stringify!([<$name:lower _f08_>]), "\0")),
        ]);

        $crate::mpi_spelling! { [<$name:lower _>] UNDERSCORED ( $($argument : $kind),* ) }
        $crate::mpi_spelling! { [<$name:lower __>] UNDERSCORED ( $($argument : $kind),* ) }
        $crate::mpi_spelling! { [<$name:lower _f08_>] F08 ( $($argument : $kind),* ) }
        // IBM XL; old Cray compilers.
        $crate::mpi_plain_spelling! { [<$name:lower>] "p" ( $($argument : $kind),* ) }
        $crate::mpi_plain_spelling! { [<$name:upper>] "P" ( $($argument : $kind),* ) }
    }; } };
}

/// A spelling of a Fortran name that nobody else uses.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_spelling {
    ($spelling:ident $symbol:ident ( $($argument:ident : $kind:ident),* )) => {
        /// The Fortran binding in one of its spellings.
        ///
        /// # Safety
        /// As the MPI function.
        #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $spelling(
            $($argument: <Binding as $crate::language::Language>::$kind,)*
            error: *mut ::core::ffi::c_int,
        ) {
            // SAFETY: the caller's own arguments.
            unsafe { call(&$symbol, $($argument,)* error) }
        }
    };
}

/// A spelling of a Fortran name that is a good name for a C function, too: a library may have an `mpi_init` of its
/// own. That one gets what the caller passed, six words at least, as many as there are registers for them.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_plain_spelling {
    ($spelling:ident $profiling:literal ( $($argument:ident : $kind:ident),* )) => {
        /// The Fortran binding in one of its spellings.
        ///
        /// # Safety
        /// As the function of this name.
        #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $spelling(
            $($argument: <Binding as $crate::language::Language>::$kind,)*
            error: *mut ::core::ffi::c_int,
            more1: usize, more2: usize, more3: usize, more4: usize, more5: usize,
        ) -> usize {
            static REAL: Symbol = Symbol::confirmed(
                &[c_name(concat!(stringify!($spelling), "\0"))],
                &[c_name(concat!($profiling, stringify!($spelling), "\0"))],
            );
            type Foreign = unsafe extern "C-unwind" fn(
                $(<Binding as $crate::language::Language>::$kind,)* *mut ::core::ffi::c_int,
                usize, usize, usize, usize, usize
            ) -> usize;
            match REAL.find() {
                Some(found) if found.foreign => {
                    // SAFETY: any function, called with what its caller passed and the words behind it.
                    unsafe {
                        ::core::mem::transmute::<*mut ::core::ffi::c_void, Foreign>(found.address)(
                            $($argument,)* error, more1, more2, more3, more4, more5
                        )
                    }
                }
                Some(_) => {
                    // SAFETY: the caller's own arguments.
                    unsafe { call(&REAL, $($argument,)* error) };
                    0
                }
                None => NO_SUCH_FUNCTION as usize,
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use core::ptr::NonNull;
    use std::collections::HashSet;
    use syn_trace::{Call, Layer};

    /// Records nothing: here the table only has to compile.
    struct Nothing;

    // SAFETY: `enter` never opens a call, so no memory is ever asked for.
    unsafe impl crate::Recorder for Nothing {
        type Open = ();
        fn enter(_: Call) -> Option<()> {
            None
        }
        fn enter_poll(_: Call, _: bool) -> Option<()> {
            None
        }
        fn count_in_vain<const N: usize>((): (), _: Call, _: &[i64; N]) -> bool {
            unreachable!("no call is open")
        }
        fn returned((): ()) {}
        fn leave<const N: usize>((): (), _: Call, _: i64, _: &[i64; N], _: &[&[u8]], _: &[i64]) {}
        fn part<const N: usize>((): (), _: Call, _: i64, _: &[i64; N], _: &[i64]) {}
        fn abandon((): ()) {}
        fn began<const N: usize>((): (), _: Call, _: &[i64; N]) {}
        fn world(_: i32, _: i32, _: u32) {}
        fn unsupported(_: &[u8]) {}
        fn scratch((): (), _: usize) -> (NonNull<u8>, usize) {
            unreachable!("no call is open")
        }
    }

    mpi_entry_points!(Nothing);

    #[test]
    fn every_mpi_call_of_the_trace_has_an_entry_point_of_its_name() {
        let defined: HashSet<_> = MPI_ENTRY_POINTS.iter().copied().collect();
        let known: HashSet<_> = Call::ALL
            .iter()
            .filter(|call| call.layer() == Layer::Mpi)
            .map(|&call| (call.name(), call))
            .collect();
        assert_eq!(defined, known);
    }
}
