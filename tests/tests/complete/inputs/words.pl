# Files, pipes, folders and children in Perl.
use strict;
use warnings;
use Fcntl qw(:flock SEEK_SET);
open(my $out, '>', 'words') or die $!;
printf $out "%d word%d\n", $_ * 7919 % 1000, $_ for 1 .. 5000;
close $out;
open(my $both, '+<', 'words') or die $!;
flock($both, LOCK_EX) or die $!;
my %seen;
while (<$both>) { $seen{ (split)[0] }++ }
seek($both, 0, SEEK_SET);
sysread($both, my $start, 100) == 100 or die $!;
close $both;
open(my $sorted, '-|', 'sort', '-n', 'words') or die $!;
my $lines = () = <$sorted>;
close $sorted or die $!;
open(my $to, '|-', 'cat > through') or die $!;
print $to "through a pipe\n" x 1000;
close $to or die $!;
mkdir 'folder' or die $!;
rename 'through', 'folder/renamed' or die $!;
opendir(my $folder, 'folder') or die $!;
my @names = grep { !/^\./ } readdir $folder;
closedir $folder;
my $pid = fork // die $!;
if (!$pid) { open(my $child, '>>', 'words') or die $!; print $child "child\n"; exit 3 }
waitpid $pid, 0;
print scalar(keys %seen), " $lines @names ", $? >> 8, " ", -s 'words', " ", `echo back`;
