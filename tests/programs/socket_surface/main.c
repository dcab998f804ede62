/* socket_surface: the calls on sockets, for waiting, and on descriptors that tell of events, with their __ and fortified
 * twins, over the loopback interface alone.
 *
 * Each part is a family of calls and verifies every result: data, addresses, what is ready, and errno of what must fail.
 * Built with -D_FORTIFY_SOURCE=2 it takes libc's checked entry points where there are some. The parts work in a folder
 * of their own, which is empty again at the end of each, and print nothing that differs from run to run.
 *
 *   socket_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

static const struct part parts[] = {
    {"tcp", tcp},
    {"tcp6", tcp_in_version_6},
    {"tcp-nonblocking", tcp_without_waiting},
    {"tcp-threads", tcp_between_threads},
    {"udp", udp},
    {"udp-connected", udp_connected},
    {"unix-streams", unix_streams},
    {"unix-datagrams", unix_datagrams},
    {"pairs", pairs},
    {"options", options},
    {"vectors", vectors_of_messages},
    {"messages", messages},
    {"descriptors", descriptors_in_messages},
    {"many-descriptors", descriptors_in_many_messages},
    {"select", selecting},
    {"poll", polling},
    {"poll-many", polling_many},
    {"select-high", selecting_high},
    {"epoll", epolling},
    {"cancel", cancelling},
    {"eventfd", events},
    {"timerfd", timers},
    {"signalfd", signals},
    {"inotify", watches},
    {"pidfd", processes},
    {"libc", libc_itself},
    {"bad-descriptors", bad_descriptors},
    {"bad-addresses", bad_addresses},
    {"nobody-there", nobody_there},
    {"killed", killed},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return parts_main(argc, argv, "socket_surface", parts);
}
