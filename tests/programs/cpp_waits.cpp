// What the C++ library makes of locks: std::mutex, shared_mutex, condition_variable with and without a time, threads.
//
// Two threads hand a turn back and forth; each waits for the other's notice. Ends with code 1 when a turn is lost.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>

enum { TURNS = 200 };

static std::mutex mutex;
static std::condition_variable changed;
static std::shared_timed_mutex shared;
static int turn, waiting;

static void take_turns(int mine, bool in_time)
{
    for (int i = 0; i < TURNS; i++) {
        std::unique_lock<std::mutex> lock(mutex);
        auto is_mine = [&] { return turn % 2 == mine; };
        if (!in_time)
            changed.wait(lock, is_mine);
        else if (!changed.wait_for(lock, std::chrono::hours(1), is_mine))
            std::exit(1);
        turn++;
        changed.notify_all();
    }
}

static bool times_out()
{
    std::unique_lock<std::mutex> lock(mutex);
    auto now = std::chrono::system_clock::now();
    return changed.wait_until(lock, now - std::chrono::seconds(1)) == std::cv_status::timeout;
}

int main()
{
    std::thread other(take_turns, 1, true);
    take_turns(0, false);
    other.join();
    shared.lock();
    std::thread reader([] {
        if (shared.try_lock_until(std::chrono::steady_clock::now()))
            std::exit(1);
        waiting = 1;
    });
    reader.join();
    shared.unlock();
    if (turn != 2 * TURNS || waiting != 1 || !times_out())
        return 1;
    std::printf("cpp_waits: %d turns\n", turn);
    return 0;
}
