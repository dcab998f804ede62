//! What a call does: the kinds that readers tell apart. Calls that differ only in where their arguments stand have one effect,
//! and are asked for arguments by [`super::Field`].

/// What a call does, as far as those who follow a trace need to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that anybody follows.
    Other,

    /// Reads from the first descriptor.
    Read(Place),
    /// Writes to it.
    Write(Place),
    /// `fread`: `nmemb` items of `size` bytes; the result is in items.
    ReadStream,
    /// `fwrite`, likewise.
    WriteStream,
    /// Moves bytes inside the kernel, from the file of the first descriptor to that of the second; the result is how many.
    Transfer,
    /// Lets the second file share `count` bytes of the first.
    Share,
    /// `tee`: copies from pipe to pipe, and takes nothing out of the first.
    Tee,
    /// `vmsplice`: memory goes into the pipe of the first descriptor, or at an end that can only be read, what is in it into memory.
    MoveMemory,
    /// Sets the position; the result is the new one.
    Seek,
    /// Sets the position of a directory stream to its beginning.
    Rewind,
    /// Cuts the file to a length, or extends it.
    Truncate,
    /// Reserves blocks.
    Allocate,
    /// Waits until data and metadata of the file are on the device.
    Fsync,
    /// The same of what is needed to read the data again.
    Fdatasync,
    /// The same of a range of pages, as far as the flags say.
    SyncRange,
    /// The same of a whole file system.
    SyncFileSystem,
    /// The same of all file systems.
    SyncAll,
    /// `posix_fadvise`.
    Advise,
    /// `readahead`.
    ReadAhead,

    /// Opens a path; the result is the descriptor.
    Open,
    /// The same, with the flags of `creat`.
    Create,
    /// Makes a file in memory.
    OpenMemory,
    /// Opens a message queue, whose name is no path.
    OpenQueue,
    /// `fopen`.
    OpenStream,
    /// `freopen`.
    ReopenStream,
    /// `opendir`.
    OpenFolderStream,
    /// `popen`.
    OpenProcessStream,
    /// Makes two descriptors, the first to read from.
    Pipe,
    /// No call: a descriptor that came from elsewhere.
    Inherit,
    /// Closes a descriptor.
    Close,
    /// `fclose` and its kind: closes the descriptor of a stream.
    CloseStream,
    /// `pclose`: waits for the process, too.
    CloseProcessStream,
    /// Closes all descriptors of a range.
    CloseRange,
    /// Makes another descriptor, the result.
    Duplicate,
    /// The same, at a given number.
    DuplicateTo,
    /// `fcntl`.
    Control,
    /// `ioctl`.
    ControlDevice,
    /// Asks a pseudoterminal for the number of its slave.
    NumberTerminal,

    /// Asks for the kind, size and times of a file.
    Stat(Follow),
    /// Asks for rights.
    Access,
    /// Removes a name; with `AT_REMOVEDIR` a directory.
    Unlink,
    /// Removes a directory.
    RemoveFolder,
    /// Gives a file another name.
    Rename,
    /// Gives a file a further name.
    Link,
    /// Makes a symbolic link.
    Symlink,
    /// Makes a directory.
    MakeFolder,
    /// Makes a FIFO, a socket, a device or a regular file.
    MakeNode,
    /// Reads a symbolic link.
    ReadLink,
    /// `readdir`.
    ReadEntry,
    /// `getdents64`.
    ReadEntries,
    /// Changes the current folder.
    ChangeFolder,
    /// `chmod` and its kind.
    SetMode(Follow),
    /// `chown` and its kind.
    SetOwner(Follow),
    /// `utimensat` and its kind.
    SetTimes(Follow),
    /// `getxattr` and its kind.
    GetAttribute(Follow),
    /// `setxattr` and its kind.
    SetAttribute(Follow),
    /// `listxattr` and its kind.
    ListAttributes(Follow),
    /// `removexattr` and its kind.
    RemoveAttribute(Follow),
    /// `statfs` and its kind.
    StatFileSystem,

    /// `flock`, by its operation.
    LockFile,
    /// `lockf`, by its command.
    LockFileAtPosition,

    /// Sends a signal to a process.
    SendSignal,
    /// Sends a signal to a thread of this process.
    SendSignalToThread,
    /// Waits for a signal, without a handler; the result is which.
    AwaitSignal,
    /// Sets what happens when a signal arrives.
    SetAction,
    /// A system call that the table does not have.
    Unknown,

    /// Maps a file, at the address that is the result.
    Map,
    /// No call: a mapping from the parent.
    InheritMapping,
    /// A library is about to be mapped, and what it needs.
    Load,
    /// Ends mappings.
    Unmap,
    /// Moves a mapping, or changes its length.
    Remap,
    /// Concerns pages of a mapping, and leaves it as it is.
    UsePages,
    /// Says how they will be used.
    AdvisePages,
    /// Writes pages of a mapping back to its file.
    SyncPages,

    /// `aio_read`: asks for bytes, and does not wait for them.
    AsynchronousRead,
    /// `aio_write`.
    AsynchronousWrite,
    /// `aio_fsync`.
    AsynchronousSync,
    /// `lio_listio`: asks for several of the first two.
    AsynchronousList,
    /// `aio_suspend`: waits until one of several is over.
    AwaitAsynchronous,
    /// `aio_return`: what became of one that is over.
    AsynchronousResult,
    /// `aio_error`: whether a transfer is over.
    AsynchronousError,
    /// `io_setup`.
    SetUpBlocks,
    /// `io_destroy`.
    DestroyBlocks,
    /// `io_submit`.
    SubmitBlocks,
    /// No call: a control block of libaio, with an operation of its own.
    BlockEntry,
    /// Waits for completions of such blocks.
    AwaitBlocks,
    /// No call: an entry of the submission queue of an io_uring, with an operation of its own, on the second descriptor.
    RingEntry,
    /// No call: an entry of its completion queue.
    RingCompletion,
    /// Hands entries over to an io_uring, waits for completions, or both.
    AwaitRing,
    /// `io_uring_setup`.
    OpenRing,
    /// `io_uring_register`.
    RegisterWithRing,

    /// `socket`.
    OpenSocket,
    /// `socketpair`.
    OpenSocketPair,
    /// `accept`.
    Accept,
    /// `connect`.
    Connect,
    /// `bind`.
    BindSocket,
    /// `listen`.
    Listen,
    /// `getsockname`.
    TellLocalAddress,
    /// `getpeername`.
    TellPeerAddress,
    /// Sends bytes, or messages, by a socket.
    SendMessage,
    /// Receives bytes, or messages, from a socket.
    ReceiveMessage,
    /// `shutdown`: ends one direction of a connection, or both.
    Shutdown,
    /// `epoll_ctl`: what a set of descriptors holds, and what is told of them.
    WatchDescriptor,
    /// Makes a descriptor of something that has no name. One that is given a descriptor changes that.
    OpenAnonymous,
    /// The same of a counter.
    OpenCounter,
    /// The same of something that tells of signals.
    OpenSignals,
    /// The same of a timer.
    OpenTimer,
    /// The same of a process, whose end it tells of.
    OpenProcess,
    /// Waits until descriptors are ready, or a time is over; the result is how many.
    AwaitReadiness,

    /// Lets time pass, and does nothing else.
    Sleep,
    /// Makes a process, which goes on behind the call; the result is its id, there 0.
    Fork,
    /// Makes a process, or with `CLONE_THREAD` a thread.
    Clone,
    /// Makes a process that runs another program.
    Spawn,
    /// Becomes another program.
    Exec,
    /// No call: which program the child of the call before became, in its parent's memory.
    ChildExec,
    /// No call: what the children have used whose end the process has seen.
    UsedByChildren,
    /// `system`: runs a command and waits for its end.
    RunCommand,
    /// `waitpid`; the result is the process's id.
    AwaitProcess,
    /// `waitid`.
    AwaitProcessById,
    /// Ends the process.
    Exit,
    /// Makes a thread.
    CreateThread,
    /// Waits for a thread's end.
    JoinThread,

    /// Waits for another thread through memory, or ends such a wait.
    Sync(Sync),

    /// A call of MPI, in one of its forms. All calls of a form hold the same arguments in the same places.
    Mpi(Mpi),
}

