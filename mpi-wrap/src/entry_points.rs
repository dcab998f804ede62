//! The table of entry points, and what makes functions of it.
//!
//! A line is the language (`all`, or one of them), the MPI function with its arguments and their kinds (the types of
//! [`Language`](crate::language::Language)), the form of call in [`calls`](crate::calls), the argument that the form
//! may replace, and after the call's name in the trace the arguments that the form needs; of the form `record` the
//! numbers of the record instead. In Fortran the lengths of texts stand behind a semicolon: they come after the error
//! code. `counted` is all languages and the large-count function (`_c`) besides, in which each `Count` is an
//! `MPI_Count`. `collective` is all of that three times: blocking, non-blocking and persistent.

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

        counted MPI_Send(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiSend(count, datatype, dest, tag, comm);
        counted MPI_Bsend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiBsend(count, datatype, dest, tag, comm);
        counted MPI_Ssend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiSsend(count, datatype, dest, tag, comm);
        counted MPI_Rsend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
            = send[] MpiRsend(count, datatype, dest, tag, comm);
        counted MPI_Isend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = isend_irecv[] MpiIsend(count, datatype, dest, tag, comm, request);
        counted MPI_Ibsend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = isend_irecv[] MpiIbsend(count, datatype, dest, tag, comm, request);
        counted MPI_Issend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = isend_irecv[] MpiIssend(count, datatype, dest, tag, comm, request);
        counted MPI_Irsend(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = isend_irecv[] MpiIrsend(count, datatype, dest, tag, comm, request);
        counted MPI_Recv(buf: Ptr, count: Count, datatype: Handle, source: Int, tag: Int, comm: Handle, status: Ptr)
            = receive[status] MpiRecv(count, datatype, source, tag, comm, status);
        counted MPI_Irecv(buf: Ptr, count: Count, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
            = isend_irecv[] MpiIrecv(count, datatype, source, tag, comm, request);
        counted MPI_Sendrecv(sendbuf: Ptr, sendcount: Count, sendtype: Handle, dest: Int, sendtag: Int,
                recvbuf: Ptr, recvcount: Count, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, status: Ptr)
            = sendrecv[status] MpiSendrecv(sendcount, sendtype, dest, sendtag, recvcount, recvtype, source, recvtag,
                comm, status);
        counted MPI_Sendrecv_replace(buf: Ptr, count: Count, datatype: Handle, dest: Int, sendtag: Int, source: Int,
                recvtag: Int, comm: Handle, status: Ptr)
            = sendrecv_replace[status] MpiSendrecvReplace(count, datatype, dest, sendtag, source, recvtag, comm,
                status);

        all MPI_Probe(source: Int, tag: Int, comm: Handle, status: Ptr)
            = probe[status] MpiProbe(source, tag, comm, status);
        all MPI_Iprobe(source: Int, tag: Int, comm: Handle, flag: Ptr, status: Ptr)
            = try_probe[status] MpiIprobe(source, tag, comm, flag, status);
        all MPI_Mprobe(source: Int, tag: Int, comm: Handle, message: Ptr, status: Ptr)
            = match_probe[status] MpiMprobe(source, tag, comm, message, status);
        all MPI_Improbe(source: Int, tag: Int, comm: Handle, flag: Ptr, message: Ptr, status: Ptr)
            = try_match_probe[status] MpiImprobe(source, tag, comm, flag, message, status);
        counted MPI_Mrecv(buf: Ptr, count: Count, datatype: Handle, message: Ptr, status: Ptr)
            = mrecv[status] MpiMrecv(count, datatype, message, status);
        counted MPI_Imrecv(buf: Ptr, count: Count, datatype: Handle, message: Ptr, request: Ptr)
            = imrecv[] MpiImrecv(count, datatype, message, request);

        counted MPI_Send_init(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
            = isend_irecv[] MpiSendInit(count, datatype, dest, tag, comm, request);
        counted MPI_Bsend_init(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                request: Ptr)
            = isend_irecv[] MpiBsendInit(count, datatype, dest, tag, comm, request);
        counted MPI_Ssend_init(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                request: Ptr)
            = isend_irecv[] MpiSsendInit(count, datatype, dest, tag, comm, request);
        counted MPI_Rsend_init(buf: Ptr, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                request: Ptr)
            = isend_irecv[] MpiRsendInit(count, datatype, dest, tag, comm, request);
        counted MPI_Recv_init(buf: Ptr, count: Count, datatype: Handle, source: Int, tag: Int, comm: Handle,
                request: Ptr)
            = isend_irecv[] MpiRecvInit(count, datatype, source, tag, comm, request);
        all MPI_Start(request: Ptr) = start[] MpiStart(request);
        all MPI_Startall(count: Int, requests: Ptr) = start_all[] MpiStartall(count, requests);
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

        all MPI_Barrier(comm: Handle) = barrier[] MpiBarrier(comm, NO_REQUEST);
        all MPI_Ibarrier(comm: Handle, request: Ptr) = barrier[] MpiIBarrier(comm, request);
        all MPI_Barrier_init(comm: Handle, info: Handle, request: Ptr) = barrier[] MpiBarrierInit(comm, request);
        collective Bcast(buf: Ptr, count: Count, datatype: Handle, root: Int, comm: Handle)
            = broadcast(count, datatype, root, comm);
        collective Reduce(sendbuf: Ptr, recvbuf: Ptr, count: Count, datatype: Handle, op: Handle, root: Int,
                comm: Handle)
            = reduce(count, datatype, root, comm);
        collective Allreduce(sendbuf: Ptr, recvbuf: Ptr, count: Count, datatype: Handle, op: Handle, comm: Handle)
            = reduce_to_all(count, datatype, comm);
        collective Gather(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcount: Count,
                recvtype: Handle, root: Int, comm: Handle)
            = gather(sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm);
        collective Gatherv(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcounts: Ptr,
                displs: Ptr, recvtype: Handle, root: Int, comm: Handle)
            = gather_varying(sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm);
        collective Scatter(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcount: Count,
                recvtype: Handle, root: Int, comm: Handle)
            = scatter(sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
        collective Scatterv(sendbuf: Ptr, sendcounts: Ptr, displs: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcount: Count, recvtype: Handle, root: Int, comm: Handle)
            = scatter_varying(sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm);
        collective Allgather(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcount: Count,
                recvtype: Handle, comm: Handle)
            = gather_to_all(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
        collective Allgatherv(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcounts: Ptr,
                displs: Ptr, recvtype: Handle, comm: Handle)
            = gather_varying_to_all(sendbuf, sendcount, sendtype, recvcounts, recvtype, comm);
        collective Alltoall(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcount: Count,
                recvtype: Handle, comm: Handle)
            = all_to_all(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
        collective Alltoallv(sendbuf: Ptr, sendcounts: Ptr, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Ptr, rdispls: Ptr, recvtype: Handle, comm: Handle)
            = all_to_all_varying(sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm);
        collective Alltoallw(sendbuf: Ptr, sendcounts: Ptr, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Ptr, rdispls: Ptr, recvtypes: Ptr, comm: Handle)
            = all_to_all_typed(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm);
        collective Reduce_scatter(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Ptr, datatype: Handle, op: Handle,
                comm: Handle)
            = reduce_scatter(recvcounts, datatype, comm);
        collective Reduce_scatter_block(sendbuf: Ptr, recvbuf: Ptr, recvcount: Count, datatype: Handle, op: Handle,
                comm: Handle)
            = reduce_scatter_block(recvcount, datatype, comm);
        collective Scan(sendbuf: Ptr, recvbuf: Ptr, count: Count, datatype: Handle, op: Handle, comm: Handle)
            = reduce_to_all(count, datatype, comm);
        collective Exscan(sendbuf: Ptr, recvbuf: Ptr, count: Count, datatype: Handle, op: Handle, comm: Handle)
            = exclusive_scan(count, datatype, comm);
        collective Neighbor_allgather(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr,
                recvcount: Count, recvtype: Handle, comm: Handle)
            = neighbour_gather(sendcount, sendtype, recvcount, recvtype, comm);
        collective Neighbor_allgatherv(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Ptr, displs: Ptr, recvtype: Handle, comm: Handle)
            = neighbour_gather_varying(sendcount, sendtype, recvcounts, recvtype, comm);
        collective Neighbor_alltoall(sendbuf: Ptr, sendcount: Count, sendtype: Handle, recvbuf: Ptr, recvcount: Count,
                recvtype: Handle, comm: Handle)
            = neighbour_all_to_all(sendcount, sendtype, recvcount, recvtype, comm);
        collective Neighbor_alltoallv(sendbuf: Ptr, sendcounts: Ptr, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Ptr, rdispls: Ptr, recvtype: Handle, comm: Handle)
            = neighbour_all_to_all_varying(sendcounts, sendtype, recvcounts, recvtype, comm);
        collective Neighbor_alltoallw(sendbuf: Ptr, sendcounts: Ptr, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Ptr, rdispls: Ptr, recvtypes: Ptr, comm: Handle)
            = neighbour_all_to_all_typed(sendcounts, sendtypes, recvcounts, recvtypes, comm);

        all MPI_Comm_dup(comm: Handle, newcomm: Ptr) = create[] MpiCommDup(comm, newcomm);
        all MPI_Comm_split(comm: Handle, color: Int, key: Int, newcomm: Ptr) = create[] MpiCommSplit(comm, newcomm);
        all MPI_Comm_create(comm: Handle, group: Handle, newcomm: Ptr) = create[] MpiCommCreate(comm, newcomm);
        all MPI_Comm_create_group(comm: Handle, group: Handle, tag: Int, newcomm: Ptr)
            = create[] MpiCommCreateGroup(comm, newcomm);
        all MPI_Comm_split_type(comm: Handle, split_type: Int, key: Int, info: Handle, newcomm: Ptr)
            = create[] MpiCommSplitType(comm, newcomm);
        all MPI_Cart_create(comm: Handle, ndims: Int, dims: Ptr, periods: Ptr, reorder: Int, newcomm: Ptr)
            = create_topology[] MpiCartCreate(comm, newcomm);
        all MPI_Cart_sub(comm: Handle, remain_dims: Ptr, newcomm: Ptr) = create_topology[] MpiCartSub(comm, newcomm);
        all MPI_Graph_create(comm: Handle, nnodes: Int, index: Ptr, edges: Ptr, reorder: Int, newcomm: Ptr)
            = create_topology[] MpiGraphCreate(comm, newcomm);
        all MPI_Dist_graph_create(comm: Handle, n: Int, sources: Ptr, degrees: Ptr, destinations: Ptr, weights: Ptr,
                info: Handle, reorder: Int, newcomm: Ptr)
            = create_topology[] MpiDistGraphCreate(comm, newcomm);
        all MPI_Dist_graph_create_adjacent(comm: Handle, indegree: Int, sources: Ptr, sourceweights: Ptr,
                outdegree: Int,
                destinations: Ptr, destweights: Ptr, info: Handle, reorder: Int, newcomm: Ptr)
            = create_topology[] MpiDistGraphCreateAdjacent(comm, newcomm);
        all MPI_Intercomm_create(comm: Handle, local_leader: Int, peer_comm: Handle, remote_leader: Int, tag: Int,
                newcomm: Ptr)
            = create[] MpiIntercommCreate(comm, newcomm);
        all MPI_Intercomm_merge(comm: Handle, high: Int, newcomm: Ptr) = create[] MpiIntercommMerge(comm, newcomm);
        all MPI_Comm_dup_with_info(comm: Handle, info: Handle, newcomm: Ptr)
            = create[] MpiCommDupWithInfo(comm, newcomm);
        all MPI_Comm_free(comm: Ptr) = release[] MpiCommFree(comm);
        all MPI_Comm_disconnect(comm: Ptr) = release[] MpiCommDisconnect(comm);

        counted MPI_Isendrecv(sendbuf: Ptr, sendcount: Count, sendtype: Handle, dest: Int, sendtag: Int, recvbuf: Ptr,
                recvcount: Count, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, request: Ptr)
            = record[] MpiIsendrecv(bytes(sendcount, sendtype), rank(dest), tag(sendtag), bytes(recvcount, recvtype),
                rank(source), tag(recvtag), on(comm), new_request(request));
        counted MPI_Isendrecv_replace(buf: Ptr, count: Count, datatype: Handle, dest: Int, sendtag: Int, source: Int,
                recvtag: Int, comm: Handle, request: Ptr)
            = record[] MpiIsendrecvReplace(bytes(count, datatype), rank(dest), tag(sendtag), bytes(count, datatype),
                rank(source), tag(recvtag), on(comm), new_request(request));
        all MPI_Psend_init(buf: Ptr, partitions: Int, count: Long, datatype: Handle, dest: Int, tag: Int,
                comm: Handle, info: Handle, request: Ptr)
            = record[] MpiPsendInit(long_bytes(count, datatype), rank(dest), tag(tag), on(comm), new_request(request),
                int(partitions));
        all MPI_Precv_init(buf: Ptr, partitions: Int, count: Long, datatype: Handle, source: Int, tag: Int,
                comm: Handle, info: Handle, request: Ptr)
            = record[] MpiPrecvInit(long_bytes(count, datatype), rank(source), tag(tag), on(comm),
                new_request(request), int(partitions));
        all MPI_Pready(partition: Int, request: Handle)
            = record[] MpiPready(int(partition), request(request));
        all MPI_Pready_range(low: Int, high: Int, request: Handle)
            = record[] MpiPreadyRange(int(low), int(high), request(request));
        all MPI_Pready_list(length: Int, partitions: Ptr, request: Handle)
            = record[] MpiPreadyList(int(length), request(request));
        all MPI_Parrived(request: Handle, partition: Int, flag: Ptr)
            = record[] MpiParrived(request(request), int(partition), flag(flag));
        all MPI_Request_get_status(request: Handle, flag: Ptr, status: Ptr)
            = record[] MpiRequestGetStatus(request(request), flag(flag));
        counted MPI_Buffer_detach(buf: Ptr, size: Ptr)
            = record[] MpiBufferDetach();
        all MPI_Buffer_flush()
            = record[] MpiBufferFlush();

        counted MPI_Win_create(base: Ptr, size: Long, disp_unit: Count, info: Handle, comm: Handle, win: Ptr)
            = record[] MpiWinCreate(long(size), count(disp_unit), on(comm), new_window(win));
        counted MPI_Win_allocate(size: Long, disp_unit: Count, info: Handle, comm: Handle, base: Ptr, win: Ptr)
            = record[] MpiWinAllocate(long(size), count(disp_unit), on(comm), new_window(win));
        counted MPI_Win_allocate_shared(size: Long, disp_unit: Count, info: Handle, comm: Handle, base: Ptr, win: Ptr)
            = record[] MpiWinAllocateShared(long(size), count(disp_unit), on(comm), new_window(win));
        all MPI_Win_create_dynamic(info: Handle, comm: Handle, win: Ptr)
            = record[] MpiWinCreateDynamic(on(comm), new_window(win));
        all MPI_Win_free(win: Ptr)
            = free_window[] MpiWinFree(win);
        all MPI_Win_fence(assertion: Int, win: Handle)
            = record[] MpiWinFence(window(win));
        all MPI_Win_start(group: Handle, assertion: Int, win: Handle)
            = open_epoch[] MpiWinStart(group, win);
        all MPI_Win_post(group: Handle, assertion: Int, win: Handle)
            = open_epoch[] MpiWinPost(group, win);
        all MPI_Win_complete(win: Handle)
            = record[] MpiWinComplete(window(win));
        all MPI_Win_wait(win: Handle)
            = record[] MpiWinWait(window(win));
        all MPI_Win_unlock_all(win: Handle)
            = record[] MpiWinUnlockAll(window(win));
        all MPI_Win_flush_all(win: Handle)
            = record[] MpiWinFlushAll(window(win));
        all MPI_Win_flush_local_all(win: Handle)
            = record[] MpiWinFlushLocalAll(window(win));
        all MPI_Win_test(win: Handle, flag: Ptr)
            = record[] MpiWinTest(window(win), flag(flag));
        all MPI_Win_lock(lock_type: Int, rank: Int, assertion: Int, win: Handle)
            = record[] MpiWinLock(window(win), rank(rank), exclusive(lock_type));
        all MPI_Win_lock_all(assertion: Int, win: Handle)
            = record[] MpiWinLockAll(window(win));
        all MPI_Win_unlock(rank: Int, win: Handle)
            = record[] MpiWinUnlock(window(win), rank(rank));
        all MPI_Win_flush(rank: Int, win: Handle)
            = record[] MpiWinFlush(window(win), rank(rank));
        all MPI_Win_flush_local(rank: Int, win: Handle)
            = record[] MpiWinFlushLocal(window(win), rank(rank));
        counted MPI_Put(origin: Ptr, count: Count, datatype: Handle, target: Int, disp: Long, target_count: Count,
                target_type: Handle, win: Handle)
            = record[] MpiPut(bytes(target_count, target_type), rank(target), long(disp), window(win));
        counted MPI_Rput(origin: Ptr, count: Count, datatype: Handle, target: Int, disp: Long, target_count: Count,
                target_type: Handle, win: Handle, request: Ptr)
            = record[] MpiRput(bytes(target_count, target_type), rank(target), long(disp), window(win),
                new_request(request));
        counted MPI_Get(origin: Ptr, count: Count, datatype: Handle, target: Int, disp: Long, target_count: Count,
                target_type: Handle, win: Handle)
            = record[] MpiGet(bytes(target_count, target_type), rank(target), long(disp), window(win));
        counted MPI_Rget(origin: Ptr, count: Count, datatype: Handle, target: Int, disp: Long, target_count: Count,
                target_type: Handle, win: Handle, request: Ptr)
            = record[] MpiRget(bytes(target_count, target_type), rank(target), long(disp), window(win),
                new_request(request));
        counted MPI_Accumulate(origin: Ptr, count: Count, datatype: Handle, target: Int, disp: Long,
                target_count: Count, target_type: Handle, op: Handle, win: Handle)
            = record[] MpiAccumulate(bytes(target_count, target_type), rank(target), long(disp), window(win));
        counted MPI_Raccumulate(origin: Ptr, count: Count, datatype: Handle, target: Int, disp: Long,
                target_count: Count, target_type: Handle, op: Handle, win: Handle, request: Ptr)
            = record[] MpiRaccumulate(bytes(target_count, target_type), rank(target), long(disp), window(win),
                new_request(request));
        counted MPI_Get_accumulate(origin: Ptr, count: Count, datatype: Handle, result: Ptr, result_count: Count,
                result_type: Handle, target: Int, disp: Long, target_count: Count, target_type: Handle, op: Handle,
                win: Handle)
            = record[] MpiGetAccumulate(bytes(target_count, target_type), rank(target), long(disp), window(win));
        counted MPI_Rget_accumulate(origin: Ptr, count: Count, datatype: Handle, result: Ptr, result_count: Count,
                result_type: Handle, target: Int, disp: Long, target_count: Count, target_type: Handle, op: Handle,
                win: Handle, request: Ptr)
            = record[] MpiRgetAccumulate(bytes(target_count, target_type), rank(target), long(disp), window(win),
                new_request(request));
        all MPI_Fetch_and_op(origin: Ptr, result: Ptr, datatype: Handle, target: Int, disp: Long, op: Handle,
                win: Handle)
            = record[] MpiFetchAndOp(size_of(datatype), rank(target), long(disp), window(win));
        all MPI_Compare_and_swap(origin: Ptr, compare: Ptr, result: Ptr, datatype: Handle, target: Int, disp: Long,
                win: Handle)
            = record[] MpiCompareAndSwap(size_of(datatype), rank(target), long(disp), window(win));

        c MPI_Comm_spawn(command: Ptr, argv: Ptr, maxprocs: Int, info: Handle, root: Int, comm: Handle,
                intercomm: Ptr, codes: Ptr)
            = spawn[] MpiCommSpawn(maxprocs, root, comm, intercomm);
        fortran MPI_Comm_spawn(command: Ptr, argv: Ptr, maxprocs: Int, info: Handle, root: Int, comm: Handle,
                intercomm: Ptr, codes: Ptr; length1, length2)
            = spawn[] MpiCommSpawn(maxprocs, root, comm, intercomm);
        c MPI_Comm_spawn_multiple(count: Int, commands: Ptr, argv: Ptr, maxprocs: Ptr, info: Ptr, root: Int,
                comm: Handle, intercomm: Ptr, codes: Ptr)
            = spawn[] MpiCommSpawnMultiple(count, root, comm, intercomm);
        fortran MPI_Comm_spawn_multiple(count: Int, commands: Ptr, argv: Ptr, maxprocs: Ptr, info: Ptr,
                root: Int, comm: Handle, intercomm: Ptr, codes: Ptr; length1, length2)
            = spawn[] MpiCommSpawnMultiple(count, root, comm, intercomm);
        c MPI_Comm_accept(port: Ptr, info: Handle, root: Int, comm: Handle, newcomm: Ptr)
            = record[] MpiCommAccept(rank(root), on(comm), new_comm(newcomm));
        fortran MPI_Comm_accept(port: Ptr, info: Handle, root: Int, comm: Handle, newcomm: Ptr; length1, length2)
            = record[] MpiCommAccept(rank(root), on(comm), new_comm(newcomm));
        c MPI_Comm_connect(port: Ptr, info: Handle, root: Int, comm: Handle, newcomm: Ptr)
            = record[] MpiCommConnect(rank(root), on(comm), new_comm(newcomm));
        fortran MPI_Comm_connect(port: Ptr, info: Handle, root: Int, comm: Handle, newcomm: Ptr; length1, length2)
            = record[] MpiCommConnect(rank(root), on(comm), new_comm(newcomm));
        all MPI_Comm_join(fd: Int, intercomm: Ptr)
            = record[] MpiCommJoin(new_comm(intercomm));

        c MPI_File_open(comm: Handle, filename: Ptr, amode: Int, info: Handle, fh: Ptr)
            = open_file[] MpiFileOpen(comm, filename, None, amode, info, fh);
        fortran MPI_File_open(comm: Handle, filename: Ptr, amode: Int, info: Handle, fh: Ptr; length1, length2)
            = open_file[] MpiFileOpen(comm, filename, Some(length1), amode, info, fh);
        all MPI_File_close(fh: Ptr)
            = close_file[] MpiFileClose(fh);
        c MPI_File_delete(filename: Ptr, info: Handle)
            = delete_file[] MpiFileDelete(filename, None);
        fortran MPI_File_delete(filename: Ptr, info: Handle; length1, length2)
            = delete_file[] MpiFileDelete(filename, Some(length1));
        all MPI_File_set_size(fh: Handle, size: Long)
            = record[] MpiFileSetSize(long(size), file(fh));
        all MPI_File_preallocate(fh: Handle, size: Long)
            = record[] MpiFilePreallocate(long(size), file(fh));
        all MPI_File_get_size(fh: Handle, size: Ptr)
            = record[] MpiFileGetSize(file(fh));
        c MPI_File_set_view(fh: Handle, disp: Long, etype: Handle, filetype: Handle, datarep: Ptr, info: Handle)
            = view_file[] MpiFileSetView(fh, disp, etype, filetype, info);
        fortran MPI_File_set_view(fh: Handle, disp: Long, etype: Handle, filetype: Handle, datarep: Ptr,
                info: Handle; length1, length2)
            = view_file[] MpiFileSetView(fh, disp, etype, filetype, info);
        all MPI_File_sync(fh: Handle)
            = record[] MpiFileSync(file(fh));
        all MPI_File_set_atomicity(fh: Handle, flag: Int)
            = record[] MpiFileSetAtomicity(file(fh), int(flag));
        all MPI_File_set_info(fh: Handle, info: Handle)
            = hint_file[] MpiFileSetInfo(fh, info);
        all MPI_File_seek(fh: Handle, offset: Long, whence: Int)
            = record[] MpiFileSeek(long(offset), whence(whence), file(fh));
        all MPI_File_seek_shared(fh: Handle, offset: Long, whence: Int)
            = record[] MpiFileSeekShared(long(offset), whence(whence), file(fh));
        all MPI_File_get_position_shared(fh: Handle, offset: Ptr)
            = record[] MpiFileGetPositionShared(file(fh));
        counted MPI_File_read_at(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer_at[status] MpiFileReadAt(fh, offset, count, datatype, status);
        counted MPI_File_read_at_all(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer_at[status] MpiFileReadAtAll(fh, offset, count, datatype, status);
        counted MPI_File_read(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileRead(fh, count, datatype, status);
        counted MPI_File_read_all(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileReadAll(fh, count, datatype, status);
        counted MPI_File_read_shared(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileReadShared(fh, count, datatype, status);
        counted MPI_File_read_ordered(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileReadOrdered(fh, count, datatype, status);
        counted MPI_File_write_at(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer_at[status] MpiFileWriteAt(fh, offset, count, datatype, status);
        counted MPI_File_write_at_all(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer_at[status] MpiFileWriteAtAll(fh, offset, count, datatype, status);
        counted MPI_File_write(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileWrite(fh, count, datatype, status);
        counted MPI_File_write_all(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileWriteAll(fh, count, datatype, status);
        counted MPI_File_write_shared(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileWriteShared(fh, count, datatype, status);
        counted MPI_File_write_ordered(fh: Handle, buf: Ptr, count: Count, datatype: Handle, status: Ptr)
            = transfer[status] MpiFileWriteOrdered(fh, count, datatype, status);
        counted MPI_File_iread_at(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIreadAt(bytes(count, datatype), long(offset), file(fh), new_request(request));
        counted MPI_File_iread_at_all(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIreadAtAll(bytes(count, datatype), long(offset), file(fh), new_request(request));
        counted MPI_File_iread(fh: Handle, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIread(bytes(count, datatype), at_pointer(), file(fh), new_request(request));
        counted MPI_File_iread_all(fh: Handle, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIreadAll(bytes(count, datatype), at_pointer(), file(fh), new_request(request));
        counted MPI_File_iread_shared(fh: Handle, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIreadShared(bytes(count, datatype), at_pointer(), file(fh), new_request(request));
        counted MPI_File_iwrite_at(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIwriteAt(bytes(count, datatype), long(offset), file(fh), new_request(request));
        counted MPI_File_iwrite_at_all(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIwriteAtAll(bytes(count, datatype), long(offset), file(fh), new_request(request));
        counted MPI_File_iwrite(fh: Handle, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIwrite(bytes(count, datatype), at_pointer(), file(fh), new_request(request));
        counted MPI_File_iwrite_all(fh: Handle, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIwriteAll(bytes(count, datatype), at_pointer(), file(fh), new_request(request));
        counted MPI_File_iwrite_shared(fh: Handle, buf: Ptr, count: Count, datatype: Handle, request: Ptr)
            = record[] MpiFileIwriteShared(bytes(count, datatype), at_pointer(), file(fh), new_request(request));
        counted MPI_File_read_at_all_begin(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle)
            = record[] MpiFileReadAtAllBegin(bytes(count, datatype), long(offset), file(fh));
        counted MPI_File_read_all_begin(fh: Handle, buf: Ptr, count: Count, datatype: Handle)
            = record[] MpiFileReadAllBegin(bytes(count, datatype), at_pointer(), file(fh));
        counted MPI_File_read_ordered_begin(fh: Handle, buf: Ptr, count: Count, datatype: Handle)
            = record[] MpiFileReadOrderedBegin(bytes(count, datatype), at_pointer(), file(fh));
        all MPI_File_read_at_all_end(fh: Handle, buf: Ptr, status: Ptr)
            = transfer_end[status] MpiFileReadAtAllEnd(fh, status);
        all MPI_File_read_all_end(fh: Handle, buf: Ptr, status: Ptr)
            = transfer_end[status] MpiFileReadAllEnd(fh, status);
        all MPI_File_read_ordered_end(fh: Handle, buf: Ptr, status: Ptr)
            = transfer_end[status] MpiFileReadOrderedEnd(fh, status);
        counted MPI_File_write_at_all_begin(fh: Handle, offset: Long, buf: Ptr, count: Count, datatype: Handle)
            = record[] MpiFileWriteAtAllBegin(bytes(count, datatype), long(offset), file(fh));
        counted MPI_File_write_all_begin(fh: Handle, buf: Ptr, count: Count, datatype: Handle)
            = record[] MpiFileWriteAllBegin(bytes(count, datatype), at_pointer(), file(fh));
        counted MPI_File_write_ordered_begin(fh: Handle, buf: Ptr, count: Count, datatype: Handle)
            = record[] MpiFileWriteOrderedBegin(bytes(count, datatype), at_pointer(), file(fh));
        all MPI_File_write_at_all_end(fh: Handle, buf: Ptr, status: Ptr)
            = transfer_end[status] MpiFileWriteAtAllEnd(fh, status);
        all MPI_File_write_all_end(fh: Handle, buf: Ptr, status: Ptr)
            = transfer_end[status] MpiFileWriteAllEnd(fh, status);
        all MPI_File_write_ordered_end(fh: Handle, buf: Ptr, status: Ptr)
            = transfer_end[status] MpiFileWriteOrderedEnd(fh, status);
    } };
}

/// Makes functions of the lines of the table, and a list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_entry_point_table {
    ($recorder:ty; $( $language:ident $name:ident ( $($signature:tt)* )
        = $form:ident $( [ $($replaced:ident)? ] $call:ident )? ( $($used:tt)* ); )*) => {
        $( $crate::mpi_entry_point! { $language $recorder; $name ( $($signature)* )
            = $form $( [ $($replaced)? ] $call )? ( $($used)* ) } )*

        /// The MPI functions that have entry points, and the calls they are recorded as; several of a collective.
        #[allow(dead_code)]
        pub const MPI_ENTRY_POINTS: &[&[(&str, $crate::Call)]] =
            &[ $( $crate::mpi_functions! { $language $name $( $call )? } ),* ];
    };
}

/// The functions that a line makes.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_functions {
    (collective $base:ident) => {
        $crate::pastey::paste! { &[
            (concat!("MPI_", stringify!($base)), $crate::Call::[<Mpi $base:camel>]),
            (concat!("MPI_", stringify!($base), "_c"), $crate::Call::[<Mpi $base:camel>]),
            (stringify!([<MPI_I $base:lower>]), $crate::Call::[<MpiI $base:camel>]),
            (stringify!([<MPI_I $base:lower _c>]), $crate::Call::[<MpiI $base:camel>]),
            (concat!("MPI_", stringify!($base), "_init"), $crate::Call::[<Mpi $base:camel Init>]),
            (concat!("MPI_", stringify!($base), "_init_c"), $crate::Call::[<Mpi $base:camel Init>]),
        ] }
    };
    (counted $name:ident $call:ident) => {
        &[(stringify!($name), $crate::Call::$call), (concat!(stringify!($name), "_c"), $crate::Call::$call)]
    };
    ($language:ident $name:ident $call:ident) => {
        &[(stringify!($name), $crate::Call::$call)]
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

    (counted $recorder:ty; $name:ident $($line:tt)*) => { $crate::pastey::paste! {
        $crate::mpi_entry_point! { all $recorder; $name $($line)* }
        $crate::mpi_entry_point! { large $recorder; [<$name _c>] $($line)* }
    } };

    (collective $recorder:ty; $base:ident ( $($arguments:tt)* ) = $form:ident ( $($used:ident),* )) => {
    $crate::pastey::paste! {
        $crate::mpi_entry_point! { counted $recorder; [<MPI_ $base>] ( $($arguments)* )
            = $form [] [<Mpi $base:camel>] ( $($used,)* NO_REQUEST ) }
        $crate::mpi_entry_point! { counted $recorder; [<MPI_I $base:lower>] ( $($arguments)*, request: Ptr )
            = $form [] [<MpiI $base:camel>] ( $($used,)* request ) }
        $crate::mpi_entry_point! { counted $recorder; [<MPI_ $base _init>] ( $($arguments)*, info: Handle, request: Ptr )
            = $form [] [<Mpi $base:camel Init>] ( $($used,)* request ) }
    } };

    (c $($line:tt)*) => { $crate::mpi_c_function! { ::core::ffi::c_int; $($line)* } };
    (large $($line:tt)*) => { $crate::mpi_c_function! { i64; $($line)* } };
    (fortran $($line:tt)*) => { $crate::mpi_fortran_function! { $($line)* } };
}

/// Makes the call in its form.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_form {
    ($recorder:ty; record $call:ident $real:expr; $($field:ident ( $($used:ident),* )),*) => {
        $crate::calls::record::<$recorder, _>($crate::Call::$call, $real, |_mpi, _result| {
            [ $( $crate::calls::fields::$field::<Binding>(_mpi, _result $(, $used)*) ),* ]
        })
    };
    ($recorder:ty; delete_file $call:ident $real:expr; $($used:expr),*) => {
        $crate::calls::delete_file::<$recorder>($crate::Call::$call, $real, $($used),*)
    };
    ($recorder:ty; $form:ident $call:ident $real:expr; $($used:expr),*) => {
        $crate::calls::$form::<$recorder, Binding>($crate::Call::$call, $real, $($used),*)
    };
}

/// What a function of the C binding does. Of those that programs make in vain millions of times a second the shortest way stands
/// by itself, so that it needs few registers and no memory; the rest gets the arguments as they came.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_c_body {
    ($recorder:ty; test $arguments:tt $($rest:tt)*) => {
        $crate::mpi_c_body!(@ $recorder; test_in_row $arguments $($rest)*)
    };
    ($recorder:ty; test_any $arguments:tt $($rest:tt)*) => {
        $crate::mpi_c_body!(@ $recorder; test_any_in_row $arguments $($rest)*)
    };
    ($recorder:ty; $form:ident ( $($argument:ident : $kind:ident),* ) $($rest:tt)*) => {
        // SAFETY: the application's own arguments.
        unsafe { whole($($argument),*) }
    };
    (@ $recorder:ty; $form:ident ( $($argument:ident : $kind:ident),* )
        $call:ident $symbol:ident $real:ident |$($replaced:ident)?|; $($used:expr),*) => {{
        #[inline(never)]
        unsafe extern "C-unwind" fn apart(
            $($argument: <Binding as $crate::language::Language>::$kind),*
        ) -> ::core::ffi::c_int {
            // SAFETY: the application's own arguments.
            unsafe { whole($($argument),*) }
        }
        let counted = $symbol.known().and_then(|real| {
            // SAFETY: the function of this name has this signature, and gets the application's own arguments.
            unsafe {
                let real = ::core::mem::transmute::<*mut ::core::ffi::c_void, $real>(real);
                let real = move |$($replaced)?| real($($argument),*);
                $crate::calls::$form::<$recorder, Binding>($crate::Call::$call, real, $($used),*)
            }
        });
        match counted {
            Some(result) => result,
            // SAFETY: the application's own arguments.
            None => unsafe { apart($($argument),*) },
        }
    }};
}

/// A function of the C binding; `count` is the type of a number of elements.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_c_function {
    ($count:ty; $recorder:ty; $name:ident ( $($argument:ident : $kind:ident),* )
        = $form:ident [ $($replaced:ident)? ] $call:ident ( $($used:tt)* )) => { const _: () = {
        use $crate::symbol::{NO_SUCH_FUNCTION, Symbol, c_name};
        #[allow(unused_imports)]
        use $crate::calls::NO_REQUEST;
        #[allow(dead_code)]
        type Binding = $crate::language::C<$count>;

        // A profiling library behind the shim, if there is one, or else MPI itself.
        static REAL: Symbol = Symbol::new(&[
            c_name(concat!(stringify!($name), "\0")),
            c_name(concat!("P", stringify!($name), "\0")),
        ]);
        type Real = unsafe extern "C-unwind" fn(
            $(<Binding as $crate::language::Language>::$kind),*
        ) -> ::core::ffi::c_int;

        /// All that the function does.
        #[allow(dead_code, clippy::too_many_arguments)]
        #[inline(always)]
        unsafe fn whole($($argument: <Binding as $crate::language::Language>::$kind),*) -> ::core::ffi::c_int {
            let Some(real) = REAL.function() else { return NO_SUCH_FUNCTION };
            // SAFETY: the function of this name has this signature.
            let real = unsafe { ::core::mem::transmute::<*mut ::core::ffi::c_void, Real>(real) };
            // SAFETY: the application's own arguments.
            unsafe {
                $crate::mpi_form!($recorder; $form $call move |$($replaced)?| real($($argument),*); $($used)*)
            }
        }

        /// The C binding.
        ///
        /// # Safety
        /// As the MPI function.
        #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name(
            $($argument: <Binding as $crate::language::Language>::$kind),*
        ) -> ::core::ffi::c_int {
            $crate::mpi_c_body!($recorder; $form ( $($argument : $kind),* ) $call REAL Real |$($replaced)?|; $($used)*)
        }
    }; };
}

/// The functions of the Fortran bindings, one for each spelling; behind the error code stand the lengths of texts.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_fortran_function {
    ($recorder:ty; $name:ident ( $($argument:ident : $kind:ident),* $(; $($length:ident),* )? )
        = $form:ident [ $($replaced:ident)? ] $call:ident ( $($used:tt)* )) => {
    $crate::pastey::paste! { const _: () = {
        use $crate::symbol::{NO_SUCH_FUNCTION, Symbol, c_name};
        #[allow(unused_imports)]
        use $crate::calls::NO_REQUEST;
        #[allow(dead_code)]
        type Binding = $crate::language::Fortran;

        type Real = unsafe extern "C-unwind" fn(
            $(<Binding as $crate::language::Language>::$kind,)*
            *mut ::core::ffi::c_int
            $(, $($length: usize),*)?
        );

        /// What all spellings of the Fortran name do; they are subroutines and return nothing.
        #[allow(dead_code, clippy::too_many_arguments)]
        #[inline(never)]
        unsafe fn call(
            symbol: &'static Symbol,
            $($argument: <Binding as $crate::language::Language>::$kind,)*
            error: *mut ::core::ffi::c_int
            $(, $($length: usize),*)?
        ) {
            let Some(real) = symbol.function() else {
                if !error.is_null() {
                    // SAFETY: the place for the error code, which is absent (null) at most in mpi_f08.
                    unsafe { error.write(NO_SUCH_FUNCTION) };
                }
                return;
            };
            // SAFETY: the function of this name has this signature.
            let real = unsafe { ::core::mem::transmute::<*mut ::core::ffi::c_void, Real>(real) };
            let mut own = 0;
            let error = if error.is_null() { &raw mut own } else { error };
            // SAFETY: the application's own arguments; the real call sets the error code.
            unsafe {
                $crate::mpi_form!($recorder; $form $call move |$($replaced)?| {
                    real($($argument,)* error $(, $($length),*)?);
                    error.read()
                }; $($used)*);
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

        $crate::mpi_spelling! { [<$name:lower _>] UNDERSCORED ( $($argument : $kind),* $(; $($length),*)? ) }
        $crate::mpi_spelling! { [<$name:lower __>] UNDERSCORED ( $($argument : $kind),* $(; $($length),*)? ) }
        $crate::mpi_spelling! { [<$name:lower _f08_>] F08 ( $($argument : $kind),* $(; $($length),*)? ) }
        // IBM XL; old Cray compilers.
        $crate::mpi_plain_spelling! { [<$name:lower>] "p" ( $($argument : $kind),* $(; $($length),*)? ) }
        $crate::mpi_plain_spelling! { [<$name:upper>] "P" ( $($argument : $kind),* $(; $($length),*)? ) }
    }; } };
}

/// A spelling of a Fortran name that nobody else uses.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_spelling {
    ($spelling:ident $symbol:ident ( $($argument:ident : $kind:ident),* $(; $($length:ident),*)? )) => {
        /// The Fortran binding in one of its spellings.
        ///
        /// # Safety
        /// As the MPI function.
        #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $spelling(
            $($argument: <Binding as $crate::language::Language>::$kind,)*
            error: *mut ::core::ffi::c_int
            $(, $($length: usize),*)?
        ) {
            // SAFETY: the caller's own arguments.
            unsafe { call(&$symbol, $($argument,)* error $(, $($length),*)?) }
        }
    };
}

/// A spelling of a Fortran name that is a good name for a C function, too: a library may have an `mpi_init` of its
/// own. That one gets what the caller passed, six words at least, as many as there are registers for them.
#[doc(hidden)]
#[macro_export]
macro_rules! mpi_plain_spelling {
    ($spelling:ident $profiling:literal ( $($argument:ident : $kind:ident),* $(; $($length:ident),*)? )) => {
        /// The Fortran binding in one of its spellings.
        ///
        /// # Safety
        /// As the function of this name.
        #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $spelling(
            $($argument: <Binding as $crate::language::Language>::$kind,)*
            error: *mut ::core::ffi::c_int,
            $($($length: usize,)*)?
            more1: usize, more2: usize, more3: usize, more4: usize, more5: usize,
        ) -> usize {
            static REAL: Symbol = Symbol::confirmed(
                &[c_name(concat!(stringify!($spelling), "\0"))],
                &[c_name(concat!($profiling, stringify!($spelling), "\0"))],
            );
            type Foreign = unsafe extern "C-unwind" fn(
                $(<Binding as $crate::language::Language>::$kind,)* *mut ::core::ffi::c_int,
                $($($length: usize,)*)?
                usize, usize, usize, usize, usize
            ) -> usize;
            match REAL.find() {
                Some(found) if found.foreign => {
                    // SAFETY: any function, called with what its caller passed and the words behind it.
                    unsafe {
                        ::core::mem::transmute::<*mut ::core::ffi::c_void, Foreign>(found.address)(
                            $($argument,)* error, $($($length,)*)? more1, more2, more3, more4, more5
                        )
                    }
                }
                Some(_) => {
                    // SAFETY: the caller's own arguments.
                    unsafe { call(&REAL, $($argument,)* error $(, $($length),*)?) };
                    0
                }
                None => NO_SUCH_FUNCTION as usize,
            }
        }
    };
}

#[cfg(test)]
pub(crate) mod tests {
    use core::ptr::NonNull;
    use std::collections::HashSet;
    use syn_trace::Call;
    use syn_trace::calls::Fact;

    /// Records nothing: here the table only has to compile.
    struct Nothing;

    // SAFETY: `enter` never opens a call, so no memory is ever asked for.
    unsafe impl crate::Recorder for Nothing {
        type Open = ();
        fn enter(_: Call) -> Option<()> {
            None
        }
        fn enter_untimed(_: Call) -> Option<()> {
            None
        }
        fn count_in_vain<const N: usize>((): (), _: Call, _: &[i64; N]) -> bool {
            unreachable!("no call is open")
        }
        fn returned((): ()) {}
        fn leave<const N: usize>((): (), _: Call, _: i64, _: &[i64; N], _: &[&[u8]], _: &[i64]) {}
        fn part<const N: usize>((): (), _: Call, _: i64, _: &[i64; N], _: &[&[u8]], _: &[i64]) {}
        fn abandon((): ()) {}
        fn began<const N: usize>((): (), _: Call, _: &[i64; N]) {}
        fn initialised() {}
        fn world(_: i32, _: i32, _: u32) {}
        fn unsupported(_: &[u8]) {}
        fn unrecorded(_: &[u8]) -> bool {
            true
        }
        fn scratch((): (), _: usize) -> (NonNull<u8>, usize) {
            unreachable!("no call is open")
        }
    }

    mpi_entry_points!(Nothing);
    crate::mpi_unrecorded!(Nothing);

    #[test]
    fn every_mpi_call_of_the_trace_has_entry_points_of_its_names() {
        let defined: HashSet<_> = MPI_ENTRY_POINTS.iter().copied().flatten().copied().collect();
        let names = |call: Call| [call.name()].into_iter().chain(call.info().also.iter().copied());
        let calls = Call::ALL.iter().filter(|call| call.layer().is_mpi() && !call.has(Fact::Note));
        let known: HashSet<_> = calls.flat_map(|&call| names(call).map(move |name| (name, call))).collect();
        let (missing, unknown) = (known.difference(&defined), defined.difference(&known));
        assert_eq!((missing.collect::<Vec<_>>(), unknown.collect::<Vec<_>>()), (vec![], vec![]));
    }
}
