"""Maps of networks become a scenario of a network: Topology Zoo, SNDlib, containerlab.

containerlab.py   A topology of containerlab: its nodes and links
graphs.py         Maps of the Topology Zoo (GML and GraphML) and of SNDlib (its native form and its XML)
maps.py           Kinds of maps, and which of them a file is
ns3_script.py     ns-3 scripts of point-to-point links, C++ or Python
topology.py       A network as a map tells it: nodes, perhaps with places, and links
write_network.py  Writer of a map as a scenario of a network; what the map does not tell has the word assumed
"""
