"""A message on the wire: a head of JSON with the lengths of the blobs behind it, and a checksum.

`RUNJ` · format (1 byte) · CRC-32 of all that follows (4 bytes) · length of the JSON (4 bytes) · the
JSON · the blobs, one after the other. Numbers are big-endian. The JSON is a list of two: the
blobs' lengths, and the message.
"""

from __future__ import annotations

import json
import struct
from zlib import crc32

from runner.model.codec import ShapeError

FORMAT = 1
LARGEST = 512 << 20
"""Bytes of a whole message; what is larger is not read."""
_LONGEST_HEAD = 32 << 20
_MARK = b"RUNJ"
_START = struct.Struct(">4sBII")


def encode_frame(body: object, blobs: list[bytes]) -> bytes:
    """One message; text that UTF-8 cannot hold (a file name in another encoding) is kept."""
    head = json.dumps([[len(blob) for blob in blobs], body], separators=(",", ":")).encode()
    rest = b"".join((head, *blobs))
    return _START.pack(_MARK, FORMAT, crc32(rest), len(head)) + rest


def decode_frame(data: object) -> tuple[object, tuple[bytes, ...]]:
    """The message and its blobs. Raises ShapeError."""
    if type(data) is not bytes:
        raise ShapeError(f"no bytes but a {type(data).__name__}")
    if not _START.size <= len(data) <= LARGEST:
        raise ShapeError(f"{len(data):,} bytes are no message")
    mark, number, crc, length = _START.unpack_from(data)
    if mark != _MARK:
        raise ShapeError("it does not begin as a message does")
    if number != FORMAT:
        raise ShapeError(
            f"its format is {number}, this side knows {FORMAT}: install the same version of runner"
        )
    if crc32(memoryview(data)[_START.size :]) != crc:
        raise ShapeError("its checksum does not fit")
    return _open_frame(data, length)


def _open_frame(data: bytes, length: int) -> tuple[object, tuple[bytes, ...]]:
    start = _START.size + length
    if length > _LONGEST_HEAD or start > len(data):
        raise ShapeError("its head is too long")
    try:
        lengths, body = json.loads(data[_START.size : start])
    except (ValueError, TypeError, RecursionError) as error:
        raise ShapeError("its head is no JSON") from error
    if type(lengths) is not list or any(type(one) is not int or one < 0 for one in lengths):
        raise ShapeError("its blobs have no lengths")
    if start + sum(lengths) != len(data):
        raise ShapeError("its blobs are not as long as it says")
    return body, tuple(_cut(data, start, lengths))


def _cut(data: bytes, at: int, lengths: list[int]) -> list[bytes]:
    found = []
    for length in lengths:
        found.append(data[at : at + length])
        at += length
    return found
