// A flow's transfer: streams from its sender to its receiver, as the engine makes them.
#pragma once

#include "network.h"
#include "sending.h"
#include "stream_socket.h"

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
	uint64_t early_bytes = 0;          ///< of them, at first_ns: they took no time
	int64_t first_ns = -1,
		last_ns = -1; ///< when it read its first and its last byte; since the start
};

class Streams : public Sending
{
public:
	/// Connects all streams when the flow's time has come; it can send when all are connected,
	/// and is done when every stream has delivered its share. `whole_stack`: every packet goes
	/// through ns-3's IP.
	Streams(const Plan &plan, const Flow &flow, const Network::Ends &ends, bool whole_stack);

	/// The time is over: nothing is sent or read any more.
	void end() override;
	[[nodiscard]] bool ends_itself() const override
	{
		return false;
	}

	[[nodiscard]] const Flow &flow() const override
	{
		return flow_;
	}
	[[nodiscard]] const std::vector<Stream> &all() const
	{
		return streams_;
	}
	[[nodiscard]] int64_t start_ns() const override
	{
		return start_ns_;
	}
	[[nodiscard]] uint64_t bytes() const override;
	/// ns-3's name of the congestion control that the sending sockets have.
	[[nodiscard]] std::string congestion_control() const
	{
		return streams_.front().sender ? streams_.front().sender->congestion_control() : "";
	}
	/// The buffers that the sockets have.
	[[nodiscard]] const TcpGrant &grant() const
	{
		return grant_;
	}
	[[nodiscard]] uint64_t corrupted() const override
	{
		return ends_.sender.device->corrupted() + ends_.receiver.device->corrupted();
	}

private:
	ns3::Ptr<StreamSocket> make_socket(const Host &host);
	void listen();
	void connect(Stream &stream);
	void accepted(const ns3::Ptr<ns3::Socket> &socket, const ns3::Address &from);
	void watch();
	void start_when_complete();
	void start_carrying();
	void begin(uint32_t index);
	void feed(uint32_t index);
	void read(uint32_t index, const ns3::Ptr<ns3::Socket> &socket);

	const Plan &plan_;
	const Flow &flow_;
	const Network::Ends &ends_;
	bool whole_stack_;
	std::vector<Stream> streams_;
	ns3::Ptr<StreamSocket> listener_;
	uint32_t connected_ = 0, accepted_ = 0, delivered_ = 0;
	TcpGrant grant_{};
	uint32_t chunk_bytes_ = 0;
	int64_t start_ns_ = -1;
	uint64_t moved_ = 0;   ///< at the last look
	int64_t moved_ns_ = 0; ///< when it was seen to grow
	bool ended_ = false;
};

} // namespace landspeed
