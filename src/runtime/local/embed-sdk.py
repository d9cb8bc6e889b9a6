"""Writes a C file that holds the files of the Python SDK (sdk.h): embed-sdk.py DIRECTORY OUTPUT."""

import pathlib
import sys

directory, target = map(pathlib.Path, sys.argv[1:])
files = sorted(path for path in directory.rglob("*") if path.suffix in (".py", ".typed"))
rows = []
with open(target, "w", encoding="ascii") as out:
    out.write('#include "runtime/local/sdk.h"\n\n')
    for number, path in enumerate(files):
        data = path.read_bytes()
        rows.append(f'        {{ "{path.relative_to(directory)}", file_{number}, {len(data)} }},\n')
        out.write(f"static const unsigned char file_{number}[] = {{\n")
        for at in range(0, len(data), 24):
            out.write(",".join(map(str, data[at : at + 24])) + ",\n")
        out.write("0 };\n")
    out.write("\nconst SdkFile sdk_files[] = {\n" + "".join(rows) + "        { 0 },\n};\n")
