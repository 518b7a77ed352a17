// What ns-3 asks of each congestion control, said once: its type, its name, and a copy of itself.
#pragma once

#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-socket-state.h>

#include <string>

namespace landspeed
{

using Tcb = ns3::Ptr<ns3::TcpSocketState>;
using ConstTcb = ns3::Ptr<const ns3::TcpSocketState>;

// Self has TYPE, its class's name as ns-3's attributes spell it, and NAME.
template <class Self, class Parent = ns3::TcpCongestionOps> class Control : public Parent
{
public:
	static ns3::TypeId GetTypeId()
	{
		static ns3::TypeId id = ns3::TypeId(std::string("landspeed::") + Self::TYPE)
					    .template SetParent<Parent>()
					    .template AddConstructor<Self>();
		return id;
	}

	std::string GetName() const override
	{
		return Self::NAME;
	}

	ns3::Ptr<ns3::TcpCongestionOps> Fork() override
	{
		return ns3::CopyObject<Self>(static_cast<Self *>(this));
	}
};

} // namespace landspeed
