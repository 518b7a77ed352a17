// The plan as landspeed/scenario/plan/plan.py writes it: what the simulator reads of it, checked.
#pragma once

#include "../impairments.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace landspeed
{

/// The plan is not what it should be. The message says where, what, and what would be right.
struct PlanError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Node {
	std::string name;
	bool host = false;
	std::optional<uint64_t> nic_rate_bps;
	std::optional<uint64_t> bus_rate_bps; ///< bits of IP packets per second
	std::optional<bool> paced;            ///< none: as this program likes
};

enum class Discipline { fifo, red, codel, fq_codel, pie, fq_pie };

/// What a direction's discipline is told; which of them it has follows from the discipline.
struct QueueParameters {
	bool ecn = false;
	uint64_t min_bytes = 0, max_bytes = 0; ///< RED
	double probability = 0;                ///< RED
	uint32_t weight_log = 0;               ///< RED: its weight is 2 to the power of minus this
	int64_t target_ns = 0, interval_ns = 0, update_ns = 0;
	std::optional<int64_t> ce_threshold_ns;
	uint32_t alpha = 0, beta = 0; ///< PIE, in sixteenths
	uint32_t flows = 0;
	std::optional<uint32_t> quantum_bytes; ///< none: a packet of the link's MTU
};

/// What a direction is over time, since the transfer's start: the values of a place hold from its
/// time on. An empty list leaves its figure as it is.
struct Trace {
	std::vector<int64_t> at_ns; ///< rising, the first is 0
	int64_t lasts_ns = 0; ///< then it begins again, if it loops; else its last values hold
	bool loops = false;
	std::vector<int64_t> rate_bps, delay_ns;
	std::vector<double> loss;
};

struct Direction : Impairments {
	int64_t delay_ns = 0;
	uint64_t rate_bps = 0;             ///< framing included
	uint64_t queue_bytes = UINT64_MAX; ///< IP packets waiting for the line
	bool can_queue = true;
	uint64_t seed = 0;
	Discipline discipline = Discipline::fifo;
	QueueParameters parameters;
	Trace trace;
};

enum class Cells { none, atm, ptm };

/// What a packet takes of a line beside itself.
struct Framing {
	uint32_t framing_bytes = 0; ///< of each
	uint32_t least_bytes = 0;   ///< a packet with its framing, at least
	Cells cells = Cells::none;  ///< in which they go, padded

	/// As landspeed/scenario/plan/plan.py counts, and CAKE.
	[[nodiscard]] uint32_t line_bytes(uint32_t packet_bytes) const
	{
		const uint32_t sum = packet_bytes + framing_bytes;
		const uint32_t whole = sum < least_bytes ? least_bytes : sum;
		if (cells == Cells::atm)
			return (whole + 47) / 48 * 53;
		return cells == Cells::ptm ? whole + (whole + 63) / 64 : whole;
	}
	/// It is not the same for all.
	[[nodiscard]] bool pads() const
	{
		return cells != Cells::none || least_bytes > 0;
	}
};

struct Link : Framing {
	size_t a = 0, b = 0; ///< nodes
	uint32_t mtu_bytes = 0;
	Direction forward, reverse;
};

struct Transfer {
	uint32_t streams = 1;
	std::optional<uint64_t>
	    window_bytes;          ///< per stream, as asked of the system; none: autotuning
	bool window_exact = false; ///< the receiver offers window_bytes to the byte
	std::optional<uint32_t> initial_window_packets;
	std::string congestion_control;
	std::optional<uint64_t> bytes; ///< of all streams
	std::optional<int64_t> duration_ns;
	int64_t sample_interval_ns = 0;
	std::optional<uint64_t> pacing_rate_bps; ///< per stream
	int64_t start_stagger_ns = 0;
	int64_t stall_ns = 30'000'000'000;  ///< given up when nothing has moved for so long
	bool ecn = false;                   ///< both ends negotiate it (RFC 3168)
	int64_t ping_interval_ns = 0;       ///< of echoes beside it; 0: there are none
	bool datagrams = false;             ///< of UDP, for `duration_ns`, instead of TCP
	uint64_t rate_bps = 0;              ///< of their IP packets, while it sends
	uint32_t packet_bytes = 0;          ///< of each IP packet
	int64_t active_ns = 0, idle_ns = 0; ///< it sends and rests in turns; 0: it never rests
};

enum class EventKind { loss, rate, delay, down, background };

/// Something that happens to a link at a time after the transfer's start.
struct Event {
	size_t index = 0; ///< in the plan
	int64_t at_ns = 0;
	EventKind kind = EventKind::loss;
	size_t link = 0;
	bool forward = false, reverse = false;
	std::optional<uint64_t> packets;
	std::optional<int64_t> duration_ns;
	double probability = 1.0;
	uint64_t rate_bps = 0;
	int64_t delay_ns = 0;
};

/// A link as a flow's data passes it.
struct Step {
	size_t link = 0;
	bool ahead = true; ///< from its `a` to its `b`
};

/// One transfer from a host to another; what is answered passes the same nodes back.
struct Flow {
	std::string name;
	size_t source = 0, target = 0; ///< nodes
	std::vector<Step> route;
	std::vector<Step> back; ///< what is answered, from the target: the same links or others
	int64_t start_ns = 0;   ///< when it begins to connect
	Transfer transfer;
};

/// A network and its flows. A path is a network with one flow.
struct Plan {
	std::string scenario;
	uint64_t seed = 0;
	int ip_version = 4;
	std::string fidelity;
	std::vector<Node> nodes;
	std::vector<Link> links;
	std::vector<Flow> flows; ///< at least one
	std::vector<Event> events;

	/// For so long echoes go over the idle path before the first flow connects.
	[[nodiscard]] int64_t idle_ns() const;
	/// The node to which it leads.
	[[nodiscard]] size_t end(const Step &step) const;
	/// The largest IP packet of a flow's data, or (not `ahead`) of what its target sends: it
	/// passes every link there, and the far host's own, which that tells (MSS).
	[[nodiscard]] uint32_t mtu_bytes(const Flow &flow, bool ahead = true) const;
	/// Propagation both ways.
	[[nodiscard]] int64_t rtt_ns(const Flow &flow) const;
	/// Payload of a full packet: IP header, TCP header and timestamps taken off (RFC 9293,
	/// 7323).
	[[nodiscard]] uint32_t mss_bytes(const Flow &flow) const;
};

/// Reads and checks a plan; throws PlanError.
Plan plan_read(const std::string &path);

} // namespace landspeed
