//! The programs: small, the same each time, in the empty folder they are started in.

use crate::compare::{Errors, Program};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use tests::workloads::{self, python_itself};
use tests::{Job, has_component, mpirun, program};

/// A program that is described by what it runs, and by the classes of calls without which it would not have run.
fn of(job: Job, makes: &'static [&'static str]) -> Program {
    Program { job, makes, different: &[], errors: Errors::Counted }
}

/// A shell script that finds the files of [`input`] in `$inputs`.
fn script(text: &'static str, makes: &'static [&'static str]) -> Program {
    of(Job::new("sh").args(["-e", "-c", text]).env("inputs", input("")), makes)
}

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/complete/inputs").join(name)
}

/// A port on loopback that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    listener.local_addr().expect("the address of a listener").port()
}

/// What moves files about, and what sorts them.
pub fn coreutils() -> Program {
    const SCRIPT: &str = "
        seq 1 20000 > numbers
        cp numbers copied
        cp -a --reflink=never copied preserved
        dd if=numbers of=blocks bs=4096 conv=fsync,notrunc status=none
        dd if=numbers of=sought bs=1k count=3 skip=2 seek=5 status=none
        sort -r --parallel=2 -S 64k -T . numbers -o sorted
        shuf --random-source=numbers numbers -o shuffled
        split -n 3 sorted part.
        cat part.aa part.ab part.ac > joined
        cmp joined sorted
        mkdir -p a/b
        ln numbers a/hard; ln -s ../numbers a/soft
        mv joined a/b/moved
        touch -d @0 a/b/moved; chmod 600 a/b/moved
        truncate -s 100 sought; stat -c %s sought
        ls -l --time-style=+%s a/b; readlink a/soft; du --apparent-size -s -b a/b
        tee teed < numbers > /dev/null
        install -m 644 numbers a/installed
        sync a/installed
        wc -l sorted a/soft; cksum shuffled; md5sum numbers blocks
        ls /proc/self/fd
        rm -r a/b part.*";
    script(SCRIPT, &["read", "write", "open", "copy from", "rename", "synchronize", "mode", "times"])
}

/// What libc opens, reads and asks about by itself.
pub fn libc() -> Program {
    of(Job::new(program("libc_surface")), &["read", "open", "list", "status", "map"])
}

/// tail waits for what another process appends, and ends with it.
pub fn tail() -> Program {
    const SCRIPT: &str = "
        echo first > log
        (sleep 0.1; seq 2 50 >> log; sleep 0.1; echo last >> log) &
        tail -n +1 -s 0.05 -f --pid=$! log
        wait";
    script(SCRIPT, &["read", "notices", "poll"])
}

/// tar, gzip, xz, alone and through pipes.
pub fn archives() -> Program {
    const SCRIPT: &str = "
        mkdir d
        seq 1 30000 > d/numbers; ln -s numbers d/link; mkdir d/empty
        tar -c --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -f d.tar d
        gzip -n -k -9 d.tar; gzip -t d.tar.gz
        xz -k -T2 --block-size=64KiB d.tar; xz -t d.tar.xz
        mkdir e f
        tar -x -z -C e -f d.tar.gz
        tar -x -J -C f -f d.tar.xz
        cmp e/d/numbers f/d/numbers
        tar -c -z --mtime=@0 --owner=0 --group=0 -f - -C e d | tar -t -z
        zcat d.tar.gz | cksum";
    script(SCRIPT, &["read", "write", "make folder", "symbolic link", "list"])
}

/// A repository made, cloned both ways, and cleaned up.
pub fn git() -> Program {
    const SCRIPT: &str = "
        export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000'
        git config --global user.name name; git config --global user.email name@localhost
        git config --global gc.auto 0; git config --global init.defaultBranch main
        git init -q source
        for number in 1 2 3 4 5; do
            seq $number 3000 > source/numbers; mkdir -p source/$number; echo $number > source/$number/file
            git -C source add -A
            git -C source commit -q -m $number
        done
        git clone -q source local
        git clone -q file://$PWD/source copied
        git -C copied gc -q --prune=now
        git -C copied fsck
        git -C copied log --format=%H
        git -C local diff --stat HEAD~2";
    let different =
        &["index", "pack-", "packed-refs", ".git/logs", "info/refs", "info/packs", "commit-graph"];
    let program = script(SCRIPT, &["read", "write", "rename", "link", "map"]);
    Program { different, errors: Errors::Reasons, ..program }
}

/// sqlite3 with a journal, with a write-ahead log, and through a mapping.
pub fn sqlite() -> Program {
    script("sqlite3 database < $inputs/statements.sql", &["read", "write", "synchronize", "control", "map"])
}

fn python(file: &str, makes: &'static [&'static str]) -> Program {
    // -S, -E and -B: nothing of the machine's packages and settings, nothing left in the folder of the file.
    of(Job::new(python_itself()).args(["-S", "-E", "-B"]).arg(input(file)), makes)
}

/// io and mmap in Python.
pub fn python_files() -> Program {
    python("files.py", &["read", "write", "seek", "map", "copy from"])
}

/// asyncio in Python.
pub fn python_events() -> Program {
    python("events.py", &["socket", "accept", "connect", "send", "receive", "poll set wait"])
}

/// subprocess and multiprocessing in Python.
pub fn python_workers() -> Program {
    python("workers.py", &["process", "program", "wait", "pipe", "read"])
}

