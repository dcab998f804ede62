# A handler for SIGCHLD that does nothing, and a child that sleeps for 0.4 s: the parent waits, it does not compute.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID);

$| = 1;

# The process's only thread, in the form of time.h.
sub report {
    my ($began, $wait) = @_;
    my $used = int(1e9 * clock_gettime(CLOCK_PROCESS_CPUTIME_ID));
    syswrite STDOUT, sprintf("pid=%d tid=%d cpu_ns=%d wall_ns=%d work_ns=0 inside_ns=0 wait_ns=%d\npid=%d cpu_user_sys_ns=%d\n",
        $$, $$, $used, 1e9 * (clock_gettime(CLOCK_MONOTONIC) - $began), 1e9 * $wait, $$, $used);
}

my $began = clock_gettime(CLOCK_MONOTONIC);
$SIG{CHLD} = sub { };
my $child = fork;
die "cannot fork: $!" unless defined $child;
if (!$child) {
    $began = clock_gettime(CLOCK_MONOTONIC);
    sleep 0.4;
    report($began, 0.4);
    exit 0;
}
my $entered = clock_gettime(CLOCK_MONOTONIC);
waitpid($child, 0) == $child or die "waitpid: $!";
report($began, clock_gettime(CLOCK_MONOTONIC) - $entered - 0.01);
