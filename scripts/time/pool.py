# Worker processes that each write a file and read it again. Argument: how many files.

import multiprocessing, sys

def work(number):
    text = "".join("%d %d\n" % (number, value * value) for value in range(3000))
    with open("part%d" % number, "w") as out:
        out.write(text)
    with open("part%d" % number) as lines:
        return sum(int(line.split()[1]) for line in lines)

if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool, open("sums", "w") as out:
        for total in pool.imap_unordered(work, range(int(sys.argv[1]))):
            print(total, file=out)
