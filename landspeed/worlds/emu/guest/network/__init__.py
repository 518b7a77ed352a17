"""The network inside the guest: namespaces, veth pairs, addresses, routes, by netlink.

build.py       A plan becomes a network: nodes and links first, then the routes, then the second routes of MPTCP
effective.py   Effective settings of the guest's kernel: addresses, sysctls, offloads
flow_path.py   The path of one flow, or subflow, in the built network: its nodes in order
multipath.py   Multipath TCP in the built network: where a second subflow may go
namespaces.py  Network namespaces by system call: no program is started
netlink.py     Links, addresses, routes and qdiscs by rtnetlink(7): one system call to ask, one for the answer
network.py     The emulated network: one namespace a node, veth pairs between them, addresses, routes
nodes.py       The nodes of the path: network namespaces
offloads.py    Segmentation offloads of an interface, by the ethtool ioctl
routes.py      The kernel's routing tables, from the plan's routes: few prefixes a node

build.py is short because it is above network.py, routes.py and multipath.py: none of them imports it.
"""
