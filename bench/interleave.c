/* Runs one command under several environments in turn and prints how long each run took.
 *
 *   interleave -n ROUNDS -p PREFIX [-b BEFORE] VARIANT[:NAME=VALUE]... -- COMMAND [ARGUMENT]...
 *
 * A VARIANT is a name and what is put into its environment, separated by blanks: "shim:LD_PRELOAD=x.so SYN_RUN=/r".
 * BEFORE is a shell command that runs before every run and is not timed. The order of the variants turns around in
 * every other round, so that a drift of the machine falls on all alike. For each run two lines,
 *
 *   PREFIX,VARIANT,ROUND,elapsed_ns,NUMBER      from before posix_spawn(3) to after wait4(2)
 *   PREFIX,VARIANT,ROUND,cpu_ns,NUMBER          of the process and of the descendants that were waited for
 *
 * and the command's own output goes to /dev/null. A run that does not exit with 0 ends everything; SIGINT and SIGTERM
 * end the run under way too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_VARIANTS = 16, MAX_SETTINGS = 16, MAX_ENVIRONMENT = 4096 };

struct variant {
    const char *name;
    char *settings[MAX_SETTINGS];
    int count;
};

static void usage(void)
{
    fprintf(stderr, "usage: interleave -n ROUNDS -p PREFIX [-b BEFORE] VARIANT[:NAME=VALUE...]... -- "
                    "COMMAND [ARGUMENT]...\n");
    exit(2);
}

static struct variant parse(char *text)
{
    struct variant variant = {.name = text};
    char *settings = strchr(text, ':');
    if (settings == NULL)
        return variant;
    *settings++ = 0;
    for (char *one = strtok(settings, " "); one != NULL; one = strtok(NULL, " ")) {
        if (strchr(one, '=') == NULL || variant.count == MAX_SETTINGS)
            usage();
        variant.settings[variant.count++] = one;
    }
    return variant;
}

static int is_set_by(const struct variant *variant, const char *entry)
{
    size_t name = strcspn(entry, "=") + 1;
    for (int i = 0; i < variant->count; i++)
        if (strncmp(variant->settings[i], entry, name) == 0)
            return 1;
    return 0;
}

static char **environment_of(const struct variant *variant)
{
    static char *all[MAX_ENVIRONMENT + MAX_SETTINGS + 1];
    int count = 0;
    for (char **entry = environ; *entry != NULL && count < MAX_ENVIRONMENT; entry++)
        if (!is_set_by(variant, *entry))
            all[count++] = *entry;
    for (int i = 0; i < variant->count; i++)
        all[count++] = variant->settings[i];
    all[count] = NULL;
    return all;
}

static volatile pid_t running;

static void stop(int signal, siginfo_t *from, void *context)
{
    char text[96];
    (void)context;
    int length = snprintf(text, sizeof text, "interleave: ended by signal %d of process %ld\n", signal, (long)from->si_pid);
    if (running > 0)
        kill(running, SIGTERM);
    if (write(STDERR_FILENO, text, length) == length)
        _exit(128 + signal);
    _exit(1);
}

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long used(const struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000LL
           + (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000LL;
}

static void run(const char *prefix, const struct variant *variant, int round, char **command,
                const posix_spawn_file_actions_t *actions)
{
    char **environment = environment_of(variant);
    struct rusage usage;
    int status;
    pid_t pid;
    long long began = now();
    int error = posix_spawnp(&pid, command[0], actions, NULL, command, environment);
    running = error == 0 ? pid : 0;
    if (error != 0 || wait4(pid, &status, 0, &usage) != pid) {
        fprintf(stderr, "interleave: cannot run %s: %s\n", command[0], strerror(error));
        exit(1);
    }
    long long elapsed = now() - began;
    running = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "interleave: %s (variant %s, round %d) ended with wait status %#x\n", command[0], variant->name,
                round, status);
        exit(1);
    }
    printf("%s,%s,%d,elapsed_ns,%lld\n", prefix, variant->name, round, elapsed);
    printf("%s,%s,%d,cpu_ns,%lld\n", prefix, variant->name, round, used(&usage));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct variant variants[MAX_VARIANTS];
    const char *prefix = NULL, *before = "";
    int rounds = 0, count = 0, option;
    while ((option = getopt(argc, argv, "+n:p:b:")) != -1) {
        switch (option) {
        case 'n': rounds = atoi(optarg); break;
        case 'p': prefix = optarg; break;
        case 'b': before = optarg; break;
        default: usage();
        }
    }
    int at = optind;
    for (; at < argc && strcmp(argv[at], "--") != 0 && count < MAX_VARIANTS; at++)
        variants[count++] = parse(argv[at]);
    if (rounds < 1 || prefix == NULL || count == 0 || at + 1 >= argc || strcmp(argv[at], "--") != 0)
        usage();
    struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_SIGINFO};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int round = 1; round <= rounds; round++)
        for (int i = 0; i < count; i++) {
            if (*before != 0 && system(before) != 0) {
                fprintf(stderr, "interleave: \"%s\", to be run before every run, failed\n", before);
                return 1;
            }
            run(prefix, &variants[round % 2 ? i : count - 1 - i], round, argv + at + 1, &actions);
        }
    return 0;
}
