#pragma once

// Two hosts and a link between them, for tests of TCP. The same source is built with the mends and,
// for the proof that a test fails without them, against ns-3 as it comes (then without
// LANDSPEED_MENDED).

#include <ns3/core-module.h>
#include <ns3/error-model.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#ifdef LANDSPEED_MENDED
#include "mend/mend.h"
#endif

#include <functional>
#include <set>
#include <string>
#include <vector>

struct PathSettings {
	std::string congestion_control = "reno";
	uint64_t rate_bps = 10'000'000'000;
	double rtt_ms = 264;
	uint32_t mss_bytes = 8948;
	uint64_t window_bytes = 1 << 20; // usable
	uint32_t queue_packets = 1'000'000;
	uint32_t streams = 1;
	double loss = 0;             // of data packets, at random
	std::vector<uint64_t> drops; // data packets (counted from 1) that are lost
	uint64_t seed = 1;
	bool hystart = true;
	bool paced = false;
	uint32_t segments_per_ack = 2;
	uint64_t drop_every = 0;               // each so-manyth data packet is lost; 0: none
	uint32_t first_threshold_segments = 0; // initial slow start threshold; 0: none
	uint32_t first_window_segments = 10;   // initial congestion window
	uint64_t total_bytes = UINT64_MAX;     // of each stream; then it sends no more
	double reads_from_s = 0;               // the receiver does not read before
};

class OnePath
{
public:
	explicit OnePath(const PathSettings &settings);
	~OnePath();
	OnePath(const OnePath &) = delete;
	OnePath &operator=(const OnePath &) = delete;

	void Run(double seconds); // so many more
	void LoseNext();          // the next data packet
	uint64_t Received(uint32_t stream = 0) const;
	// Calls with the simulated time after each interval.
	void Every(double seconds, std::function<void()> what);

	ns3::Ptr<ns3::TcpSocketBase> Sender(uint32_t stream = 0) const;
	uint32_t Window(uint32_t stream = 0) const;    // congestion window, bytes
	uint32_t Threshold(uint32_t stream = 0) const; // slow start threshold, bytes

private:
	struct Stream {
		ns3::Ptr<ns3::TcpSocketBase> sender;
		ns3::Ptr<ns3::TcpSocketBase> listening;
		ns3::Ptr<ns3::Socket> accepted;
		uint64_t written = 0;
		uint64_t received = 0;
		uint32_t window = 0;
		uint32_t threshold = 0;
	};

	ns3::Ptr<ns3::TcpSocketBase> MakeSocket(uint32_t node) const;
	void Start(uint32_t index);
	void Fill(uint32_t index);
	void Read(uint32_t index, ns3::Ptr<ns3::Socket> socket);
	bool
	IsLost(ns3::Ptr<const ns3::Packet> packet); // told of each packet that reaches the receiver

	PathSettings settings_;
	ns3::NodeContainer nodes_;
	ns3::Ipv4InterfaceContainer addresses_;
	std::vector<Stream> streams_;
	ns3::Ptr<ns3::UniformRandomVariable> random_;
	uint64_t data_packets_ = 0;
};
