/* Two threads or processes that take turns, ordered by one mechanism and nothing else: in each turn a byte is written to a file
 * of one's own.
 *
 *   order threads|processes|apart MECHANISM [late]
 *
 * `apart` starts two processes of two threads each: the mechanism orders a and b, c and d, and nothing orders the two
 * processes, whose locks lie at the same addresses. Nobody passes on the turn before the other waits for it; with `late`, nobody asks
 * for it before it was passed on.
 */
#include "processes.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/uio.h>

enum { ROUNDS = 4, PIPE_BYTES = 65536, BLOCK_BYTES = 4096 };

static struct area {
    _Atomic int tids[2], turns, asking, drained, passed[2];
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    sem_t semaphores[2];
    int turn, words[2];
} *area;
static int shared, late, rounds = ROUNDS;
/* What is read from, and written to, by each side; of the listening socket. */
static int in[2], out[2], listener;
static sem_t *named[2];
static char block[PIPE_BYTES];

static void set_up_locks(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_rwlockattr_t rwlock;
    pthread_barrierattr_t barrier;
    int kind = shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    CHECK_OK(pthread_mutexattr_init(&mutex));
    CHECK_OK(pthread_mutexattr_setpshared(&mutex, kind));
    CHECK_OK(pthread_mutex_init(&area->mutex, &mutex));
    CHECK_OK(pthread_condattr_init(&condition));
    CHECK_OK(pthread_condattr_setpshared(&condition, kind));
    CHECK_OK(pthread_cond_init(&area->condition, &condition));
    CHECK_OK(pthread_rwlockattr_init(&rwlock));
    CHECK_OK(pthread_rwlockattr_setpshared(&rwlock, kind));
    CHECK_OK(pthread_rwlock_init(&area->rwlock, &rwlock));
    CHECK_OK(pthread_barrierattr_init(&barrier));
    CHECK_OK(pthread_barrierattr_setpshared(&barrier, kind));
    CHECK_OK(pthread_barrier_init(&area->barrier, &barrier, 2));
    for (int side = 0; side < 2; side++)
        CHECK_OK(sem_init(&area->semaphores[side], shared, 0));
}

/* ---- locks ------------------------------------------------------------------------------------------------ */

/* One turn each: the first side has the lock before the other one starts. */
static void take_mutex(void)
{
    rounds = 1;
    CHECK_OK(pthread_mutex_lock(&area->mutex));
}

static void await_mutex(int side)
{
    if (side == 1)
        CHECK_OK(pthread_mutex_lock(&area->mutex));
}

static void pass_mutex(int side)
{
    (void)side;
    CHECK_OK(pthread_mutex_unlock(&area->mutex));
}

static void take_rwlock(void)
{
    rounds = 1;
    CHECK_OK(pthread_rwlock_wrlock(&area->rwlock));
}

static void await_rwlock(int side)
{
    if (side == 1)
        CHECK_OK(pthread_rwlock_rdlock(&area->rwlock));
}

static void pass_rwlock(int side)
{
    (void)side;
    CHECK_OK(pthread_rwlock_unlock(&area->rwlock));
}

static void await_condition(int side)
{
    CHECK_OK(pthread_mutex_lock(&area->mutex));
    while (area->turn != side)
        CHECK_OK(pthread_cond_wait(&area->condition, &area->mutex));
    CHECK_OK(pthread_mutex_unlock(&area->mutex));
}

static void pass_condition(int side)
{
    CHECK_OK(pthread_mutex_lock(&area->mutex));
    area->turn = !side;
    CHECK_OK(side ? pthread_cond_broadcast(&area->condition) : pthread_cond_signal(&area->condition));
    CHECK_OK(pthread_mutex_unlock(&area->mutex));
}

