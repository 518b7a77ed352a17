"""The scenario file: its model, its checks, errors with line and column, what a world can honour of it.

capabilities.py     Capabilities of a world beyond those that every world has
checks.py           Checks over several keys of a scenario: the order of the hops, exclusive keys
datagram_checks.py  Checks of flows of datagrams: the keys that go with `protocol: udp`, and those that do not
disciplines.py      Queue disciplines: what the file can say of each, and what the plan has of it
document.py         YAML as a tree that knows where every key and value stands; merging
events.py           Events on links during the transfer: what an event must say, and the plan's form of it
fault.py            A contradiction between keys of a scenario, before anybody has looked up its line
flow_transfer.py    Transfer of a network's flow: its own keys, and the file's `transfer` for the rest
key_names.py        Names of the file's keys in the plan, with their units
keys.py             The keys of scenario files with what each means, by their dotted names
load.py             Reading a scenario file: size, encoding, YAML, `extends`, overrides, models, checks
model.py            The scenario file, format 1, as models
model_errors.py     Errors of pydantic's models in our words: what is wrong, what would be right
model_links.py      The scenario file's hosts, routers and links, with the directions of a link, as models
model_recorded.py   The sections of a scenario file that say what was recorded, or what is wanted
multipath.py        MPTCP (RFC 8684) in a network: the second route of a flow, and what Linux cannot do over two
netem_checks.py     Check what stands beside `netem` and `jitter_distribution` in a link
netem_line.py       A line of tc's netem, as a direction's key `netem`: every word of tc-netem(8)
network_checks.py   Checks over the links and flows of a network; a file is a path or a network, not both
network_routes.py   The nodes of a scenario's network, and the route of each flow: given
packaged.py         The scenarios that come with landspeed, by name: `first` stands for examples/first.yaml
parallel.py         Parallel links of a network: a link written once that stands for several
position.py         Positions on the globe, as a scenario writes them: `46.2022 N, 6.1457 E`
ranges.py           Ranges in `vary:`: `{from: 64 kB, to: 64 MB, by: x2}`, `{from: 1 ms, to: 9 ms, by: 2 ms}`
schema.py           The JSON Schema of scenario files, made from the models: `landspeed schema` prints it
section.py          Base of every mapping of a scenario file, and the plain texts in them
template.py         A new scenario file from a few answers: commented
vary.py             `vary:` in a scenario file: values by dotted key; every combination is a scenario of its own

fault.py and flow_transfer.py are short because all files that check need them, section.py because both models do;
packaged.py and position.py because nothing else of the room is about a folder, or about the globe.

keys.py is short: it reads what model.py says, for those who ask for a key.
"""
