"""A program for a stock ns-3: nodes, point-to-point links, a bulk sender for each stream of each flow.

It is a beginning for those who go on in ns-3, not landspeed's own simulator: ns-3's TCP as it is shipped, its queues in
bytes, no disciplines, no chance but independent loss. Links of ns-3 count 2 bytes of PPP where landspeed counts the
framing, so each rate is lowered by that share at full-size packets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from landspeed.base.version import __version__
from landspeed.exporters.addresses import interfaces, own_address, routes
from landspeed.exporters.exporter import Exported, Exporter, ExportError
from landspeed.exporters.stock_qdiscs import left_out
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.flow_path import lanes
from landspeed.scenario.plan.plan import Flow, Link, Plan

PPP_BYTES = 2
CONTROLS = {"cubic": "TcpCubic", "reno": "TcpLinuxReno", "bbr": "TcpBbr", "vegas": "TcpVegas", "htcp": "TcpHtcp",
            "illinois": "TcpIllinois", "yeah": "TcpYeah", "dctcp": "TcpDctcp", "westwood": "TcpWestwoodPlus",
            "scalable": "TcpScalable", "highspeed": "TcpHighSpeed", "hybla": "TcpHybla", "bic": "TcpBic",
            "veno": "TcpVeno", "lp": "TcpLp"}  # fmt: skip
"""Congestion control of Linux → ns-3's class."""
PROGRAM = """\
// {title}
// Made by landspeed {version} from {file} for ns-3.41 and later: put it into scratch/ and say `./ns3 run {name}`.
{left_out}#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

int
main(int argc, char** argv)
{{
    CommandLine(__FILE__).Parse(argc, argv);
    RngSeedManager::SetSeed({seed});
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue({segment}));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue({window}));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue({window}));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue({initial_window}));

    std::map<std::string, Ptr<Node>> nodes;
    for (const char* name : {{{names}}})
    {{
        nodes[name] = CreateObject<Node>();
    }}
    InternetStackHelper().Install(NodeContainer::GetGlobal());

    struct Line
    {{
        const char *a, *b, *address_a, *address_b, *rate_there, *rate_back, *queue_there, *queue_back;
        int64_t delay_there_ns, delay_back_ns;
        double loss_there, loss_back;
        uint16_t mtu_bytes;
    }};
    const std::vector<Line> lines = {{
{lines}    }};
    for (const Line& line : lines)
    {{
        // A channel of ns-3 has one delay; half of the round trip each way gives the same round trip.
        PointToPointHelper helper;
        helper.SetChannelAttribute("Delay",
                                   TimeValue(NanoSeconds((line.delay_there_ns + line.delay_back_ns) / 2)));
        NetDeviceContainer devices = helper.Install(nodes[line.a], nodes[line.b]);
        const char* rates[] = {{line.rate_there, line.rate_back}};
        const char* queues[] = {{line.queue_there, line.queue_back}};
        const char* addresses[] = {{line.address_a, line.address_b}};
        const double losses[] = {{line.loss_back, line.loss_there}}; // at the device that receives
        for (uint32_t end = 0; end < 2; ++end)
        {{
            auto device = DynamicCast<PointToPointNetDevice>(devices.Get(end));
            device->SetMtu(line.mtu_bytes);
            device->SetDataRate(DataRate(rates[end]));
            auto queue = CreateObject<DropTailQueue<Packet>>();
            queue->SetMaxSize(QueueSize(queues[end]));
            device->SetQueue(queue);
            if (losses[end] > 0)
            {{
                auto errors = CreateObject<RateErrorModel>();
                errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
                errors->SetRate(losses[end]);
                device->SetReceiveErrorModel(errors);
            }}
            auto ipv4 = device->GetNode()->GetObject<Ipv4>();
            const uint32_t interface = ipv4->AddInterface(device);
            ipv4->AddAddress(interface, Ipv4InterfaceAddress(addresses[end], Ipv4Mask("/30")));
            ipv4->SetUp(interface);
        }}
    }}

    struct Way
    {{
        const char *node, *destination, *next;
    }};
    const std::vector<Way> ways = {{
{ways}    }};
    Ipv4StaticRoutingHelper routing;
    for (const Way& way : ways)
    {{
        auto ipv4 = nodes[way.node]->GetObject<Ipv4>();
        for (uint32_t interface = 1; interface < ipv4->GetNInterfaces(); ++interface)
        {{
            const auto own = ipv4->GetAddress(interface, 0);
            if (own.GetMask().IsMatch(own.GetLocal(), Ipv4Address(way.next)))
            {{
                routing.GetStaticRouting(ipv4)->AddHostRouteTo(way.destination, way.next, interface);
            }}
        }}
    }}

    struct Stream
    {{
        const char *flow, *source, *target, *address, *control;
        uint16_t port;
        int64_t start_ns;
        uint64_t bytes; // 0: until the end
    }};
    const std::vector<Stream> streams = {{
{streams}    }};
    const double until_s = {until_s};
    std::vector<Ptr<PacketSink>> sinks;
    for (const Stream& stream : streams)
    {{
        // A node's control is that of its next socket: it is set just before the sender starts and makes its own.
        Simulator::Schedule(NanoSeconds(stream.start_ns), [&nodes, stream] {{
            nodes[stream.source]->GetObject<TcpL4Protocol>()->SetAttribute(
                "SocketType",
                TypeIdValue(TypeId::LookupByName(stream.control)));
        }});
        const InetSocketAddress there(stream.address, stream.port);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), stream.port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes[stream.target]).Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", there);
        bulk.SetAttribute("MaxBytes", UintegerValue(stream.bytes));
        bulk.Install(nodes[stream.source]).Start(NanoSeconds(stream.start_ns));
    }}
    Simulator::Stop(Seconds(until_s));
    Simulator::Run();
    for (size_t each = 0; each < streams.size(); ++each)
    {{
        const double duration_s = until_s - streams[each].start_ns / 1e9;
        std::cout << streams[each].flow << ": " << sinks[each]->GetTotalRx() << " bytes, "
                  << sinks[each]->GetTotalRx() * 8 / duration_s / 1e6 << " Mbit/s until " << until_s << " s\\n";
    }}
    Simulator::Destroy();
    return 0;
}}
"""


