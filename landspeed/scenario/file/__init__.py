"""The scenario file: its model, its checks, errors with line and column, what a world can honour of it.

capabilities.py    What a world can do of what not every world can, and the located refusal of what it cannot
checks.py          What several keys of a scenario must agree on: the order of the hops, exclusive keys
disciplines.py     Queue disciplines: what the file can say of each, and what the plan has of it
document.py        YAML as a tree that knows where every key and value stands; merging (`extends`) and overrides
events.py          What happens to links during the transfer: what an event must say, and the plan's form of it
fault.py           A contradiction between keys of a scenario, before anybody has looked up its line
flow_transfer.py   What a flow of a network sends: its own keys, and the file's `transfer` for the rest
key_names.py       How a key of the file is called in the plan, with its unit
load.py            Reading a scenario file: size, encoding, YAML, `extends`, overrides, models, checks
model.py           The scenario file, format 1, as models
model_recorded.py  The sections of a scenario file that say what was recorded, or what is wanted
multipath.py       MPTCP (RFC 8684) in a network: the second route of a flow, and what Linux cannot do over two
network_checks.py  What the links and flows of a network must agree on, and that a file is a path or a network
network_routes.py  The nodes of a scenario's network, and the route of each flow: given
packaged.py        The scenarios that come with landspeed, by name: `first` stands for examples/first.yaml
position.py        Positions on the globe, as a scenario writes them: `46.2022 N, 6.1457 E`
ranges.py          Ranges in `vary:`: `{from: 64 kB, to: 64 MB, by: x2}`, `{from: 1 ms, to: 9 ms, by: 2 ms}`
schema.py          The JSON Schema of scenario files, made from the models: `landspeed schema` prints it
section.py         What every mapping of a scenario file has in common, and the plain texts in them
vary.py            `vary:` in a scenario file: values by dotted key; every combination is a scenario of its own

fault.py and flow_transfer.py are short because all files that check need them, section.py because both models do;
packaged.py and position.py because nothing else of the room is about a folder, or about the globe.
"""
