"""Ray: its servers and two workers; 60 tasks that compute, each with an object of 5 MB in shared memory."""
import ray

ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", object_store_memory=100 * 1024 * 1024)


@ray.remote
def work(number, data):
    total = 0
    for step in range(200000):
        total += step * number
    return total, data[:10]


data = ray.put(b"a" * 5000000)
print(sum(result[0] for result in ray.get([work.remote(number, data) for number in range(60)])))
ray.shutdown()