def _write(exported: Exported) -> dict[str, str | bytes]:
    plan = exported.plan
    if plan.ip_version != 4:
        raise ExportError(f"{exported.name}: the program has IPv4 only; say --set ip_version=4")
    addresses = {(each.link, each.forward): each.ip for each in interfaces(plan)}
    transfer = plan.flow.transfer
    window = transfer.window_bytes or 4 * max(flow.physics.bdp_bytes for flow in plan.flows) + (1 << 20)
    ways = [(node, *entry) for node, entries in routes(plan).items() for entry in entries]
    until_s = max(_until_s(flow) for flow in plan.flows)
    missing = [
        *left_out(plan),
        *_one_delay(plan),
        *(
            f"{name} of link {link.index + 1}"
            for link in plan.links
            for each in (link.forward, link.reverse)
            for name in (*(key for key in each.impairments if key != "loss"), each.discipline)
            if name != "fifo"
        ),
    ]
    text = PROGRAM.format(
        title=(plan.title or exported.name).replace("\\", "/"),
        version=__version__,
        file=plan.scenario_file.replace("\\", "/"),
        name=re.sub(r"\W", "-", exported.name),
        left_out="".join(f"// Left out: {each}.\n" for each in dict.fromkeys(missing)),
        seed=plan.seed % (2**32 - 1) or 1,
        segment=min(flow.physics.mss_bytes for flow in plan.flows),
        window=window,
        initial_window=transfer.initial_window_packets or 10,
        names=", ".join(json.dumps(node.name) for node in plan.nodes),
        lines="".join(_line(link, addresses) for link in plan.links),
        ways="".join(f"        {_braced(*way)},\n" for way in ways),
        streams="".join(_streams(exported, flow, number) for number, flow in enumerate(plan.flows)),
        until_s=f"{until_s:.9g}",
    )
    return {".cc": text}


def _one_delay(plan: Plan) -> Iterator[str]:
    """Yield the links with two delays of which a flow passes only one."""
    for flow in plan.flows:
        there, back = (set(each) for each in lanes(plan, flow))
        for index, _ in sorted(there ^ {(index, not ahead) for index, ahead in back}):
            link = plan.links[index]
            if link.forward.delay_ns != link.reverse.delay_ns:
                yield f"two delays of link {index + 1}, of which {flow.name} passes one: it has their mean"


def _braced(*values: object) -> str:
    return "{" + ", ".join(json.dumps(value) for value in values) + "}"


def _line(link: Link, addresses: dict[tuple[int, bool], str]) -> str:
    def rate(direction: Direction) -> str:
        share = (link.mtu_bytes + PPP_BYTES) / (link.mtu_bytes + link.framing_bytes)
        return f"{round(direction.rate_bps * share)}bps"

    def queue(direction: Direction) -> str:
        return f"{max(direction.queue_bytes, link.mtu_bytes + PPP_BYTES)}B"

    there, back = link.forward, link.reverse
    ends = (addresses[link.index, True], addresses[link.index, False])
    told = (link.a, link.b, *ends, rate(there), rate(back), queue(there), queue(back), there.delay_ns, back.delay_ns)
    return f"        {_braced(*told, there.loss, back.loss, link.mtu_bytes)},\n"


def _until_s(flow: Flow) -> float:
    """End of a flow: its duration, or twice the time that its bytes take at the rate of theory."""
    start_s, transfer = flow.start_ns / 1e9, flow.transfer
    if transfer.duration_ns is not None:
        return start_s + transfer.duration_ns / 1e9
    sends_s = 2 * (transfer.bytes or 0) * 8 / flow.physics.expected_goodput_bps
    return start_s + sends_s + 20 * flow.physics.rtt_ns / 1e9


def _streams(exported: Exported, flow: Flow, number: int) -> str:
    transfer, address = flow.transfer, own_address(exported.plan, flow.target)
    found = ""
    if transfer.protocol == "udp":  # told as left out
        return found
    for stream in range(transfer.streams):
        controls = transfer.congestion_controls or [transfer.congestion_control]
        control = controls[stream % len(controls)]
        if control not in CONTROLS:
            raise ExportError(
                f"{exported.name}: ns-3 has no congestion control '{control}'; there are {', '.join(CONTROLS)}"
            )
        start_ns = flow.start_ns + stream * transfer.start_stagger_ns + number * transfer.streams + stream
        size = (transfer.bytes or 0) // transfer.streams
        told = (flow.name, flow.source, flow.target, address, f"ns3::{CONTROLS[control]}")
        found += f"        {_braced(*told, 5001 + number * 1000 + stream, start_ns, size)},\n"
    return found


EXPORTER = Exporter(
    "ns3", "a program for a stock ns-3: a beginning for those who go on there", "plan", _write, "./ns3 run NAME"
)