/// Where a transfer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the position of the open file, which it moves.
    Position,
    /// At the offset that it is given.
    Offset,
    /// At the offset, or at the position where that is -1 (`preadv2(2)`).
    Either,
}

/// Whether a symbolic link at the end of the path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is, or there is no path but a descriptor.
    Followed,
    /// The link itself is meant.
    Itself,
    /// `AT_SYMLINK_NOFOLLOW` says so.
    ByFlags,
}

/// What a call does to an object in memory for which threads wait. The object's address is its first number, unless said
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Locks a mutex.
    LockMutex,
    /// Unlocks a mutex.
    UnlockMutex,
    /// Waits for a condition; meanwhile the mutex, its second number, is unlocked.
    AwaitCondition,
    /// Wakes one that waits for a condition.
    SignalCondition,
    /// Wakes all of them.
    BroadcastCondition,
    /// Locks a read-write lock for reading.
    LockToRead,
    /// Locks a read-write lock for writing.
    LockToWrite,
    /// Unlocks a read-write lock.
    UnlockRwlock,
    /// Waits at a barrier.
    AwaitBarrier,
    /// Takes one off a semaphore.
    TakeSemaphore,
    /// Adds one to a semaphore.
    PostSemaphore,
    /// `futex`, by the operation that is its second number.
    Futex,
    /// `sem_open`: the semaphore's address is its second number.
    OpenSemaphore,
    /// `sem_unlink`.
    UnlinkSemaphore,
    /// `semop`: three numbers for each semaphore, of the set that is its first number.
    ChangeSemaphores,
    /// `msgsnd`, to the queue that is its first number.
    SendToQueue,
    /// `msgrcv`, likewise.
    ReceiveFromQueue,
    /// `mq_send`, to the queue of its descriptor.
    SendToOpenQueue,
    /// `mq_receive`, likewise.
    ReceiveFromOpenQueue,
    /// `shmget`: the result names a segment of `size` bytes.
    GetSegment,
    /// `shmat`: the segment is its first number, the result its address.
    AttachSegment,
    /// `shmdt`.
    DetachSegment,
}

