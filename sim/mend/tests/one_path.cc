#include "mend/tests/one_path.h"

#include <algorithm>

using namespace ns3;

namespace
{

constexpr uint16_t FIRST_PORT = 5000;
constexpr uint32_t SMALLEST_DATA_PACKET = 200; // bytes; acknowledgments are smaller

class Losses : public ErrorModel
{
public:
	std::function<bool(Ptr<const Packet>)> is_lost;

private:
	bool DoCorrupt(Ptr<Packet> packet) override
	{
		return is_lost(packet);
	}

	void DoReset() override
	{
	}
};

void SetDefaults(const PathSettings &settings)
{
#ifdef LANDSPEED_MENDED
	landspeed::TcpSettings tcp;
	tcp.congestion_control = settings.congestion_control;
	tcp.mss_bytes = settings.mss_bytes;
	tcp.hystart = settings.hystart;
	tcp.paced = settings.paced;
	landspeed::SetTcpDefaults(tcp);
#else
	Config::SetDefault("ns3::TcpL4Protocol::SocketType",
			   TypeIdValue(TypeId::LookupByName(settings.congestion_control == "cubic"
								? "ns3::TcpCubic"
								: "ns3::TcpLinuxReno")));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(settings.mss_bytes));
	Config::SetDefault("ns3::TcpSocketState::MaxPacingRate",
			   DataRateValue(DataRate(1'000'000'000'000)));
	Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(settings.paced));
#endif
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(settings.window_bytes));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * settings.window_bytes));
	Config::SetDefault("ns3::TcpL4Protocol::RttEstimatorType",
			   TypeIdValue(RttMeanDeviation::GetTypeId()));
	if (settings.first_threshold_segments > 0)
		Config::SetDefault(
		    "ns3::TcpSocket::InitialSlowStartThreshold",
		    UintegerValue(settings.first_threshold_segments * settings.mss_bytes));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(settings.segments_per_ack));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd",
			   UintegerValue(settings.first_window_segments));
	RngSeedManager::SetRun(settings.seed);
}

} // namespace

OnePath::OnePath(const PathSettings &settings) : settings_(settings), streams_(settings.streams)
{
	SetDefaults(settings_);
	nodes_.Create(2);
	PointToPointHelper link;
	link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(settings_.rate_bps)));
	link.SetDeviceAttribute("Mtu", UintegerValue(settings_.mss_bytes + 52));
	link.SetChannelAttribute("Delay", TimeValue(Seconds(settings_.rtt_ms / 2000)));
	link.SetQueue("ns3::DropTailQueue", "MaxSize",
		      StringValue(std::to_string(settings_.queue_packets) + "p"));
	link.DisableFlowControl();
	NetDeviceContainer devices = link.Install(nodes_);
	InternetStackHelper().Install(nodes_);
	Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
	addresses_ = addresses.Assign(devices);

	random_ = CreateObject<UniformRandomVariable>();
	auto losses = CreateObject<Losses>();
	losses->is_lost = [this](Ptr<const Packet> packet) { return IsLost(packet); };
	DynamicCast<PointToPointNetDevice>(devices.Get(1))->SetReceiveErrorModel(losses);
	for (uint32_t index = 0; index < settings_.streams; ++index)
		Start(index);
}

OnePath::~OnePath()
{
	streams_.clear();
	Simulator::Destroy();
}

bool OnePath::IsLost(Ptr<const Packet> packet)
{
	if (packet->GetSize() < SMALLEST_DATA_PACKET)
		return false;
	++data_packets_;
	if (std::find(settings_.drops.begin(), settings_.drops.end(), data_packets_) !=
	    settings_.drops.end())
		return true;
	if (settings_.drop_every > 0 && data_packets_ % settings_.drop_every == 0)
		return true;
	return settings_.loss > 0 && random_->GetValue() < settings_.loss;
}

Ptr<TcpSocketBase> OnePath::MakeSocket(uint32_t node) const
{
#ifdef LANDSPEED_MENDED
	return landspeed::CreateTcpSocket(nodes_.Get(node));
#else
	return DynamicCast<TcpSocketBase>(
	    Socket::CreateSocket(nodes_.Get(node), TcpSocketFactory::GetTypeId()));
#endif
}

void OnePath::Start(uint32_t index)
{
	Stream &stream = streams_[index];
	auto port = static_cast<uint16_t>(FIRST_PORT + index);
	stream.listening = MakeSocket(1);
	stream.listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
	stream.listening->Listen();
	auto accept = [this, index](Ptr<Socket> socket, const Address &) {
		streams_[index].accepted = socket;
		socket->SetRecvCallback([this, index](Ptr<Socket> from) { Read(index, from); });
	};
	stream.listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
					    Callback<void, Ptr<Socket>, const Address &>(accept));

	stream.sender = MakeSocket(0);
	auto note = [](uint32_t &place) {
		return Callback<void, uint32_t, uint32_t>(
		    [&place](uint32_t, uint32_t now) { place = now; });
	};
	stream.sender->TraceConnectWithoutContext("CongestionWindow", note(stream.window));
	stream.sender->TraceConnectWithoutContext("SlowStartThreshold", note(stream.threshold));
	stream.sender->SetConnectCallback([this, index](Ptr<Socket>) { Fill(index); },
					  MakeNullCallback<void, Ptr<Socket>>());
	stream.sender->SetSendCallback([this, index](Ptr<Socket>, uint32_t) { Fill(index); });
	Simulator::ScheduleNow([this, index, port] {
		streams_[index].sender->Connect(InetSocketAddress(addresses_.GetAddress(1), port));
	});
}

void OnePath::Fill(uint32_t index)
{
	Stream &stream = streams_[index];
	while (stream.written < settings_.total_bytes &&
	       stream.sender->GetTxAvailable() >= settings_.mss_bytes) {
		if (stream.sender->Send(Create<Packet>(settings_.mss_bytes), 0) < 0)
			return;
		stream.written += settings_.mss_bytes;
	}
}

void OnePath::Read(uint32_t index, Ptr<Socket> socket)
{
	const Time from = Seconds(settings_.reads_from_s);
	if (Simulator::Now() < from) {
		Simulator::Schedule(from - Simulator::Now(), &OnePath::Read, this, index, socket);
		return;
	}
	for (Ptr<Packet> packet; (packet = socket->Recv(UINT32_MAX, 0)) && packet->GetSize() > 0;)
		streams_[index].received += packet->GetSize();
}

void OnePath::Run(double seconds)
{
	Simulator::Stop(Seconds(seconds));
	Simulator::Run();
}

void OnePath::LoseNext()
{
	settings_.drops.push_back(data_packets_ + 1);
}

void OnePath::Every(double seconds, std::function<void()> what)
{
	Simulator::Schedule(Seconds(seconds), [this, seconds, what] {
		what();
		Every(seconds, what);
	});
}

uint64_t OnePath::Received(uint32_t stream) const
{
	return streams_.at(stream).received;
}

Ptr<TcpSocketBase> OnePath::Sender(uint32_t stream) const
{
	return streams_.at(stream).sender;
}

uint32_t OnePath::Window(uint32_t stream) const
{
	return streams_.at(stream).window;
}

uint32_t OnePath::Threshold(uint32_t stream) const
{
	return streams_.at(stream).threshold;
}
