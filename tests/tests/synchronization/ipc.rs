//! Semaphores, memory and messages between processes.

use crate::{count, failures, number, part, results, values};
use tests::{Job, program_fortified, record};

const EAGAIN: i32 = 11;
const EBADF: i32 = 9;
const EFAULT: i32 = 14;
const EINVAL: i32 = 22;
const ENOENT: i32 = 2;
const ENOMSG: i32 = 42;
const ETIMEDOUT: i32 = 110;

#[test]
fn semaphores_of_system_v() {
    let (_, dump) = part("sysv-semaphore");
    assert_eq!(failures(&dump, "semop"), [EAGAIN, EAGAIN, EFAULT, EFAULT, EINVAL]);
    let set = dump.calls("semget").next().expect("a set is made").result;
    assert_eq!(values(&dump, "semop", "semid"), [set].into());
    let lists: Vec<_> = dump.calls("semop").map(|seen| seen.args["sops"].to_string()).collect();
    let without_waiting = format!("[0,-1,{}]", 0o4000);
    let undo = "[0,-1,0,1,-2,4096]"; // SEM_UNDO
    assert_eq!(
        lists[..4],
        [without_waiting.as_str(), "[0,-1,0]", "[]", "[]"],
        "read only where the kernel did"
    );
    assert!(lists.iter().any(|list| list == undo), "{lists:?}");
    assert!(lists.iter().any(|list| list == "[0,1,0,1,2,0]"), "{lists:?}");
    let timeouts: Vec<_> = dump.calls("semop").map(|seen| number(seen, "timeout")).collect();
    assert_eq!(timeouts[..4], [-1, 1, -1, 0], "0 where the kernel may not have read it");
    assert!(count(&dump, "semctl") >= 3);
}

#[test]
fn memory_and_messages_of_system_v() {
    let (_, dump) = part("sysv");
    let memory = results(&dump, "shmget")[0];
    assert_eq!(values(&dump, "shmat", "shmid"), [memory].into());
    assert_eq!(failures(&dump, "shmat"), [EINVAL]);
    let attached = dump.calls("shmat").next().expect("it is attached").result;
    assert_eq!(values(&dump, "shmdt", "shmaddr"), [attached].into());
    assert_eq!(count(&dump, "shmctl"), 1);
    assert_eq!(failures(&dump, "msgsnd"), [EFAULT]);
    assert_eq!(failures(&dump, "msgrcv"), [ENOMSG]);
    assert_eq!(results(&dump, "msgrcv")[0], 6);
    let queue = results(&dump, "msgget")[0];
    assert_eq!(values(&dump, "msgsnd", "msqid"), [queue].into());
    assert_eq!(count(&dump, "msgctl"), 1);
}

#[test]
fn queues_of_posix() {
    for dump in [part("queue").1, {
        let recorded = record(&Job::new(program_fortified("sync_surface")).arg("queue"));
        tests::Dump::of(&recorded.run_folder())
    }] {
        assert_eq!(failures(&dump, "mq_open"), [ENOENT]);
        let opened = dump.calls("mq_open").next().expect("a queue is made");
        let (queue, name) = (opened.result, opened.args["name"].as_str().expect("a text"));
        assert!(name.starts_with("/sync_surface."), "{name}");
        assert_eq!(number(opened, "mode"), 0o600);
        assert!(number(opened, "st_ino") > 0);
        assert_eq!(failures(&dump, "mq_send"), [ETIMEDOUT]);
        assert_eq!(failures(&dump, "mq_receive"), [ETIMEDOUT]);
        assert_eq!(values(&dump, "mq_send", "mqdes"), [queue].into());
        let mut received: Vec<_> =
            dump.calls("mq_receive").filter(|seen| seen.errno.is_none()).map(|seen| seen.result).collect();
        received.sort();
        assert_eq!(received, [5, 5, 6]);
        let own = |seen: &&tests::Seen| number(seen, "fd") == queue;
        let closed: Vec<_> = dump.calls("close").filter(own).map(|seen| seen.errno).collect();
        assert_eq!(closed, [None, Some(EBADF)]);
        assert_eq!(count(&dump, "mq_unlink"), 1);
        // Its name in a child that was forked looks like a file's.
        let inherited = dump.calls("inherited-fd").find(own).expect("a child has the queue");
        assert_eq!(inherited.path, None);
        assert_eq!(number(inherited, "st_ino"), number(opened, "st_ino"));
    }
}

#[test]
fn named_semaphores() {
    let (_, dump) = part("named-semaphore");
    assert_eq!(failures(&dump, "sem_open"), [ENOENT]);
    let handle = number(dump.calls("sem_open").next().expect("it is opened"), "sem");
    assert_eq!(values(&dump, "sem_timedwait", "sem"), [handle].into());
    assert_eq!(count(&dump, "sem_wait"), 0, "it had its value");
    assert_eq!(values(&dump, "sem_close", "sem"), [handle].into());
    assert_eq!(failures(&dump, "sem_unlink"), [ENOENT]);
}
