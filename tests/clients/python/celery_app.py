"""Celery's main ways over kombu: tasks, results, retries, a countdown, a chain, a group, a chord, a revoked task, and
a plain queue of kombu's. `celery_app.py PORT`."""

import sys
from queue import Empty

from celery import Celery, chain, chord, group
from celery.contrib.testing.worker import start_worker
from kombu import Connection

url = f"redis://127.0.0.1:{sys.argv[1]}/0"
app = Celery("tests", broker=url, backend=url)
app.conf.update(broker_connection_retry_on_startup=True, worker_hijack_root_logger=False, result_expires=1000)


@app.task(name="celery.ping")
def ping():
    return "pong"


@app.task
def add(x, y):
    return x + y


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=3)
def unsteady(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries


@app.task
def hopeless():
    raise ValueError("never")


with start_worker(app, pool="solo", loglevel="ERROR", perform_ping_check=True, shutdown_timeout=30):
    print("result", add.delay(2, 3).get(timeout=20))
    print("retries", unsteady.delay().get(timeout=20))
    print("countdown", add.apply_async((1, 1), countdown=0.2).get(timeout=20))
    print("chain", chain(add.s(1, 2), add.s(10))().get(timeout=20))
    print("group", sorted(group(add.s(i, i) for i in range(5))().get(timeout=20)))
    print("chord", chord((add.s(i, 1) for i in range(4)), total.s())().get(timeout=20))
    failed = hopeless.delay()
    print("failure", repr(failed.get(timeout=20, propagate=False)), failed.state)
    forgotten = add.delay(5, 5)
    forgotten.get(timeout=20)
    forgotten.forget()
    print("priorities", [add.apply_async((i, 0), priority=p).get(timeout=20) for i, p in enumerate((0, 3, 9))])

with Connection(url) as connection:
    queue = connection.SimpleQueue("plain")
    for number in range(3):
        queue.put({"number": number})
    print("size", queue.qsize())
    for _ in range(3):
        message = queue.get(timeout=5)
        print("message", message.payload)
        message.ack()
    try:
        queue.get(block=False)
    except Empty:
        print("empty")
    queue.close()
