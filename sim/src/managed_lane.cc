#include "managed_lane.h"

#include <cmath>
#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/data-rate.h>
#include <ns3/double.h>
#include <ns3/fq-codel-queue-disc.h>
#include <ns3/fq-pie-queue-disc.h>
#include <ns3/ipv4-header.h>
#include <ns3/ipv6-header.h>
#include <ns3/mac48-address.h>
#include <ns3/object-factory.h>
#include <ns3/queue-item.h>
#include <ns3/queue-size.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>
#include <stdexcept>
#include <string>

namespace landspeed
{

using namespace ns3;

namespace
{

constexpr uint32_t echo_protocol = 1; ///< ICMP
constexpr uint32_t udp_protocol = 17;

/// FqCoDelQueueDisc's times are text; ns-3 makes times of text where it wants those, as
/// CoDelQueueDisc does.
StringValue time_text(int64_t time_ns)
{
	return StringValue(std::to_string(time_ns) + "ns");
}

void codel_set(ObjectFactory &factory, const QueueParameters &asked)
{
	factory.Set("Target", time_text(asked.target_ns));
	factory.Set("Interval", time_text(asked.interval_ns));
	factory.Set("UseEcn", BooleanValue(asked.ecn));
	if (asked.ce_threshold_ns)
		factory.Set("CeThreshold", TimeValue(NanoSeconds(*asked.ce_threshold_ns)));
}

void pie_set(ObjectFactory &factory, const QueueParameters &asked)
{
	factory.Set("QueueDelayReference", TimeValue(NanoSeconds(asked.target_ns)));
	factory.Set("Tupdate", TimeValue(NanoSeconds(asked.update_ns)));
	factory.Set("A", DoubleValue(asked.alpha / 16.0));
	factory.Set("B", DoubleValue(asked.beta / 16.0));
	factory.Set("UseEcn", BooleanValue(asked.ecn));
}

void red_set(ObjectFactory &factory, const LaneConfig &config)
{
	const QueueParameters &asked = config.parameters;
	factory.Set("MinTh", DoubleValue(static_cast<double>(asked.min_bytes)));
	factory.Set("MaxTh", DoubleValue(static_cast<double>(asked.max_bytes)));
	factory.Set("LInterm", DoubleValue(1 / asked.probability));
	factory.Set("QW", DoubleValue(std::ldexp(1.0, -static_cast<int>(asked.weight_log))));
	factory.Set("Gentle", BooleanValue(false));
	factory.Set("UseEcn", BooleanValue(asked.ecn));
	// Above the upper threshold, too, Linux marks what negotiated ECN (no TC_RED_HARDDROP).
	factory.Set("UseHardDrop", BooleanValue(!asked.ecn));
	factory.Set("MeanPktSize", UintegerValue(config.mtu_bytes));
	factory.Set("LinkBandwidth", DataRateValue(DataRate(config.rate_bps)));
}

Ptr<QueueDisc> queue_make(const LaneConfig &config)
{
	ObjectFactory factory;
	const QueueParameters &asked = config.parameters;
	const auto room_bytes =
	    static_cast<uint32_t>(std::min<uint64_t>(config.queue_bytes, UINT32_MAX));
	// Room is in packets of full size, as Linux's is; RED's is in bytes in both.
	QueueSize room(QueueSizeUnit::PACKETS, room_bytes / config.mtu_bytes);
	Config::SetDefault("ns3::CoDelQueueDisc::MinBytes", UintegerValue(config.mtu_bytes));
	switch (config.discipline) {
	case Discipline::fifo:
		throw std::logic_error("a first-in-first-out queue is no managed one");
	case Discipline::red:
		factory.SetTypeId("ns3::RedQueueDisc");
		room = QueueSize(QueueSizeUnit::BYTES, room_bytes);
		red_set(factory, config);
		break;
	case Discipline::codel:
		factory.SetTypeId("ns3::CoDelQueueDisc");
		codel_set(factory, asked);
		break;
	case Discipline::fq_codel:
		factory.SetTypeId("ns3::FqCoDelQueueDisc");
		codel_set(factory, asked);
		factory.Set("Flows", UintegerValue(asked.flows));
		break;
	case Discipline::pie:
		factory.SetTypeId("ns3::PieQueueDisc");
		pie_set(factory, asked);
		break;
	case Discipline::fq_pie:
		factory.SetTypeId("ns3::FqPieQueueDisc");
		pie_set(factory, asked);
		factory.Set("Flows", UintegerValue(asked.flows));
		break;
	}
	factory.Set("MaxSize", QueueSizeValue(room));
	const auto queue = factory.Create<QueueDisc>();
	const uint32_t quantum = asked.quantum_bytes.value_or(config.mtu_bytes);
	if (const auto fair = DynamicCast<FqCoDelQueueDisc>(queue))
		fair->SetQuantum(quantum);
	else if (const auto steered = DynamicCast<FqPieQueueDisc>(queue))
		steered->SetQuantum(quantum);
	queue->Initialize();
	return queue;
}

/// FNV-1a over addresses and ports: all packets of a stream have one value.
uint32_t flow_hash(const Ptr<Packet> &packet, int ip_version, uint32_t perturbation)
{
	std::array<uint8_t, 60> bytes{};
	packet->CopyData(bytes.data(), bytes.size());
	const size_t first = ip_version == 6 ? 8 : 12, header = ip_version == 6 ? 40 : 20;
	uint32_t hash = 2166136261U ^ perturbation;
	for (size_t i = first; i < header + 4; i++)
		hash = (hash ^ bytes.at(i)) * 16777619U;
	return hash;
}

template <typename Header> bool mark_congestion(const Ptr<Packet> &packet)
{
	Header header;
	packet->RemoveHeader(header);
	const bool capable = header.GetEcn() != Header::ECN_NotECT;
	if (capable)
		header.SetEcn(Header::ECN_CE);
	packet->AddHeader(header);
	return capable;
}

} // namespace

/// A frame as ns-3's queue disciplines see it.
class ManagedLane::Item : public QueueDiscItem
{
public:
	Item(Frame given, int ip_version)
	    : QueueDiscItem(given.packet ? given.packet : Create<Packet>(given.bytes),
			    Mac48Address(), 0),
	      frame(std::move(given)), ip_version_(ip_version)
	{
	}
	void AddHeader() override
	{
	}
	bool Mark() override
	{
		// Carried: never with ECN.
		if (frame.kind != Frame::Kind::transfer || frame.segment)
			return false;
		return ip_version_ == 6 ? mark_congestion<Ipv6Header>(frame.packet)
					: mark_congestion<Ipv4Header>(frame.packet);
	}
	uint32_t Hash(uint32_t perturbation) const override
	{
		if (frame.kind == Frame::Kind::background)
			return perturbation;
		// Each flow has the same addresses and ports: its hosts are its own (host.h).
		perturbation ^= uint32_t{frame.way} / 2 * 0x9e3779b9U;
		if (frame.kind == Frame::Kind::echo) // has no ports: it is a flow of its own
			return (perturbation ^ echo_protocol) * 2654435761U >> 8;
		if (frame.kind == Frame::Kind::datagram)
			return (perturbation ^ udp_protocol) * 2654435761U >> 8;
		if (!frame.segment)
			return flow_hash(frame.packet, ip_version_, perturbation);
		const uint32_t ports =
		    uint32_t{frame.segment.source_port()} << 16 | frame.segment.destination_port();
		return (ports ^ perturbation) * 2654435761U >> 8;
	}