/* Both meet after each turn. */
static void meet(int side)
{
    (void)side;
    int result = pthread_barrier_wait(&area->barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void await_semaphore(int side) { CHECK_OK(sem_wait(&area->semaphores[side])); }
static void pass_semaphore(int side) { CHECK_OK(sem_post(&area->semaphores[!side])); }

static void open_semaphores(void)
{
    for (int side = 0; side < 2; side++) {
        char name[64];
        snprintf(name, sizeof name, "/syn-order-%d-%d", (int)getpid(), side);
        named[side] = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
        CHECK(named[side] != SEM_FAILED);
        CHECK_OK(sem_unlink(name));
    }
}

static void await_named(int side) { CHECK_OK(sem_wait(named[side])); }
static void pass_named(int side) { CHECK_OK(sem_post(named[!side])); }

static void await_futex(int side)
{
    while (__atomic_load_n(&area->words[side], __ATOMIC_ACQUIRE) == 0)
        CHECK(syscall(SYS_futex, &area->words[side], shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, 0, NULL) == 0 ||
              errno == EAGAIN);
    area->words[side] = 0;
}

static void pass_futex(int side)
{
    __atomic_store_n(&area->words[!side], 1, __ATOMIC_RELEASE);
    CHECK_EQ(syscall(SYS_futex, &area->words[!side], shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 1), 1);
}

/* ---- channels --------------------------------------------------------------------------------------------- */

static void make_pipes(void)
{
    for (int side = 0; side < 2; side++) {
        int ends[2];
        CHECK_OK(pipe(ends));
        in[side] = ends[0];
        out[!side] = ends[1];
    }
}

static void await_byte(int side)
{
    char byte;
    CHECK_EQ(read(in[side], &byte, 1), 1);
}

static void pass_byte(int side) { CHECK_EQ(write(out[side], "", 1), 1); }

static void splice_byte(int side)
{
    static char byte;
    CHECK_EQ(vmsplice(out[side], &(struct iovec){&byte, 1}, 1, 0), 1);
}

static struct io_uring rings[2];

static void open_ring(int side) { CHECK_EQ(io_uring_queue_init(2, &rings[side], 0), 0); }

/* Hands over the entry of this side's ring, and waits for its completion. */
static int through_ring(int side)
{
    struct io_uring_cqe *completion;
    CHECK_EQ(io_uring_submit(&rings[side]), 1);
    CHECK_EQ(io_uring_wait_cqe(&rings[side], &completion), 0);
    int result = completion->res;
    io_uring_cqe_seen(&rings[side], completion);
    return result;
}

static void await_byte_in_ring(int side)
{
    char byte;
    io_uring_prep_read(io_uring_get_sqe(&rings[side]), in[side], &byte, 1, -1);
    CHECK_EQ(through_ring(side), 1);
}

static void poll_byte_in_ring(int side)
{
    io_uring_prep_poll_add(io_uring_get_sqe(&rings[side]), in[side], POLLIN);
    CHECK(through_ring(side) > 0);
    await_byte(side);
}

static void pass_byte_in_ring(int side)
{
    io_uring_prep_write(io_uring_get_sqe(&rings[side]), out[side], "", 1, -1);
    CHECK_EQ(through_ring(side), 1);
}

static void poll_byte(int side)
{
    struct pollfd ready = {.fd = in[side], .events = POLLIN};
    CHECK_EQ(poll(&ready, 1, -1), 1);
}

static void await_polled(int side)
{
    poll_byte(side);
    await_byte(side);
}

static void await_epolled(int side)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 1000 + side};
    int set = epoll_create1(0);
    CHECK(set >= 0);
    CHECK_OK(epoll_ctl(set, EPOLL_CTL_ADD, in[side], &event));
    CHECK_EQ(epoll_wait(set, &event, 1, -1), 1);
    CHECK_EQ(event.data.u64, 1000 + side);
    CHECK_OK(close(set));
    await_byte(side);
}

/* The first side waits until there is room in a pipe, the other one until there is something in it. */
static void fill_pipe(void)
{
    make_pipes();
    CHECK_EQ(write(out[0], block, PIPE_BYTES), PIPE_BYTES);
}

static void await_room_or_byte(int side)
{
    if (side == 0)
        CHECK_EQ(write(out[0], block, PIPE_BYTES), PIPE_BYTES);
    else
        await_byte(0);
}

static void make_room_or_byte(int side)
{
    if (side == 0) {
        CHECK_EQ(write(out[1], "", 1), 1);
        return;
    }
    for (int got = 0; got < PIPE_BYTES;) {
        int bytes = read(in[1], block, PIPE_BYTES - got);
        CHECK(bytes > 0);
        got += bytes;
    }
}

/* One turn each: the end of the pipe is seen when the first side has closed it. */
static void make_one_pipe(void)
{
    rounds = 1;
    make_pipes();
}

static void await_end(int side)
{
    char byte;
    if (side == 0)
        return;
    if (shared)
        CHECK_OK(close(out[0]));
    CHECK_EQ(read(in[1], &byte, 1), 0);
}

static void close_end(int side)
{
    if (side == 0)
        CHECK_OK(close(out[0]));
}

static void make_socketpair(void)
{
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, in));
    memcpy(out, in, sizeof in);
}

/* The first side has the master, the other one the slave. */
static void open_terminal(void)
{
    struct termios settings;
    CHECK_OK(openpty(&in[0], &in[1], NULL, NULL, NULL));
    CHECK_OK(tcgetattr(in[1], &settings));
    cfmakeraw(&settings);
    CHECK_OK(tcsetattr(in[1], TCSANOW, &settings));
    memcpy(out, in, sizeof in);
}

static void open_terminal_by_name(void)
{
    struct termios settings;
    in[0] = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(in[0] >= 0);
    CHECK_OK(grantpt(in[0]));
    CHECK_OK(unlockpt(in[0]));
    in[1] = open(ptsname(in[0]), O_RDWR | O_NOCTTY);
    CHECK(in[1] >= 0);
    CHECK_OK(tcgetattr(in[1], &settings));
    cfmakeraw(&settings);
    CHECK_OK(tcsetattr(in[1], TCSANOW, &settings));
    memcpy(out, in, sizeof in);
}

static pid_t child;
static int first_is_child;

