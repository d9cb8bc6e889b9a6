"""Writes a C file that holds the bytes of a text file: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
with open(target, "w", encoding="ascii") as out:
    out.write(f"extern const char {name}[];\nextern const unsigned {name}_len;\n")
    out.write(f"const unsigned {name}_len = {len(data)};\nconst char {name}[] = {{\n")
    for at in range(0, len(data), 16):
        out.write(" ".join(f"{byte}," for byte in data[at : at + 16]) + "\n")
    out.write("0 };\n")
