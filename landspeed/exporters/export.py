"""Export of a scenario or a run as files of another program; every module of formats/ that has an `EXPORTER`."""

from __future__ import annotations

import functools
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from landspeed.base.files import write_atomically
from landspeed.base.near import meant_or_all
from landspeed.exporters import formats
from landspeed.exporters.exporter import Exported, Exporter, ExportError
from landspeed.results.bundle import RESULT, load_record
from landspeed.worlds.registry import DEFAULT_WORLD, plan_for


@functools.cache
def all_exporters() -> dict[str, Exporter]:
    """Each exporter by its word."""
    modules = [import_module(f"{formats.__name__}.{each.name}") for each in iter_modules(formats.__path__)]
    found: list[Exporter] = [module.EXPORTER for module in modules if hasattr(module, "EXPORTER")]
    return {each.word: each for each in sorted(found, key=lambda each: (each.of, each.word))}


def exporter_of(word: str) -> Exporter:
    """The exporter of a word.

    Raises:
        ExportError: there is none; the message has the nearest, or all.
    """
    if word not in all_exporters():
        raise ExportError(f"no form '{word}'; {meant_or_all(word, list(all_exporters()))}")
    return all_exporters()[word]


def is_bundle(what: Path) -> bool:
    """Return whether a folder is that of a run."""
    return (what / RESULT).is_file()


def exported_of(what: Path, world: str = DEFAULT_WORLD) -> Exported:
    """A run by its folder, or a scenario by its file or name.

    Raises:
        ScenarioError: the scenario is wrong, located.
        BundleError: the folder's record cannot be read.
        ExportError: the record has no plan.
    """
    if not is_bundle(what):
        # saves 60 ms where a bundle is exported
        from landspeed.scenario.file.load import load_scenario

        plan = plan_for(load_scenario(what), world)
        return Exported(plan.scenario, plan)
    record = load_record(what)
    if record.plan is None:
        raise ExportError(f"{what}: its record has no plan: it broke before it was planned; give another run")
    return Exported(record.scenario, record.plan, record, what)


def export(what: str | Path, form: str, folder: str | Path = ".") -> list[Path]:
    """Write a scenario or a run in the form of another program.

    Args:
        what: a scenario's file or name, or the folder of a run.
        form: such as "mininet" (`all_exporters` has all).
        folder: for the files; it must be there, and none of them.

    Returns:
        the files.

    Raises:
        ExportError: no such form, or the plan cannot be said in it, or a file is there already.
    """
    exporter = exporter_of(form)
    exported = exported_of(Path(what))
    files = {Path(folder) / f"{exported.name}{suffix}": content for suffix, content in exporter.write(exported).items()}
    for file in files:
        if file.exists():
            raise ExportError(f"{file} exists already, perhaps with your changes; give another folder with --out")
    for file, content in files.items():
        try:
            file.parent.mkdir(exist_ok=True)
            write_atomically(file, content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise ExportError(f"{file}: {error.strerror or error}; give a folder that can be written") from error
    return list(files)
