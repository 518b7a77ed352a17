#pragma once

#include "mend/socket.h"

#include <ns3/address.h>
#include <ns3/application.h>

#include <vector>

namespace landspeed
{

// Accepts connections and reads what comes, segment by segment, without keeping it. ns-3's
// PacketSink asks for all that is readable as one packet: when a hole is filled that is a whole
// window, 360 MB at 10 Gbit/s × 264 ms. docs/ns3/06-pieces.md.
class CountingSink : public ns3::Application
{
public:
	static ns3::TypeId GetTypeId();

	// Where it listens; before it starts.
	void SetLocal(const ns3::Address &local);

	uint64_t ReceivedBytes() const; // of all connections
	// In the order of their acceptance.
	const std::vector<ns3::Ptr<TcpSocket>> &Connections() const;

protected:
	void DoDispose() override;

private:
	void StartApplication() override;
	void StopApplication() override;
	void Accept(ns3::Ptr<ns3::Socket> socket, const ns3::Address &from);
	void Read(ns3::Ptr<ns3::Socket> socket);

	ns3::Address local_;
	ns3::Ptr<TcpSocket> listening_;
	std::vector<ns3::Ptr<TcpSocket>> connections_;
	uint64_t received_bytes_ = 0;
};

// A sink on the node, which listens at the address and port from the start of the simulation.
ns3::Ptr<CountingSink> InstallSink(ns3::Ptr<ns3::Node> node, const ns3::Address &local);

} // namespace landspeed