	Frame frame;

private:
	int ip_version_;
};

ManagedLane::ManagedLane(LaneConfig config, int ip_version)
    : config_(std::move(config)), ip_version_(ip_version), line_(config_.rate_bps),
      rates_(config_.rates()), delays_(config_.delays()), mishaps_(config_.mishaps()),
      background_(config_.background()), random_(config_.seed), queue_(queue_make(config_)),
      way_(config_.disorders()), fate_(config_)
{
}

void ManagedLane::begin(int64_t start_ns)
{
	rates_.begin(start_ns);
	delays_.begin(start_ns);
	mishaps_.begin(start_ns);
	for (size_t i = 0; i < background_.size(); i++) {
		background_[i].begin(start_ns);
		background(i);
	}
}

/// Waits for the next background packet, unless there is none any more.
void ManagedLane::background(size_t index)
{
	const int64_t at_ns = background_[index].next_ns();
	if (at_ns == INT64_MAX)
		return;
	Simulator::Schedule(NanoSeconds(at_ns) - Simulator::Now(), [this, index] {
		const uint32_t bytes = background_[index].packet_bytes();
		background_[index].advance();
		background(index);
		Frame frame{Create<Packet>(bytes), bytes};
		frame.kind = Frame::Kind::background;
		take(std::move(frame));
	});
}

void ManagedLane::take(Frame frame)
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	int left = 1;
	if (frame.kind != Frame::Kind::background && fate_.duplicates(random_)) {
		const auto two = mishaps_.strike_two(now_ns, random_);
		left = two.left;
		counters_.drops += static_cast<uint64_t>(two.drops);
	} else if (mishaps_.strikes(now_ns, random_)) {
		left = 0;
		counters_.drops++;
	}
	if (left > 1)
		enqueue(now_ns, frame.copy());
	if (left > 0)
		enqueue(now_ns, std::move(frame));
}

void ManagedLane::enqueue(int64_t now_ns, Frame frame)
{
	if (fate_.full(now_ns)) {
		counters_.drops++;
		return;
	}
	queue_->Enqueue(Create<Item>(std::move(frame), ip_version_));
	if (!sending_)
		send_next();
}

void ManagedLane::send_next()
{
	const auto item = queue_->Dequeue();
	sending_ = item != nullptr;
	if (!sending_)
		return;
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	Frame &frame = static_cast<Item *>(PeekPointer(item))->frame;
	const int64_t leaves_ns =
	    send_changing(line_, rates_, now_ns, config_.line_bytes(frame.bytes));
	Simulator::Schedule(NanoSeconds(leaves_ns - now_ns), &ManagedLane::sent, this, frame);
}

void ManagedLane::sent(Frame frame)
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	counters_.packets++;
	counters_.bytes += config_.pads() ? config_.line_bytes(frame.bytes) : frame.bytes;
	if (frame.kind != Frame::Kind::background) {
		frame.corrupt |= fate_.corrupts(random_);
		way_.put(now_ns,
			 fate_.arrives_ns(now_ns, delays_.at(now_ns), random_, delays_.traced()),
			 std::move(frame));
	}
	send_next();
}

std::vector<EventCount> ManagedLane::event_counts() const
{
	std::vector<EventCount> found = mishaps_.counts();
	for (const auto &each : background_)
		found.push_back(each.count());
	return found;
}

LaneCounters ManagedLane::count(int64_t /*now_ns*/)
{
	LaneCounters counters = counters_;
	counters.drops += queue_->GetStats().nTotalDroppedPackets;
	counters.backlog_packets = queue_->GetNPackets();
	counters.backlog_bytes = queue_->GetNBytes();
	if (config_.pads() && counters.backlog_packets > 0) // of packets of their mean size
		counters.backlog_bytes = counters.backlog_packets *
					 config_.line_bytes(static_cast<uint32_t>(
					     counters.backlog_bytes / counters.backlog_packets));
	counters.marks = queue_->GetStats().nTotalMarkedPackets;
	return counters;
}

} // namespace landspeed