/// A Perl program.
pub fn perl() -> Program {
    of(Job::new("perl").arg(input("words.pl")), &["read", "seek", "lock", "pipe", "process"])
}

/// make and gcc.
pub fn compiler() -> Program {
    let program =
        script("cp -r $inputs/project .; make -s -C project; cat project/result", &["read", "write", "wait"]);
    Program { different: &["libpart.a"], ..program }
}

/// curl, and nginx as server and as proxy of itself.
pub fn web() -> Program {
    const SCRIPT: &str = "
        mkdir pages temp; seq 1 20000 > pages/numbers
        sed s/@port@/$port/ $inputs/nginx.conf > nginx.conf
        [ $(id -u) != 0 ] || as='user root;'
        nginx -e error.log -p $PWD/ -c nginx.conf -g \"$as\" & server=$!
        until [ -s nginx.pid ]; do sleep 0.02; done
        at=http://127.0.0.1:$port
        curl -s -o got $at/numbers; cmp got pages/numbers
        curl -s -o got $at/to/numbers; cmp got pages/numbers
        curl -s -o /dev/null -w '%{http_code}\\n' $at/none
        curl -s -o /dev/null -w '%{http_code}\\n' -T got $at/up/sent
        cmp pages/up/sent got
        kill -QUIT $server
        wait $server";
    let program =
        script(SCRIPT, &["socket", "accept", "connect", "send", "receive", "copy from", "poll set wait"]);
    let port = free_port().to_string();
    Program {
        job: program.job.env("port", port),
        different: &["access.log", "error.log", "got"],
        errors: Errors::Reasons,
        ..program
    }
}

/// redis-server with a log and a snapshot, and its benchmark.
pub fn redis() -> Program {
    // A child that still rewrites at the end is told to end, in the middle of whatever call it makes.
    const SCRIPT: &str = "
        redis-server --port 0 --unixsocket socket --dir . --save '' --appendonly yes --daemonize no > log &
        until [ -S socket ]; do sleep 0.02; done
        redis-benchmark -s socket -c 4 -n 400 -P 2 -t set,get,lpush,lrange_100 > benchmark
        redis-cli -s socket set key value
        redis-cli -s socket save
        redis-cli -s socket bgrewriteaof
        redis-cli -s socket dbsize
        for i in $(seq 400); do
            redis-cli -s socket info persistence | grep -q aof_rewrite_in_progress:0 && break
            sleep 0.05
        done
        redis-cli -s socket shutdown nosave
        wait";
    let program =
        script(SCRIPT, &["socket", "accept", "connect", "read", "write", "poll set wait", "synchronize"]);
    Program {
        different: &["log", "benchmark", "appendonlydir", "dump.rdb"],
        errors: Errors::Reasons,
        ..program
    }
}

/// fio with every engine that needs no device or server of its own. Those that do, and what they miss: dev-dax, mtd, sg and
/// io_uring_cmd (a device), rdma (an adapter), gfapi, rados, rbd and nbd (a server), e4defrag (a donor file on ext4).
pub fn fio() -> Program {
    const SCRIPT: &str = "
        fio --output=jobs $inputs/jobs.fio
        case $(fio --enghelp) in *pmemblk*) fio --output=jobs $inputs/pmemblk.fio ;; esac";
    let makes = &[
        "read",
        "write",
        "map",
        "copy from",
        "aio submission",
        "ring",
        "ring entry",
        "allocate",
        "synchronize",
    ];
    let program = script(SCRIPT, makes);
    // The write engine that maps persistent memory takes a file for it.
    Program {
        job: program.job.env("PMEM_IS_PMEM_FORCE", "1"),
        different: &["is not the same"],
        errors: Errors::Reasons,
        ..program
    }
}

/// fio between processes, by way of Unix sockets: over TCP it would listen on all interfaces. It ends with the number of
/// jobs, since each of them tries to end a stream like a datagram.
pub fn fio_between_processes() -> Program {
    const SCRIPT: &str = "fio --output=jobs $inputs/net.fio 2> /dev/null || test $? -le 4; rm net netsplice";
    let program = script(SCRIPT, &["socket", "accept", "connect", "send", "receive"]);
    Program { different: &["jobs"], errors: Errors::Reasons, ..program }
}

/// LAMMPS with two ranks.
pub fn lammps() -> Program {
    let makes: &[&str] = match has_component("pt2pt") {
        true => &["read", "write", "open", "socket", "poll"],
        // Open MPI 5 spins.
        false => &["read", "write", "open", "socket"],
    };
    let program = of(workloads::lammps(2, 4, 20), makes);
    Program { different: &["log.lammps"], errors: Errors::Raced, ..program }
}

/// The HPC Challenge with two ranks.
pub fn hpcc() -> Program {
    let setup = format!("cp {} .; exec \"$@\"", input("hpccinf.txt").display());
    let job = Job::new("sh").args(["-e", "-c", &setup, "sh"]).followed_by(&mpirun(2).arg("hpcc"));
    Program { different: &["hpccoutf.txt"], errors: Errors::Raced, ..of(job, &["read", "write", "open"]) }
}

/// Every form of Fortran's own I/O.
pub fn fortran() -> Program {
    script(
        "gfortran -O1 -o program $inputs/files.f90; ./program; rm program",
        &["read", "write", "seek", "truncate"],
    )
}

/// MPI from Fortran.
pub fn fortran_mpi() -> Program {
    Program { errors: Errors::Raced, ..of(mpirun(2).arg(program("mpi_surface_f")), &["read", "open"]) }
}
