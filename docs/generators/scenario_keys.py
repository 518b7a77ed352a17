"""The keys of a scenario file as tables, made from its JSON Schema."""

from collections.abc import Iterator
from typing import Any

SECTIONS = (  # (heading, anchor, definition in the schema, or "" for the top of the file)
    ("Top of the file", "keys-top", ""),
    ("`hosts: NAME:`", "keys-hosts", "HostSection"),
    ("`hosts: NAME: bus:`", "keys-bus", "BusSection"),
    ("`routers: NAME:`", "keys-routers", "RouterSection"),
    ("`path:` or `links:`, a list of links", "keys-path", "LinkSection"),
    ("`path: … reverse:`", "keys-reverse", "ReverseSection"),
    ("`path: … discipline:`", "keys-discipline", "Discipline"),
    ("`path: … trace:`", "keys-trace", "TraceSource"),
    *(
        (f"`path: … discipline: {{{kind}: …}}`", f"keys-{kind.replace('_', '-')}", name)
        for kind, name in (
            ("red", "Red"),
            ("codel", "Codel"),
            ("fq_codel", "FqCodel"),
            ("pie", "Pie"),
            ("fq_pie", "FqPie"),
            ("dualpi2", "DualPi2"),
            ("sfq", "Sfq"),
            ("cake", "Cake"),
            ("tbf", "Tbf"),
        )
    ),
    ("`transfer:`", "keys-transfer", "TransferSection"),
    ("`flows:`, a list", "keys-flows", "FlowSection"),
    ("`events:`, a list", "keys-events", "EventSection"),
    ("`calibration:`", "keys-calibration", "CalibrationSection"),
    ("`expect:`", "keys-expect", "ExpectSection"),
    ("`expect: forward_traceroute:`, a list", "keys-traceroute", "RecordedHopSection"),
    ("`contest:`", "keys-contest", "ContestSection"),
    ("`contest: previous:`", "keys-previous", "PreviousRecordSection"),
)
UNITS = (  # (a unit of the kind, what the kind is called)
    ("Gbit/s", "rate"),
    ("BDP", "size or BDP"),
    ("GiB", "size"),
    ("min", "time"),
    ("km", "distance"),
    ("bit·m/s", "score"),
    ("ppm", "probability"),
)


def scenario_keys() -> str:
    """A heading and a table for each mapping that a file may have."""
    from landspeed.scenario.file.model import ScenarioFile
    from landspeed.scenario.file.schema import scenario_schema

    schema = scenario_schema()
    defined: dict[str, Any] = schema["$defs"]
    # the file's schema must let `extends` leave keys out
    whole = ScenarioFile.model_json_schema(by_alias=True)["$defs"]
    lines: list[str] = []
    for heading, anchor, name in (*SECTIONS, *_further(defined)):
        section = _mapping(defined[name]) if name else schema
        required = whole.get(name, {}).get("required", []) if name else schema["else"]["required"]
        lines += [f"({anchor})=", f"## {heading}", "", section.get("description", ""), ""]
        if name == "Reverse":
            lines += ["Keys: " + ", ".join(f"`{key}`" for key in section["properties"]) + ".", ""]
            continue
        lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
        keys = sorted(section["properties"].items(), key=lambda pair: pair[0] not in required)
        lines += [_row(key, value, key in required) for key, value in keys]
        lines.append("")
    return "\n".join(lines)


def _mapping(section: dict[str, Any]) -> dict[str, Any]:
    """The form with keys of what may be a word as well."""
    return next((form for form in section.get("anyOf", ()) if "properties" in form), section)


def congestion_controls() -> str:
    """Their names."""
    from landspeed.scenario.file.capabilities import CONGESTION_CONTROLS

    return " ".join(f"`{name}`" for name in CONGESTION_CONTROLS)


def _further(defined: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Mappings that are newer than SECTIONS: none is left out."""
    known = {name for _, _, name in SECTIONS}
    for name, section in defined.items():
        if name not in known and _mapping(section).get("properties"):
            yield name, f"keys-{name.lower()}", name


def _row(key: str, value: dict[str, Any], required: bool) -> str:
    default = "required" if required else _default(value)
    return "| " + " | ".join((f"`{key}`", _value(value), default, _cell(value.get("description", "")))) + " |"


def _default(value: dict[str, Any]) -> str:
    """Only what a file could say: figures in internal units are told in the description."""
    default = value.get("default")
    if default is None or default in ([], {}) or _kind(value):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _value(value: dict[str, Any]) -> str:
    """What may be written: words to choose from, or the kind of quantity with an example."""
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " ".join(f"`{choice}`" for choice in value["enum"] if choice is not None)
    kinds = [each for each in value.get("anyOf", ()) if each.get("type") != "null"]
    if kinds:
        return " or ".join(dict.fromkeys(_value(kind) for kind in kinds))
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        anchors = {definition: anchor for _, anchor, definition in SECTIONS}
        return f"[mapping](#{anchors[name]})" if name in anchors else "mapping"
    kind = _kind(value)
    example = next((f" `{example}`" for example in value.get("examples", ()) if isinstance(example, str)), "")
    example = "" if kind.startswith("size") else example  # the kind's own would be far off for an MTU
    if kind:
        return f"{kind},{example}" if example else kind
    types = value.get("type")
    names = [name for name in (types if isinstance(types, list) else [types]) if name not in (None, "null")]
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "`true` `false`",
        "array": "list",
    }
    text = " or ".join(words.get(name, "mapping") for name in names) or "any"
    if "array" in names and isinstance(value.get("items"), dict):
        inner = _value(value["items"])
        text = f"list of {inner}" if inner != "any" else "list"
    return text + (f", such as{example}" if example else "") + _range(value)


def _kind(value: dict[str, Any]) -> str:
    """The kind of quantity, known from the units in its pattern."""
    pattern = str(value.get("pattern", "")).replace("\\", "")
    return next((name for unit, name in UNITS if unit in pattern), "")


def _range(value: dict[str, Any]) -> str:
    least, most = value.get("minimum"), value.get("maximum")
    if least is None and most is None:
        return ""
    return f", {least} or more" if most is None else f", {least} to {_power(most)}"


def _power(number: int) -> str:
    for bits in (32, 53, 63):
        if number == 2**bits - 1:
            return f"2^{bits} − 1"
    return str(number)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
