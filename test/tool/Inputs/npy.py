"""Writes and checks .npy files without NumPy: 0, 1, 2 ... in the type and shape asked for."""

import struct
import sys
import zipfile


def content(descr, shape, scale):
    n = 1
    for d in shape:
        n *= d
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(shape))
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    code = {"<f4": "f", "<i4": "i", "<f8": "d"}[descr]
    data = struct.pack("<%d%s" % (n, code), *[scale * i for i in range(n)])
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


command, path = sys.argv[1:3]
if command == "write":
    with open(path, "wb") as f:
        f.write(content(sys.argv[3], [int(x) for x in sys.argv[4:]], 1))
elif command == "check":
    with open(path, "rb") as f:
        assert f.read() == content(sys.argv[3], [int(x) for x in sys.argv[4:-1]], int(sys.argv[-1]))
else:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for entry in sys.argv[3:]:
            name, source = entry.split("=")
            z.write(source, name + ".npy")