/// The forms of the calls of MPI (MPI-4.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    /// Begins MPI: all of the world meet.
    Init,
    /// Ends it.
    Finalize,
    /// A blocking send.
    Send(Mode),
    /// One that makes a request.
    SendRequest(Mode),
    /// One that makes a persistent request, which is to be started.
    SendInit(Mode),
    /// A blocking receive.
    Receive,
    /// One that makes a request.
    ReceiveRequest,
    /// One that makes a persistent request.
    ReceiveInit,
    /// Makes a request for a message that is sent in partitions.
    SendPartitions,
    /// For one that is received in partitions.
    ReceivePartitions,
    /// Makes a partition ready to be sent.
    Ready,
    /// A range of them.
    ReadyRange,
    /// A list of them.
    ReadyList,
    /// Asks whether a partition has arrived; without `flag` it has not.
    Arrived,
    /// Both at once.
    SendReceive,
    /// Looks for a message; without `flag` there was none.
    Probe,
    /// The same, and takes it.
    MatchedProbe,
    /// Receives what was taken.
    MatchedReceive,
    /// The same with a request.
    MatchedReceiveRequest,
    /// Starts persistent requests.
    Start,
    /// Frees a request.
    FreeRequest,
    /// Asks for a request to be cancelled.
    Cancel,
    /// Waits for requests.
    Wait,
    /// Asks for requests; with an `outcount` of 0 nothing has completed.
    Test,
    /// A collective operation.
    Collective(Collective),
    /// One that makes a request.
    CollectiveRequest(Collective),
    /// One that makes a persistent request, which is to be started.
    CollectiveInit(Collective),
    /// Makes a communicator.
    MakeCommunicator(Members),
    /// Frees one.
    FreeCommunicator,
    /// Starts processes with a world of their own, and makes an inter-communicator with them.
    StartWorld,
    /// `MPI_File_open`.
    OpenFile,
    /// `MPI_File_close`.
    CloseFile,
    /// `MPI_File_delete`.
    DeleteFile,
    /// Sets how long a file is, or has its blocks be there.
    ResizeFile,
    /// A call on a file that moves nothing.
    AskFile,
    /// Sets which bytes of a file are seen.
    ViewFile,
    /// Moves a file's pointer.
    SeekFile,
    /// Moves the one that the ranks of a communicator share.
    SeekSharedFile,
    /// Reads or writes; an offset of -1 is one of the file's pointers.
    TransferFile,
    /// The same with a request.
    TransferFileRequest,
    /// The first half of one in two halves.
    BeginTransferFile,
    /// The second half.
    EndTransferFile,
    /// Makes a window.
    MakeWindow,
    /// Makes one without memory.
    MakeDynamicWindow,
    /// Frees one.
    FreeWindow,
    /// `MPI_Win_fence`.
    Fence,
    /// `MPI_Win_start`.
    OpenAccess,
    /// `MPI_Win_complete`.
    CloseAccess,
    /// `MPI_Win_post`.
    OpenExposure,
    /// `MPI_Win_wait`.
    CloseExposure,
    /// `MPI_Win_test`; without `flag` nothing has happened.
    TestExposure,
    /// Locks a window at one of its members.
    LockTarget,
    /// Locks it at all of them.
    LockAll,
    /// Flushes what has been begun at one.
    FlushTarget,
    /// Flushes it at all of them.
    FlushAll,
    /// Unlocks a window at one of its members.
    UnlockTarget,
    /// Unlocks it at all of them.
    UnlockAll,
    /// Reads or changes the memory of a member.
    Rma,
    /// The same with a request.
    RmaRequest,
}

