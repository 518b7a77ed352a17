#include "mend/sink.h"

#include <ns3/node.h>
#include <ns3/packet.h>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(CountingSink);

TypeId CountingSink::GetTypeId()
{
	static TypeId id = TypeId("landspeed::CountingSink")
			       .SetParent<Application>()
			       .AddConstructor<CountingSink>();
	return id;
}

void CountingSink::SetLocal(const Address &local)
{
	local_ = local;
}

uint64_t CountingSink::ReceivedBytes() const
{
	return received_bytes_;
}

const std::vector<Ptr<TcpSocket>> &CountingSink::Connections() const
{
	return connections_;
}

void CountingSink::StartApplication()
{
	listening_ = CreateTcpSocket(GetNode());
	NS_ABORT_MSG_IF(listening_->Bind(local_) != 0, "the sink cannot be bound to its address");
	listening_->Listen();
	listening_->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
				      MakeCallback(&CountingSink::Accept, this));
}

void CountingSink::StopApplication()
{
	if (listening_)
		listening_->Close();
	for (const Ptr<TcpSocket> &socket : connections_)
		socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
}

void CountingSink::Accept(Ptr<Socket> socket, const Address &)
{
	connections_.push_back(DynamicCast<TcpSocket>(socket));
	socket->SetRecvCallback(MakeCallback(&CountingSink::Read, this));
}

void CountingSink::Read(Ptr<Socket> socket)
{
	while (Ptr<Packet> packet = socket->Recv(UINT32_MAX, 0))
		received_bytes_ += packet->GetSize();
}

void CountingSink::DoDispose()
{
	listening_ = nullptr;
	connections_.clear();
	Application::DoDispose();
}

Ptr<CountingSink> InstallSink(Ptr<Node> node, const Address &local)
{
	auto sink = CreateObject<CountingSink>();
	sink->SetLocal(local);
	node->AddApplication(sink);
	return sink;
}

} // namespace landspeed
