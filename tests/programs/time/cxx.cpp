/* Computation between C++ streams, in std::async and in threads that wait for each other.
 *
 *   cxx      works in the current folder
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <future>
#include <iostream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace {

constexpr long long MS = 1000000;

long long clock_ns(clockid_t clock)
{
    timespec now;
    if (clock_gettime(clock, &now) != 0)
        std::abort();
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* One thread's figures, as time.h prints them. */
struct Known {
    long long began = clock_ns(CLOCK_MONOTONIC), work = 0, wait = 0;

    /* Until the thread has used `ns` of CPU time. */
    void compute(long long ns)
    {
        long long from = clock_ns(CLOCK_THREAD_CPUTIME_ID), used = 0;
        volatile double x = 2;
        while (used < ns) {
            // A part of what is left: see time.h.
            for (long long step = 1000 + (ns - used) / 16; step > 0; step--)
                x = x * 0.999999 + 0.000001;
            used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
        }
        work += used;
    }

    void report() const
    {
        dprintf(1, "pid=%d tid=%d cpu_ns=%lld wall_ns=%lld work_ns=%lld inside_ns=0 wait_ns=%lld\n", getpid(), gettid(),
                clock_ns(CLOCK_THREAD_CPUTIME_ID), clock_ns(CLOCK_MONOTONIC) - began, work, wait);
    }
};

void streams(Known &own)
{
    std::ofstream out("cxx.txt");
    for (int i = 0; i < 5; i++) {
        own.compute(10 * MS);
        out << "round " << i << std::endl;
        own.compute(2 * MS);
        out << "more of it\n";
    }
}

void tasks(Known &own)
{
    auto task = std::async(std::launch::async, [] {
        Known mine;
        mine.compute(40 * MS);
        mine.report();
        return 1;
    });
    own.compute(10 * MS);
    if (task.get() != 1)
        std::abort();
}

void conditions(Known &own)
{
    std::mutex mutex;
    std::condition_variable condition;
    bool ready = false;
    std::atomic<long long> released{0};
    std::thread other([&] {
        Known mine;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        mine.wait += 50 * MS;
        {
            std::lock_guard<std::mutex> lock(mutex);
            ready = true;
            released = clock_ns(CLOCK_MONOTONIC);
        }
        condition.notify_one();
        mine.report();
    });
    own.compute(5 * MS);
    {
        std::unique_lock<std::mutex> lock(mutex);
        long long entered = clock_ns(CLOCK_MONOTONIC);
        condition.wait(lock, [&] { return ready; });
        own.wait += std::max(0LL, released - entered);
    }
    other.join();
}

} // namespace

int main()
{
    Known own;
    streams(own);
    tasks(own);
    conditions(own);
    own.report();
    dprintf(1, "pid=%d cpu_user_sys_ns=%lld\n", getpid(), clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
