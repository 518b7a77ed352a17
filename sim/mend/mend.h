#pragma once

// ns-3's TCP made fit for long, fast paths. A program calls SetTcpDefaults once, before it makes
// nodes; then it makes its sockets with CreateTcpSocket, and reads them with TcpSocket::Figures.
// Those that ns-3's applications make have the congestion control and the recovery only.
// docs/ns3/README.md has what is mended.

#include "mend/grant.h"
#include "mend/socket.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace landspeed
{

struct TcpSettings {
	std::string congestion_control; // Linux's name: "reno", "cubic", … (CongestionControls)
	uint32_t mss_bytes = 1448;      // payload of a full packet, timestamps taken off
	std::optional<uint64_t>
	    window_bytes; // asked with SO_RCVBUF and SO_SNDBUF; none: autotuning
	uint64_t autotuning_bytes = (uint64_t{1} << 31) - 1; // where tcp_rmem and tcp_wmem end
	bool hystart = true;                                 // of CUBIC
	bool hystart_paced = false;                          // it waits as long as with fq's pacing
	bool paced = false; // as with fq: 2 cwnd/RTT in slow start, 1.2 after it
	std::optional<uint64_t> pacing_rate_bps; // never faster than this (SO_MAX_PACING_RATE)
	uint32_t segments_per_ack = 2;           // delayed acknowledgment (RFC 1122)
	bool ecn = false;                        // set by itself for DCTCP
};

// What the settings come to.
struct TcpGrant {
	uint32_t receive_window_bytes; // the most that the receiver offers
	uint32_t send_buffer_bytes;    // the most that the sender holds unacknowledged and unsent
};

// The names that SetTcpDefaults takes, as Linux spells them.
std::vector<std::string> CongestionControls();

// Sets ns-3's defaults (Config::SetDefault) for every socket made after it. Throws
// std::invalid_argument with a list of what would be right if the congestion control is not one of
// CongestionControls().
TcpGrant SetTcpDefaults(const TcpSettings &settings);

} // namespace landspeed
