"""Maps of networks: what they tell is in the scenario, what they do not tell is assumed, what is broken is said."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import landspeed as ls
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.path_evidence import MeasurementError
from landspeed.scenario.importers.topologies.graphs import read_gml, read_graphml
from landspeed.scenario.importers.topologies.topology import FIBRE_M_PER_S, MapNode, distance_m
from landspeed.scenario.importers.topologies.write_network import STRETCH
from tests.support.places import TESTS

MAPS = TESTS / "scenario" / "map_inputs"
GML = (MAPS / "abilene.gml").read_text()
GRAPHML = (MAPS / "norway.graphml").read_text()
SNDLIB = (MAPS / "germany.xml").read_text()
CLAB = (MAPS / "lab.clab.yml").read_text()
NS3 = (MAPS / "three-nodes.cc").read_text()
NS3_PYTHON = """
def main(argv):
    n = ns.network.NodeContainer()
    n.Create(2)  # two
    link = ns.point_to_point.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.core.StringValue("5Mbps"))
    link.SetChannelAttribute('Delay', ns.core.StringValue('2ms'))
    devices = link.Install(n)
"""


def imported(folder: Path, name: str, text: str) -> ls.Plan:
    file = folder / name
    file.write_text(text)
    made = import_files({}, "map", found=[file])
    (folder / "map.yaml").write_text(made.text)
    return ls.Scenario.load(folder / "map.yaml").plan()


def test_the_great_circle_is_that_of_the_globe() -> None:
    quarter = distance_m(MapNode("a", "", 0.0, 0.0), MapNode("b", "", 0.0, 90.0))
    assert quarter == pytest.approx(10_007_543, rel=1e-6)  # a quarter of 2π × 6371 km
    assert distance_m(MapNode("a"), MapNode("b", "", 1.0, 1.0)) is None


def test_a_map_of_the_topology_zoo_has_delays_of_its_places_and_rates(tmp_path: Path) -> None:
    plan = imported(tmp_path, "abilene.gml", GML)
    links = {(link.a, link.b): link for link in plan.links}
    first = links["new-york", "chicago"]
    assert first.forward.rate_bps == first.reverse.rate_bps == 9_953_280_000
    km = 1145.6  # New York – Chicago
    assert first.forward.delay_ns / 1e9 == pytest.approx(km * 1e3 * STRETCH / FIBRE_M_PER_S, rel=1e-3)
    assert links["chicago", "seattle"].forward.rate_bps == 10_000_000_000  # assumed
    assert ("seattle", "seattle-2") in links  # a second of the same label has a number
    assert len(plan.links) == 3 + 2  # not twice what is told twice; and a host at either end
    assert (plan.flow.source, plan.flow.target) == ("new-york-host", "seattle-2-host")
    text = (tmp_path / "map.yaml").read_text()
    assert "assumed: no delay and no places are told" in text
    assert "1 further links beside others" in text


@pytest.mark.parametrize(
    ("name", "text", "a", "b", "rate", "km"),
    [("n.graphml", GRAPHML, "oslo", "trondheim", 2_500_000_000, 391.8),
     ("n.xml", SNDLIB, "berlin", "essen", 40_000_000, 458.8)],
)  # fmt: skip
def test_other_maps_are_read_alike(  # noqa: PLR0917
    name: str, text: str, a: str, b: str, rate: int, km: float, tmp_path: Path
) -> None:
    link = imported(tmp_path, name, text).links[0]
    assert (link.a, link.b, link.forward.rate_bps) == (a, b, rate)
    assert link.forward.delay_ns / 1e9 == pytest.approx(km * 1e3 * STRETCH / FIBRE_M_PER_S, rel=2e-3)


def test_a_network_of_sndlib_in_its_native_form(tmp_path: Path) -> None:
    """The capacity that is installed; where none is, the most that can be."""
    first, second = imported(tmp_path, "abilene.txt", (MAPS / "abilene.txt").read_text()).links[:2]
    assert (first.a, first.b, second.b) == ("atlam5", "atlang", "chinng")
    assert [each.forward.rate_bps for each in (first, second)] == [9_920_000_000] * 2
    assert first.forward.delay_ns / 1e9 == pytest.approx(132.6e3 * STRETCH / FIBRE_M_PER_S, rel=1e-3)
    assert "line_rate: 9.92 Gbit/s  # capacity" in (tmp_path / "map.yaml").read_text()
    both = "<preInstalledModule><capacity>10.0</capacity></preInstalledModule><additionalModules>"
    plan = imported(tmp_path, "x.xml", SNDLIB.replace("<additionalModules>", both))
    assert plan.links[0].forward.rate_bps == 10_000_000


def test_a_map_may_have_nodes_alone_pieces_and_labels_of_html(tmp_path: Path) -> None:
    """As the Topology Zoo has them: nodes outside of the network, and networks in two pieces."""
    text = GML.replace('edge [ source 1 target 2 LinkLabel "OC-192c" ]\n', 'node [ id 4 label "Alone" ]\n').replace(
        "Chicago", "S&#227;o Paulo"
    )
    plan = imported(tmp_path, "zoo.gml", text)
    assert {(link.a, link.b) for link in plan.links} >= {("new-york", "sao-paulo"), ("seattle", "seattle-2")}
    assert "Left out: nodes without a link: Alone." in (tmp_path / "map.yaml").read_text()
    old, new = '<graph edgedefault="undirected">', '<graph edgedefault="undirected"><node id="7"/>'
    imported(tmp_path, "zoo.graphml", GRAPHML.replace(old, new))
    assert "nodes without a link: 7" in (tmp_path / "map.yaml").read_text()


def test_a_topology_of_containerlab_has_what_its_commands_set(tmp_path: Path) -> None:
    plan = imported(tmp_path, "lab.clab.yml", CLAB)
    up, down = plan.links
    assert (up.a, up.b, down.a, down.b) == ("client", "router", "router", "server")
    assert (up.forward.delay_ns, up.forward.rate_bps) == (20_000_000, 50_000_000)
    assert (down.reverse.delay_ns, down.reverse.rate_bps) == (5_000_000, 10_000_000)
    assert (down.reverse.loss, down.reverse.queue_bytes) == (0.001, 60_000)
    assert (plan.flow.source, plan.flow.target) == ("client", "server")


def test_an_ns3_script_has_what_it_says_in_literal_words(tmp_path: Path) -> None:
    first, second = imported(tmp_path, "three-nodes.cc", NS3).links
    assert (first.a, first.b, second.a, second.b) == ("n-0", "n-1", "n-1", "n-2")
    assert (first.forward.delay_ns, first.forward.rate_bps) == (5_000_000, 100_000_000)
    assert (second.reverse.delay_ns, second.reverse.rate_bps) == (20_000_000, 10_000_000)
    assert second.forward.queue_bytes == 50 * 1502
    text = (tmp_path / "map.yaml").read_text()
    assert "line_rate: 10 Mbit/s  # line 16 of three-nodes.cc" in text
    (only,) = imported(tmp_path, "first.py", NS3_PYTHON).links
    assert (only.a, only.b, only.forward.delay_ns, only.forward.rate_bps) == ("n-0", "n-1", 2_000_000, 5_000_000)


@pytest.mark.parametrize(
    ("written", "instead", "says"),
    [
        ('StringValue ("10Mbps")', "StringValue (rate)", "x.cc:15: .*DataRate is no literal value"),
        ("n.Create (3)", "n.Create (count)", "x.cc:10: .*no literal number"),
        ("n.Get (1), n.Get (2)", "n.Get (1), n.Get (i)", "x.cc:18: .*not all of its nodes are literal"),
        ("  p2p.SetQueue", "  for (int i = 0; i < 2; ++i) p2p.SetQueue", "x.cc:17: .*a loop or a condition"),
        ("      stack.Install (n.Get (i));", "      p2p.Install (n.Get (i), n.Get (i + 1));", "x.cc:24: .*a loop"),
        ('"20ms"', '"20" + unit', "x.cc:16: .*Delay is no literal value"),
        ("n.Get (0), n.Get (1)", "n.Get (0), n.Get (7)", "x.cc:14: .*n has 3 nodes"),
        ("InternetStackHelper stack;", "CsmaHelper csma;", "x.cc:20: .*not only links of a PointToPointHelper"),
    ],
)
def test_what_an_ns3_script_computes_is_refused_with_its_line(
    written: str, instead: str, says: str, tmp_path: Path
) -> None:
    assert written in NS3
    with pytest.raises(MeasurementError, match=says) as refused:
        imported(tmp_path, "x.cc", NS3.replace(written, instead))
    assert "only running it tells; give a script" in str(refused.value)


def test_what_is_exported_comes_back(tmp_path: Path) -> None:
    (file,) = ls.export("first", "containerlab", tmp_path)
    plan, true = imported(tmp_path, "again.clab.yml", file.read_text()), ls.Scenario.load("first").plan()
    for link, was in zip(plan.links, true.links, strict=True):
        assert (link.a, link.b) == (was.a, was.b)
        for now, before in ((link.forward, was.forward), (link.reverse, was.reverse)):
            assert (now.delay_ns, now.rate_bps) == (before.delay_ns, before.rate_bps)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [("a.gml", GML[:300], "cut off"), ("b.gml", "graph [ node [ id 0 ] ]", "without a link"),
     ("c.gml", "graph [ node [ id 0 ] edge [ source 0 target 7 ] ]", "7, of which a node is not in the file"),
     ("d.graphml", GRAPHML[:400], "no XML"), ("e.xml", '<!DOCTYPE x [<!ENTITY a "b">]><network/>', "document type"),
     ("f.yml", "topology:\n  nodes: {a: {}}\n", "with a link"),
     ("h.yml", CLAB.replace("20ms", "1" * 15 + "s"), "a figure that no link has"),
     ("g.yml", "topology:\n  links:\n    - endpoints: [a:1]\n", "no two endpoints")],
)  # fmt: skip
def test_a_broken_map_is_refused_by_name(name: str, text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=says) as refused:
        imported(tmp_path, name, text)
    assert name in str(refused.value)


def test_a_map_is_imported_alone(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text(GML)
    (tmp_path / "b.txt").write_text("PING")
    with pytest.raises(MeasurementError, match="whole network"):
        import_files({}, "map", found=[tmp_path / "a.gml", tmp_path / "b.txt"])


@pytest.mark.fuzz
@given(st.data())
def test_no_map_ends_in_a_traceback(data: st.DataObject) -> None:
    read, text = data.draw(st.sampled_from([(read_gml, GML), (read_graphml, GRAPHML)]))
    at, cut = (data.draw(st.integers(0, len(text))) for _ in range(2))
    put = data.draw(st.text('[]"<>/ &x0é', max_size=6))
    try:
        read(Path("a.map"), text[: min(at, cut)] + put + text[max(at, cut) :])
    except MeasurementError as refused:
        assert "a.map" in str(refused)
