// The transfer: streams from the sender to the receiver, as the engine makes them.
#pragma once

#include "path.h"
#include "stream_socket.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace landspeed
{

struct Stream {
	uint32_t index = 0;
	ns3::Ptr<StreamSocket> sender, receiver;
	uint64_t share_bytes = UINT64_MAX; ///< to move; UINT64_MAX: until the time is over
	uint64_t handed_bytes = 0;         ///< to the sender's socket
	uint64_t bytes = 0;                ///< read by the receiver
	int64_t first_ns = -1,
		last_ns = -1; ///< when it read its first and its last byte; since the start
};

class Streams
{
public:
	/// Connects all streams when the simulation begins. `whole_stack`: every packet goes
	/// through ns-3's IP. `started` is called when all are connected, `finished` when every
	/// stream has delivered its share.
	Streams(const Plan &plan, const Path &path, const TcpGrant &grant, bool whole_stack,
		std::function<void()> started, std::function<void()> finished);

	[[nodiscard]] const std::vector<Stream> &all() const
	{
		return streams_;
	}
	/// When sending began, in simulated time.
	[[nodiscard]] int64_t start_ns() const
	{
		return start_ns_;
	}
	[[nodiscard]] uint64_t bytes() const;
	/// Why it cannot go on; empty: all is well.
	[[nodiscard]] const std::string &error() const
	{
		return error_;
	}
	/// ns-3's name of the congestion control that the sending sockets have.
	[[nodiscard]] std::string congestion_control() const
	{
		return streams_.front().sender ? streams_.front().sender->congestion_control() : "";
	}
	/// The buffers that the sockets have.
	[[nodiscard]] const TcpGrant &grant() const
	{
		return tcp_;
	}

private:
	void listen();
	void connect(Stream &stream);
	void connected();
	void refused();
	void accepted(const ns3::Ptr<ns3::Socket> &socket, const ns3::Address &from);
	void start_when_complete();
	void start_carrying();
	void begin(uint32_t index);
	void feed(uint32_t index);
	void read(uint32_t index, const ns3::Ptr<ns3::Socket> &socket);

	const Plan &plan_;
	const Path &path_;
	bool whole_stack_;
	std::function<void()> started_, finished_;
	std::vector<Stream> streams_;
	ns3::Ptr<StreamSocket> listener_;
	uint32_t connected_ = 0, accepted_ = 0, delivered_ = 0;
	TcpGrant tcp_;
	uint32_t chunk_bytes_ = 0;
	int64_t start_ns_ = -1;
	std::string error_;
};

} // namespace landspeed