/* The slave is opened by who uses it, the master used by a child of the process that made it. */
static const char *slave_name;
static void open_master(void)
{
    in[0] = out[0] = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(in[0] >= 0);
    CHECK_OK(grantpt(in[0]));
    CHECK_OK(unlockpt(in[0]));
    first_is_child = 1;
    slave_name = ptsname(in[0]);
    CHECK(slave_name != NULL);
}

static void open_slave(int side)
{
    struct termios settings;
    if (side == 0)
        return;
    in[1] = out[1] = open(slave_name, O_RDWR | O_NOCTTY);
    CHECK(in[1] >= 0);
    CHECK_OK(tcgetattr(in[1], &settings));
    cfmakeraw(&settings);
    CHECK_OK(tcsetattr(in[1], TCSANOW, &settings));
}

/* Without an echo. A line of the slave's comes out as two bytes. */
static void open_terminal_of_lines(void)
{
    struct termios settings;
    open_terminal();
    CHECK_OK(tcgetattr(in[1], &settings));
    settings.c_lflag = ICANON;
    settings.c_oflag = OPOST | ONLCR;
    CHECK_OK(tcsetattr(in[1], TCSANOW, &settings));
}

static void await_line(int side)
{
    char line[8];
    ssize_t got = 0, whole = side == 0 ? 3 : 2;
    poll_byte(side);
    /* What the slave writes may come out in pieces. */
    while (got < whole) {
        ssize_t more = read(in[side], line, sizeof line);
        CHECK(more > 0);
        got += more;
    }
    CHECK_EQ(got, whole);
}

/* What is typed comes byte by byte. */
static void pass_line(int side)
{
    if (side == 0) {
        CHECK_EQ(write(out[0], "x", 1), 1);
        CHECK_EQ(write(out[0], "\n", 1), 1);
    } else {
        CHECK_EQ(write(out[1], "x\n", 2), 2);
    }
}

/* So many blocks fill a socket. The first side waits until there is room again, the other one takes all out. Linux wakes a
 * writer when most of it is out: who fills it again before the end would not be woken. */
static int blocks;

static void fill_socket(void)
{
    int ends[2];
    make_pipes();
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK_OK(dup2(ends[0], out[0]) - out[0]);
    CHECK_OK(dup2(ends[1], in[1]) - in[1]);
    CHECK_OK(close(ends[0]) + close(ends[1]));
    CHECK_OK(fcntl(out[0], F_SETFL, O_NONBLOCK));
    for (blocks = 0; write(out[0], block, BLOCK_BYTES) == BLOCK_BYTES; blocks++)
        ;
    CHECK_EQ(errno, EAGAIN);
    CHECK_OK(fcntl(out[0], F_SETFL, 0));
}

static void await_space_or_byte(int side)
{
    if (side == 1) {
        await_byte(0);
        return;
    }
    for (int i = 0; i < blocks; i++) {
        CHECK_EQ(write(out[0], block, BLOCK_BYTES), BLOCK_BYTES);
        while (!area->drained)
            __builtin_ia32_pause();
    }
    area->drained = 0;
}

static void await_polled_space_or_byte(int side)
{
    struct pollfd ready = {.fd = out[0], .events = POLLOUT};
    if (side == 0)
        CHECK_EQ(poll(&ready, 1, -1), 1);
    await_space_or_byte(side);
}

static void make_space_or_byte(int side)
{
    if (side == 0) {
        CHECK_EQ(write(out[1], "", 1), 1);
        return;
    }
    for (int got = 0; got < blocks * BLOCK_BYTES;) {
        int bytes = read(in[1], block, BLOCK_BYTES);
        CHECK(bytes > 0);
        got += bytes;
    }
    area->drained = 1;
}

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};
static union address address;
static socklen_t address_bytes;
/* Through which the other side reaches the socket. */
static char link_name[32];

static socklen_t bytes_of(const union address *address)
{
    switch (address->any.sa_family) {
    case AF_UNIX:
        return sizeof address->un;
    case AF_INET6:
        return sizeof address->in6;
    default:
        return sizeof address->in;
    }
}

static int socket_kind = SOCK_STREAM;

/* Of IPv6 it is any address of the host. */
static void listen_at(int family)
{
    address.any.sa_family = family;
    address_bytes = bytes_of(&address);
    if (family == AF_UNIX)
        snprintf(address.un.sun_path, sizeof address.un.sun_path, "socket%d", (int)getpid());
    else if (family == AF_INET)
        address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(family, socket_kind, 0);
    CHECK(listener >= 0);
    CHECK_OK(bind(listener, &address.any, address_bytes));
    CHECK_OK(listen(listener, 1));
    CHECK_OK(getsockname(listener, &address.any, &address_bytes));
}

static void listen_unix(void) { listen_at(AF_UNIX); }
static void listen_tcp(void) { listen_at(AF_INET); }

static void listen_unix_packets(void)
{
    socket_kind = SOCK_SEQPACKET;
    listen_unix();
}

static void ask_at(uint32_t host, in_port_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(host)};
    address.in = at;
    address_bytes = sizeof address.in;
}

