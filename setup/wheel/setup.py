"""What pyproject.toml cannot say of the wheel: it has programs for one machine, and files for the shell and for man.

setup/wheel.sh puts it beside a copy of the sources with the built programs in it; nothing else uses it.
"""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

SHARE = Path("share")


class Machine(Distribution):
    """A distribution that is for one kind of machine."""

    def has_ext_modules(self) -> bool:
        """Programs are as good."""
        return True


class Wheel(bdist_wheel):
    """For every Python that pyproject.toml allows, on x86-64 Linux; auditwheel then names the oldest glibc."""

    def get_tag(self) -> tuple[str, str, str]:
        """No module is compiled."""
        return "py3", "none", "linux_x86_64"


shared: dict[str, list[str]] = {}
for path in sorted(SHARE.rglob("*")):
    if path.is_file():
        shared.setdefault(str(path.parent), []).append(str(path))
setup(
    distclass=Machine,
    cmdclass={"bdist_wheel": Wheel},
    data_files=list(shared.items()),
    license_files=["LICENSE", "licences/*"],
    options={"bdist_wheel": {"compression": "stored"}},  # auditwheel unpacks it and compresses what it makes of it
)