/// How a send hands over its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// MPI decides whether it waits for the receiver: `MPI_Send`, `MPI_Rsend` and their kin.
    Standard,
    /// Never waits: `MPI_Bsend` and its kin.
    Buffered,
    /// Always waits: `MPI_Ssend` and its kin.
    Synchronous,
}

/// Who waits for whom in a collective operation (MPI-4.0, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// All wait for all, whether bytes go between them or not.
    Meeting,
    /// All wait for all that give bytes.
    AllForAll,
    /// Each waits for those that give it bytes; it names how many for each.
    Exchange,
    /// All wait for the root.
    AllForRoot,
    /// The root waits for all.
    RootForAll,
    /// Each waits for those of lower rank.
    LaterForEarlier,
    /// Each waits for those that its communicator's topology names.
    Neighbours,
}

/// Who takes part in the making of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// All of the communicator that it is made from.
    Within,
    /// The members of the new one.
    Group,
    /// The same as `Within`; the new one is an inter-communicator.
    Between,
    /// Both groups of an inter-communicator, which become one.
    Merged,
}

impl Effect {
    /// True when the call is about no descriptor yet, and its result is one.
    pub const fn makes_descriptor(self) -> bool {
        use Effect::*;
        matches!(
            self,
            Open | Create
                | OpenMemory
                | OpenQueue
                | OpenSocket
                | OpenAnonymous
                | OpenCounter
                | OpenSignals
                | OpenTimer
                | OpenProcess
                | OpenRing
        )
    }

    /// True when the call changes what a path leads to, if it names one.
    pub const fn changes_path(self) -> bool {
        use Effect::*;
        matches!(
            self,
            Unlink
                | RemoveFolder
                | Rename
                | Link
                | Symlink
                | MakeFolder
                | MakeNode
                | Truncate
                | SetMode(_)
                | SetOwner(_)
                | SetTimes(_)
                | SetAttribute(_)
                | RemoveAttribute(_)
        )
    }
}
