"""Write build_id.h: the version and a hash of the engine's sources and flags, the same wherever they are built."""

import hashlib
import sys
from pathlib import Path


def named(source: str) -> str:
    """The path below the last folder called src, the same wherever the build happens; else the file's name."""
    parts = Path(source).parts
    return "/".join(parts[len(parts) - parts[::-1].index("src") :]) if "src" in parts else parts[-1]


def main(output: str, version: str, flags: str, sources: list[str]) -> None:
    """Hash the flags, then names and contents of ``sources`` in the order of their names."""
    digest = hashlib.sha256(flags.encode() + b"\0")
    for source in sorted(sources, key=named):
        digest.update(named(source).encode() + b"\0" + Path(source).read_bytes() + b"\0")
    build = digest.hexdigest()[:16]
    Path(output).write_text(f'#define ENGINE_VERSION "{version}"\n#define ENGINE_BUILD "{build}"\n')


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