/* The one who asks does so by an address of version 4. */
static void listen_tcp_mapped(void)
{
    listen_at(AF_INET6);
    ask_at(INADDR_LOOPBACK, address.in6.sin6_port);
}

/* It asks for any address, and reaches its own host. */
static void listen_tcp_any(void)
{
    listen_at(AF_INET);
    ask_at(INADDR_ANY, address.in.sin_port);
}

/* It asks by another name of the folder. */
static void listen_unix_linked(void)
{
    listen_at(AF_UNIX);
    snprintf(link_name, sizeof link_name, "link%d", (int)getpid());
    CHECK_OK(symlink(".", link_name));
    snprintf(address.un.sun_path, sizeof address.un.sun_path, "%s/socket%d", link_name, (int)getpid());
    address_bytes = sizeof address.un;
}

/* The first side listens, the other one connects. */
static void meet_at_address(int side)
{
    if (side == 0) {
        in[0] = out[0] = accept(listener, NULL, NULL);
        CHECK(in[0] >= 0);
        if (address.any.sa_family == AF_UNIX)
            CHECK_OK(unlink(address.un.sun_path));
        if (link_name[0] != 0)
            CHECK_OK(unlink(link_name));
        return;
    }
    in[1] = out[1] = socket(address.any.sa_family, socket_kind, 0);
    CHECK(in[1] >= 0);
    CHECK_OK(connect(in[1], &address.any, address_bytes));
}

static void await_message(int side)
{
    char byte;
    CHECK_EQ(recv(in[side], &byte, 1, 0), 1);
}

static void pass_message(int side) { CHECK_EQ(send(out[side], "", 1, 0), 1); }

/* ---- datagrams by address ----------------------------------------------------------------------------------- */

static union address addresses[2];

static void bind_datagrams(int family)
{
    for (int side = 0; side < 2; side++) {
        addresses[side].any.sa_family = family;
        address_bytes = bytes_of(&addresses[side]);
        if (family == AF_UNIX)
            snprintf(addresses[side].un.sun_path, sizeof addresses->un.sun_path, "datagrams%d-%d", (int)getpid(), side);
        else
            addresses[side].in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK((in[side] = socket(family, SOCK_DGRAM, 0)) >= 0);
        CHECK_OK(bind(in[side], &addresses[side].any, address_bytes));
        CHECK_OK(getsockname(in[side], &addresses[side].any, &address_bytes));
    }
}

static void bind_udp(void) { bind_datagrams(AF_INET); }
static void bind_unix_datagrams(void) { bind_datagrams(AF_UNIX); }

/* The first side has a socket of version 6, by which it sends to the other one and receives from it, which knows version 4 alone. */
static void bind_udp_mapped(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    socklen_t bytes = sizeof any;
    bind_udp();
    CHECK_OK(close(in[0]));
    CHECK((in[0] = socket(AF_INET6, SOCK_DGRAM, 0)) >= 0);
    CHECK_OK(bind(in[0], (struct sockaddr *)&any, bytes));
    CHECK_OK(getsockname(in[0], (struct sockaddr *)&any, &bytes));
    addresses[0].in.sin_port = any.sin6_port;
    any.sin6_port = addresses[1].in.sin_port;
    any.sin6_addr.s6_addr[10] = any.sin6_addr.s6_addr[11] = 0xff;
    memcpy(&any.sin6_addr.s6_addr[12], &addresses[1].in.sin_addr, sizeof addresses[1].in.sin_addr);
    addresses[1].in6 = any;
}

static void await_datagram(int side)
{
    char byte;
    CHECK_EQ(recvfrom(in[side], &byte, 1, 0, NULL, NULL), 1);
}

static void await_polled_datagram(int side)
{
    poll_byte(side);
    await_datagram(side);
}

static void pass_datagram(int side)
{
    CHECK_EQ(sendto(in[side], "", 1, 0, &addresses[!side].any, bytes_of(&addresses[!side])), 1);
}

