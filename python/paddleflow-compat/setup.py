"""Adds paddlecloud_paddleflow.pth to the wheel, which pyproject.toml cannot say (doc/guide/paddleflow.md, "The Python module")."""

import os

from setuptools import setup
from setuptools.command.build_py import build_py

PTH = "paddlecloud_paddleflow.pth"


class BuildWithPth(build_py):
    def run(self):
        super().run()
        self.copy_file(PTH, os.path.join(self.build_lib, PTH))

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), os.path.join(self.build_lib, PTH)]


setup(cmdclass={"build_py": BuildWithPth})
