"""Dask: a scheduler and two worker processes; 60 tasks write, read and hash a file of 1 MiB each in the current folder."""
import hashlib
import os

from dask.distributed import Client, LocalCluster


def work(number, folder):
    path = f"{folder}/p{number}"
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 20))
    digest = hashlib.sha256()
    for _ in range(10):
        with open(path, "rb") as file:
            digest.update(file.read())
    os.remove(path)
    return len(digest.hexdigest())


if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp") as cluster:
        with Client(cluster) as client:
            tasks = [client.submit(work, number, os.getcwd()) for number in range(60)]
            print(client.submit(sum, tasks).result())
