"""Mapped files: one is read from its beginning to its end, one in no order, one is written and written back piece by piece."""

import mmap
import os
import random
import sys
import time

MB = 1 << 20
PAGE = 4096


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def read(name, pages, at_once):
    with open(name, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    total = 0
    for number, page in enumerate(pages):
        total += memory[page * PAGE]
        if number % at_once == 0:
            compute(0.001)
    memory.close()
    return total


def write(name, pieces):
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, pieces * MB)
    memory = mmap.mmap(file, pieces * MB)
    os.close(file)
    for piece in range(pieces):
        for page in range(piece * MB // PAGE, (piece + 1) * MB // PAGE):
            memory[page * PAGE] = 1
        compute(0.01)
        memory.flush(piece * MB, MB)
    memory.close()


pages = os.stat("one").st_size // PAGE
some = random.Random(1).sample(range(pages), pages // 16)
print(read("one", range(pages), 64), read("other", some, 8))
write("out", int(sys.argv[1]))
