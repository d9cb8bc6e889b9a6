"""embed.py PROGRAM OUTPUT: a program's bytes as a C file (bytes.h)."""

import pathlib
import sys

program = pathlib.Path(sys.argv[1]).read_bytes()
lines = [", ".join(map(str, program[at : at + 24])) for at in range(0, len(program), 24)]
pathlib.Path(sys.argv[2]).write_text(
    '#include "gate/bytes.h"\n\nconst unsigned char gate_bytes[] = {\n'
    + ",\n".join(lines)
    + "\n};\nconst size_t gate_size = sizeof gate_bytes;\n"
)
