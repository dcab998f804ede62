# inherit: the shell's loop of programs with its output in a file
for i in {1..60}; do /bin/true; done >log
# inheritr, in another shell: a file of 3000 lines that all read from
exec <l; for i in {1..60}; do head -c 10; done | wc -l