/* The second side has no address until it asks, and is answered. */
static void bind_one_udp(void)
{
    bind_udp();
    CHECK_OK(close(in[1]));
    CHECK((in[1] = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
}

static void ask_or_be_asked(int side)
{
    char byte;
    socklen_t bytes = sizeof addresses[1];
    if (side == 1)
        pass_datagram(1);
    else
        CHECK_EQ(recvfrom(in[0], &byte, 1, 0, &addresses[1].any, &bytes), 1);
}

static void await_answer(int side)
{
    char byte;
    socklen_t bytes = sizeof address;
    CHECK_EQ(recvfrom(in[side], &byte, 1, 0, &address.any, &bytes), 1);
}

/* ---- other means ------------------------------------------------------------------------------------------ */

static int sets = -1, queue = -1, queue_of[2] = {-1, -1}, locks[2];
static mqd_t queues[2];
static char lock_file[32];

static void make_counters(void)
{
    for (int side = 0; side < 2; side++) {
        in[side] = out[!side] = eventfd(0, 0);
        CHECK(in[side] >= 0);
    }
}

static void await_count(int side)
{
    eventfd_t count;
    CHECK_OK(eventfd_read(in[side], &count));
}

static void await_polled_count(int side)
{
    poll_byte(side);
    await_count(side);
}

static void pass_count(int side) { CHECK_OK(eventfd_write(out[side], 1)); }

static void make_set(void)
{
    sets = semget(IPC_PRIVATE, 2, 0600);
    CHECK(sets >= 0);
}

static void change(int number, int by_how_much)
{
    struct sembuf operation = {number, by_how_much, 0};
    CHECK_OK(semop(sets, &operation, 1));
}

static void await_set(int side) { change(side, -1); }
static void pass_set(int side) { change(!side, 1); }

struct message {
    long kind;
    char byte;
};

static void make_queue(void)
{
    queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
}

static void receive(int from, long kind)
{
    struct message message;
    CHECK_EQ(msgrcv(from, &message, 1, kind, 0), 1);
}

static void send_to(int to, long kind)
{
    struct message message = {kind, 0};
    CHECK_OK(msgsnd(to, &message, 1, 0));
}

static void await_queued(int side) { receive(queue, side + 1); }
static void pass_queued(int side) { send_to(queue, !side + 1); }

static void make_queue_for_each(void)
{
    for (int side = 0; side < 2; side++) {
        queue_of[side] = msgget(IPC_PRIVATE, 0600);
        CHECK(queue_of[side] >= 0);
    }
}

static void await_in_own(int side) { receive(queue_of[side], 0); }
static void pass_to_other(int side) { send_to(queue_of[!side], 1 + side); }

static void open_queues(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    for (int side = 0; side < 2; side++) {
        char name[64];
        snprintf(name, sizeof name, "/syn-order-%d-%d", (int)getpid(), side);
        queues[side] = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        CHECK(queues[side] >= 0);
        CHECK_OK(mq_unlink(name));
    }
}

static void await_mq(int side)
{
    char byte;
    CHECK_EQ(mq_receive(queues[side], &byte, 1, NULL), 1);
}

static void pass_mq(int side) { CHECK_OK(mq_send(queues[!side], "", 1, 0)); }

/* One turn each: the first side has the lock before the other one starts. */
static void lock_bytes(int side, int kind)
{
    struct flock lock = {.l_type = kind, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5};
    CHECK_OK(fcntl(locks[side], shared ? F_SETLKW : F_OFD_SETLKW, &lock));
}

static void open_lock(int side)
{
    locks[side] = open(lock_file, O_RDWR | O_CREAT, 0600);
    CHECK(locks[side] >= 0);
}

static void take_file(void)
{
    rounds = 1;
    snprintf(lock_file, sizeof lock_file, "lock%d", (int)getpid());
    open_lock(0);
    CHECK_OK(flock(locks[0], LOCK_EX));
}

static void take_bytes(void)
{
    take_file();
    CHECK_OK(flock(locks[0], LOCK_UN));
    lock_bytes(0, F_WRLCK);
}

static void open_other_lock(int side)
{
    if (side == 0)
        return;
    if (shared)
        CHECK_OK(close(locks[0]));
    open_lock(1);
}

static void await_file(int side)
{
    if (side == 1)
        CHECK_OK(flock(locks[1], LOCK_SH));
}

static void await_refused(int side)
{
    while (side == 1 && flock(locks[1], LOCK_EX | LOCK_NB) != 0) {
        CHECK_EQ(errno, EWOULDBLOCK);
        usleep(500);
    }
}

static void await_bytes(int side)
{
    if (side == 1)
        lock_bytes(1, F_WRLCK);
}

static void pass_file(int side) { CHECK_OK(flock(locks[side], LOCK_UN)); }
static void pass_bytes(int side) { lock_bytes(side, F_UNLCK); }
static void close_file(int side) { CHECK_OK(close(locks[side])); }

/* ---- files: each turn has names of its own ------------------------------------------------------------------ */

static int awaited[2], passed[2], pair;

/* What the other side has made `nth` for this one. */
static const char *turn_file(int side, int nth, const char *kind)
{
    static _Thread_local char name[48];
    snprintf(name, sizeof name, "%s-%d-%d-%d", kind, pair, side, nth);
    return name;
}

static void make_file(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_OK(close(fd));
}

/* A question does not overlap what changes its answer: else neither a recording nor anyone could tell which came first. Nothing
 * of this is on record. */
static void begin_alone(void)
{
    while (atomic_exchange(&area->asking, 1))
        __builtin_ia32_pause();
}

static void end_alone(void) { area->asking = 0; }

static void hold_locks(void)
{
    for (int side = 0; side < 2; side++)
        for (int nth = 0; nth < ROUNDS; nth++)
            make_file(turn_file(side, nth, "lock"));
}

/* Asks the same of a name until the answer is another than this error. */
static void ask_until(int (*ask)(const char *), const char *name, int in_vain)
{
    for (;;) {
        begin_alone();
        int result = ask(name), error = errno;
        end_alone();
        if (result == 0)
            return;
        CHECK_EQ(error, in_vain);
        usleep(500);
    }
}

static int make_lock(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    return fd < 0 ? -1 : close(fd);
}

static int look_at(const char *name) { return access(name, F_OK); }

static void await_lock_file(int side) { ask_until(make_lock, turn_file(side, awaited[side]++, "lock"), EEXIST); }

static void pass_lock_file(int side)
{
    begin_alone();
    CHECK_OK(unlink(turn_file(!side, passed[side]++, "lock")));
    end_alone();
}

/* A folder can be removed when it is empty. */
static const char *file_in(const char *folder)
{
    static _Thread_local char name[64];
    snprintf(name, sizeof name, "%s/x", folder);
    return name;
}

static void fill_folders(void)
{
    for (int side = 0; side < 2; side++)
        for (int nth = 0; nth < ROUNDS; nth++) {
            const char *folder = turn_file(side, nth, "folder");
            CHECK_OK(mkdir(folder, 0700));
            make_file(file_in(folder));
        }
}

static void await_empty_folder(int side) { ask_until(rmdir, turn_file(side, awaited[side]++, "folder"), ENOTEMPTY); }

static void empty_folder(int side)
{
    begin_alone();
    CHECK_OK(unlink(file_in(turn_file(!side, passed[side]++, "folder"))));
    end_alone();
}

static void await_name(int side) { ask_until(look_at, turn_file(side, awaited[side]++, "turn"), ENOENT); }

static void pass_name(int side)
{
    begin_alone();
    make_file(turn_file(!side, passed[side]++, "turn"));
    end_alone();
}

static void await_bound(int side)
{
    await_name(side);
    CHECK_OK(unlink(turn_file(side, awaited[side] - 1, "turn")));
}

static void pass_bound(int side)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%s", turn_file(!side, passed[side]++, "turn"));
    begin_alone();
    CHECK_OK(bind(fd, (struct sockaddr *)&name, sizeof name));
    end_alone();
    CHECK_OK(close(fd));
}

static void pass_renamed(int side)
{
    make_file(turn_file(side, passed[side], "new"));
    char old[48];
    strcpy(old, turn_file(side, passed[side], "new"));
    begin_alone();
    CHECK_OK(rename(old, turn_file(!side, passed[side]++, "turn")));
    end_alone();
}

/* For each turn a socket that has an address, and listens when the turn is passed on. */
static int silent[2][ROUNDS], accepted[2];
static struct sockaddr_in addresses_of_turns[2][ROUNDS];

static void bind_for_turns(void)
{
    for (int side = 0; side < 2; side++)
        for (int nth = 0; nth < ROUNDS; nth++) {
            struct sockaddr_in *at = &addresses_of_turns[side][nth];
            socklen_t bytes = sizeof *at;
            at->sin_family = AF_INET;
            at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            CHECK((silent[side][nth] = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
            CHECK_OK(bind(silent[side][nth], (struct sockaddr *)at, bytes));
            CHECK_OK(getsockname(silent[side][nth], (struct sockaddr *)at, &bytes));
        }
}

static void accept_what_was_passed(int side)
{
    for (; accepted[side] < passed[side]; accepted[side]++) {
        int fd = accept(silent[!side][accepted[side]], NULL, NULL);
        CHECK(fd >= 0);
        CHECK_OK(close(fd));
    }
}

static void await_listening(int side)
{
    const struct sockaddr_in *at = &addresses_of_turns[side][awaited[side]++];
    accept_what_was_passed(side);
    for (int refused = 1; refused; usleep(500 * refused)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(fd >= 0);
        refused = connect(fd, (const struct sockaddr *)at, sizeof *at) != 0;
        CHECK(!refused || errno == ECONNREFUSED);
        CHECK_OK(close(fd));
    }
}

static void pass_listening(int side) { CHECK_OK(listen(silent[!side][passed[side]++], 1)); }

static int data[2] = {-1, -1};

static void open_data(void)
{
    for (int side = 0; side < 2; side++)
        CHECK((data[side] = open(turn_file(side, 0, "data"), O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0);
}

static void await_data(int side)
{
    char byte;
    for (;;) {
        begin_alone();
        ssize_t count = pread(data[side], &byte, 1, awaited[side]);
        end_alone();
        if (count == 1)
            break;
        CHECK_EQ(count, 0);
        usleep(500);
    }
    awaited[side]++;
}

static void pass_data(int side)
{
    begin_alone();
    CHECK_EQ(pwrite(data[!side], "x", 1, passed[side]++), 1);
    end_alone();
}

static void ignore(int signal) { (void)signal; }

static void block_signal(void)
{
    sigset_t set;
    CHECK_OK(sigemptyset(&set));
    CHECK_OK(sigaddset(&set, SIGUSR1));
    CHECK_OK(sigprocmask(SIG_BLOCK, &set, NULL));
    CHECK(signal(SIGUSR1, ignore) != SIG_ERR);
}

static void await_signal(int side)
{
    sigset_t set;
    (void)side;
    CHECK_OK(sigemptyset(&set));
    CHECK_OK(sigaddset(&set, SIGUSR1));
    CHECK_EQ(sigwaitinfo(&set, NULL), SIGUSR1);
}

static void await_handler(int side)
{
    sigset_t none;
    (void)side;
    CHECK_OK(sigemptyset(&none));
    CHECK_FAILS(sigsuspend(&none), EINTR);
}

static void open_signals(int side)
{
    sigset_t set;
    CHECK_OK(sigemptyset(&set));
    CHECK_OK(sigaddset(&set, SIGUSR1));
    CHECK((in[side] = signalfd(-1, &set, 0)) >= 0);
}

static void await_signal_read(int side)
{
    struct signalfd_siginfo info;
    CHECK_EQ(read(in[side], &info, sizeof info), sizeof info);
}

static void await_polled_signal(int side)
{
    poll_byte(side);
    await_signal_read(side);
}

static void pass_signal(int side) { CHECK_OK(kill(area->tids[!side], SIGUSR1)); }

/* One turn each: the first side is a child, whose end the other one waits for. */
static void await_child(void)
{
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void make_first_child(void)
{
    rounds = 1;
    first_is_child = 1;
}

static void await_exit(int side)
{
    CHECK_EQ(side, 1);
    await_child();
}

static void ask_for_exit(int side)
{
    int status;
    pid_t ended;
    CHECK_EQ(side, 1);
    while ((ended = waitpid(child, &status, WNOHANG)) == 0)
        usleep(500);
    CHECK_EQ(ended, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void pass_by_exit(int side) { (void)side; }

static void clean_up(void)
{
    if (silent[0][0] > 0)
        accept_what_was_passed(0);
    if (sets >= 0)
        CHECK_OK(semctl(sets, 0, IPC_RMID));
    int used[] = {queue, queue_of[0], queue_of[1]};
    for (int i = 0; i < 3; i++)
        if (used[i] >= 0)
            CHECK_OK(msgctl(used[i], IPC_RMID, NULL));
    if (lock_file[0])
        CHECK_OK(unlink(lock_file));
    for (int side = 0; side < 2; side++)
        if (addresses[side].any.sa_family == AF_UNIX)
            CHECK_OK(unlink(addresses[side].un.sun_path));
}

/* ---- turns ------------------------------------------------------------------------------------------------ */

static const struct mechanism {
    const char *name;
    void (*set_up)(void);
    void (*begin)(int side);
    void (*await)(int side);
    void (*pass)(int side);
} mechanisms[] = {
    {"mutex", take_mutex, NULL, await_mutex, pass_mutex},
    {"rwlock", take_rwlock, NULL, await_rwlock, pass_rwlock},
    {"condition", NULL, NULL, await_condition, pass_condition},
    {"barrier", NULL, NULL, meet, meet},
    {"semaphore", NULL, NULL, await_semaphore, pass_semaphore},
    {"named-semaphore", open_semaphores, NULL, await_named, pass_named},
    {"futex", NULL, NULL, await_futex, pass_futex},
    {"pipe", make_pipes, NULL, await_byte, pass_byte},
    {"pipe-splice", make_pipes, NULL, await_byte, splice_byte},
    {"pipe-poll", make_pipes, NULL, await_polled, pass_byte},
    {"pipe-epoll", make_pipes, NULL, await_epolled, pass_byte},
    {"ring", make_pipes, open_ring, await_byte_in_ring, pass_byte_in_ring},
    {"ring-poll", make_pipes, open_ring, poll_byte_in_ring, pass_byte_in_ring},
    {"pipe-full", fill_pipe, NULL, await_room_or_byte, make_room_or_byte},
    {"socket-full", fill_socket, NULL, await_space_or_byte, make_space_or_byte},
    {"socket-full-poll", fill_socket, NULL, await_polled_space_or_byte, make_space_or_byte},
    {"pipe-end", make_one_pipe, NULL, await_end, close_end},
    {"socketpair", make_socketpair, NULL, await_byte, pass_byte},
    {"unix", listen_unix, meet_at_address, await_message, pass_message},
    {"unix-packets", listen_unix_packets, meet_at_address, await_message, pass_message},
    {"unix-linked", listen_unix_linked, meet_at_address, await_message, pass_message},
    {"tcp", listen_tcp, meet_at_address, await_message, pass_message},
    {"tcp-poll", listen_tcp, meet_at_address, await_polled, pass_message},
    {"tcp-mapped", listen_tcp_mapped, meet_at_address, await_message, pass_message},
    {"tcp-any", listen_tcp_any, meet_at_address, await_message, pass_message},
    {"udp", bind_udp, NULL, await_datagram, pass_datagram},
    {"udp-mapped", bind_udp_mapped, NULL, await_datagram, pass_datagram},
    {"udp-poll", bind_udp, NULL, await_polled_datagram, pass_datagram},
    {"udp-answer", bind_one_udp, ask_or_be_asked, await_answer, pass_datagram},
    {"unix-datagram", bind_unix_datagrams, NULL, await_datagram, pass_datagram},
    {"terminal", open_terminal, NULL, await_byte, pass_byte},
    {"terminal-by-name", open_terminal_by_name, NULL, await_byte, pass_byte},
    {"terminal-elsewhere", open_master, open_slave, await_byte, pass_byte},
    {"terminal-lines", open_terminal_of_lines, NULL, await_line, pass_line},
    {"eventfd", make_counters, NULL, await_count, pass_count},
    {"eventfd-poll", make_counters, NULL, await_polled_count, pass_count},
    {"sysv-semaphore", make_set, NULL, await_set, pass_set},
    {"sysv-queue", make_queue, NULL, await_queued, pass_queued},
    {"sysv-queue-each", make_queue_for_each, NULL, await_in_own, pass_to_other},
    {"posix-queue", open_queues, NULL, await_mq, pass_mq},
    {"flock", take_file, open_other_lock, await_file, pass_file},
    {"flock-close", take_file, open_other_lock, await_file, close_file},
    {"flock-refused", take_file, open_other_lock, await_refused, pass_file},
    {"fcntl", take_bytes, open_other_lock, await_bytes, pass_bytes},
    {"lock-file", hold_locks, NULL, await_lock_file, pass_lock_file},
    {"folder", fill_folders, NULL, await_empty_folder, empty_folder},
    {"name", NULL, NULL, await_name, pass_name},
    {"name-of-socket", NULL, NULL, await_bound, pass_bound},
    {"renamed", NULL, NULL, await_name, pass_renamed},
    {"data", open_data, NULL, await_data, pass_data},
    {"signal", block_signal, NULL, await_signal, pass_signal},
    {"signal-handler", block_signal, NULL, await_handler, pass_signal},
    {"signal-descriptor", block_signal, open_signals, await_signal_read, pass_signal},
    {"signal-descriptor-poll", block_signal, open_signals, await_polled_signal, pass_signal},
    {"listening", bind_for_turns, NULL, await_listening, pass_listening},
    {"exit", make_first_child, NULL, await_exit, pass_by_exit},
    {"exit-asked", make_first_child, NULL, ask_for_exit, pass_by_exit},
    {NULL, NULL, NULL, NULL, NULL},
};
static const struct mechanism *by;

/* Until the other side is there, and sleeps if it does not come late. */
static void let_other_wait(int side)
{
    while (area->tids[!side] == 0)
        sched_yield();
    if (!late)
        let_sleep(area->tids[!side]);
}

/* For the round's turn of the other side. */
static void await_turn(int side, int round)
{
    while (late && area->passed[!side] <= round)
        usleep(50);
    by->await(side);
}

static void write_turn(int fd, int turn)
{
    CHECK_EQ(area->turns, turn);
    area->turns++;
    CHECK_EQ(write(fd, "x", 1), 1);
}

static void take_turns(int side, const char *file)
{
    area->tids[side] = syscall(SYS_gettid);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    if (by->begin)
        by->begin(side);
    for (int round = 0; round < rounds; round++) {
        if (side == 1)
            await_turn(1, round);
        write_turn(fd, 2 * round + side);
        if (side == 0 || round + 1 < rounds || rounds == 1) {
            if (side == 0 || rounds > 1)
                let_other_wait(side);
            by->pass(side);
            area->passed[side]++;
        }
        if (side == 0 && (round + 1 < rounds))
            await_turn(0, round);
    }
    CHECK_OK(close(fd));
}

static void *other_thread(void *file)
{
    take_turns(1, file);
    return NULL;
}

static void run_threads(const char *first, const char *second)
{
    pthread_t other;
    set_up_locks();
    if (by->set_up)
        by->set_up();
    CHECK_OK(pthread_create(&other, NULL, other_thread, (void *)second));
    take_turns(0, first);
    CHECK_OK(pthread_join(other, NULL));
    CHECK_EQ(area->turns, 2 * rounds);
    clean_up();
}

static void run_processes(void)
{
    set_up_locks();
    if (by->set_up)
        by->set_up();
    child = fork();
    CHECK(child >= 0);
    int is_child = child == 0, side = is_child != first_is_child;
    take_turns(side, side ? "b" : "a");
    if (is_child)
        exit(0);
    if (by->pass != pass_by_exit)
        await_child();
    CHECK_EQ(area->turns, 2 * rounds);
    clean_up();
}

static void run_apart(void)
{
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            pair = i;
            run_threads(i ? "c" : "a", i ? "d" : "b");
            exit(0);
        }
    }
    for (int i = 0; i < 2; i++) {
        child = children[i];
        await_child();
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3 || argc == 4);
    late = argc == 4 && strcmp(argv[3], "late") == 0;
    for (by = mechanisms; by->name && strcmp(by->name, argv[2]) != 0; by++)
        ;
    CHECK(by->name != NULL);
    shared = strcmp(argv[1], "processes") == 0;
    area = mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    CHECK(area != MAP_FAILED);
    if (shared)
        run_processes();
    else if (strcmp(argv[1], "apart") == 0)
        run_apart();
    else
        run_threads("a", "b");
    return 0;
}
