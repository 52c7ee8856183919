"""A server that speaks S3, on loopback, in this process: moto's own."""

from __future__ import annotations

import contextlib
import socket
import threading

BUCKET = "kept"


@contextlib.contextmanager
def bucket_server():
    """Its address, with one empty bucket."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        client = boto3.client("s3", endpoint_url=address, **login())
        client.create_bucket(Bucket=BUCKET)
        yield address
    finally:
        server.stop()


def login():
    """Words that this server takes from anybody; made here, as they are no one's."""
    return {
        "region_name": "us-east-1",
        "aws_access_key_id": "tests" * 3,
        "aws_secret_access_key": "-".join(["no"] * 9),
    }


def told(address):
    """The environment that leads there."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": login()["region_name"],
        "AWS_ACCESS_KEY_ID": login()["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": login()["aws_secret_access_key"],
    }


@contextlib.contextmanager
def hung_server():
    """An address that takes every connection and never answers."""
    ears = socket.create_server(("127.0.0.1", 0))
    ears.settimeout(0.1)
    over, heard = threading.Event(), []

    def listen():
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                heard.append(ears.accept()[0])

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ears.getsockname()[1]}", heard
    finally:
        over.set()
        thread.join()
        for one in (*heard, ears):
            one.close()
