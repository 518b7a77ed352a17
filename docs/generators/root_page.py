"""A document of the repository's root as a page of the site: its links lead to pages, or name the file."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
PAGES = {  # documents outside of docs/ that are pages of the site
    "README.md": "/index.md",
    "docs/ARCHITECTURE.md": "/explanation/architecture.md",
    "docs/CONTRIBUTING.md": "/how-to/contribute.md",
    "scenarios/README.md": "/reference/scenario.md",
    "sim/README.md": "/explanation/simulated-world.md",
}


def root_page(name: str) -> str:
    """The document's text below its title; MyST reads it.

    Args:
        name: the file, from the repository's root.
    """
    text = (ROOT / name).read_text(encoding="utf-8")
    _, _, body = text.partition("\n")
    folder = (ROOT / name).parent
    fences = re.split(r"(^```.*?^```$)", body, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda found: _link(found, folder), part) for part in fences
    )


def _link(found: re.Match[str], folder: Path) -> str:
    image, text, target, anchor = found[1], found[2], found[3], found[4] or ""
    if not target or "://" in target:
        return found[0]
    file = (folder / target).resolve()
    path = file.relative_to(ROOT).as_posix()
    if image:
        return f"![{text}](/{path.removeprefix('docs/')})"
    page = PAGES.get(path) or (
        f"/{path.removeprefix('docs/')}" if path.startswith("docs/") and file.suffix == ".md" else None
    )
    if page is None:
        return text if path in text else f"{text} (`{path}`)"
    return f"[{text}]({page}{anchor})"
