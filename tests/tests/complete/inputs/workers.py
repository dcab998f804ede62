"""subprocess in its forms, and multiprocessing with fork and with spawn."""
import multiprocessing, os, subprocess, sys


def work(number):
    with open(f"worker.{number}", "w") as out:
        out.write(str(number) * 1000)
    return os.path.getsize(f"worker.{number}")


def children():
    assert subprocess.run(["true"]).returncode == 0
    assert subprocess.check_output(["cat", __file__]) == open(__file__, "rb").read()
    piped = subprocess.run(["tr", "a-z", "A-Z"], input="to upper", capture_output=True, text=True)
    assert piped.stdout == "TO UPPER"
    assert subprocess.run("exit 7", shell=True).returncode == 7
    one = subprocess.Popen(["seq", "1000"], stdout=subprocess.PIPE)
    other = subprocess.Popen(["wc", "-l"], stdin=one.stdout, stdout=subprocess.PIPE)
    one.stdout.close()
    assert other.communicate()[0].strip() == b"1000" and one.wait() == 0
    try:
        subprocess.run(["there is no such program"])
    except FileNotFoundError as error:
        print(error)
    assert os.system("true") == 0
    assert os.popen("echo popen").read() == "popen\n"
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


if __name__ == "__main__":
    children()
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            sizes = pool.map(work, range(4))
            pool.close()
            pool.join()
        print(method, sizes)
