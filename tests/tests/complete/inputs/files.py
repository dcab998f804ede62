"""Files in text and binary, through all three layers of io, and files mapped into memory."""
import io, mmap, os, sys, tempfile

with open("text", "w") as out:
    for number in range(3000):
        print("line", number, file=out)
with open("text") as lines:
    assert lines.readline() == "line 0\n"
    assert sum(1 for line in lines) == 2999
with io.FileIO("raw", "w+") as raw:
    assert raw.write(bytes(range(256)) * 300) == 76800
    raw.seek(70000)
    assert len(raw.readall()) == 6800
    raw.truncate(70000)
with open("raw", "r+b") as both:
    both.seek(-10, io.SEEK_END)
    assert both.tell() == 69990
    both.write(b"end")
    both.flush()
    os.fsync(both.fileno())
with open("mapped", "w+b") as file:
    file.truncate(1 << 20)
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[4096:4101] = b"hello"
        memory.flush()
        memory.resize(2 << 20)
        assert memory.find(b"hello") == 4096
with tempfile.TemporaryDirectory(dir=".") as folder:
    source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
    with open(source, "wb", buffering=0) as out:
        assert os.writev(out.fileno(), [b"a" * 1000, b"b" * 1000]) == 2000
        assert os.pwrite(out.fileno(), b"c", 500) == 1
    one, other = os.open(source, os.O_RDONLY), os.open(target, os.O_WRONLY | os.O_CREAT)
    assert os.sendfile(other, one, 0, 1500) == 1500
    assert os.copy_file_range(one, other, 500, 1500, 1500) == 500
    assert os.pread(one, 10, 495) == b"aaaaacaaaa"
    os.close(one)
    os.close(other)
    os.replace(target, source)
    assert os.stat(source).st_size == 2000
    assert [entry.name for entry in os.scandir(folder)] == ["source"]
try:
    open("there/is/none")
except FileNotFoundError as error:
    print(error)
print(sorted(os.listdir("/proc/self/fd"), key=int))
