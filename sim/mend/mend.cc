#include "mend/mend.h"

#include "mend/prr.h"
#include "mend/validation.h"

#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/data-rate.h>
#include <ns3/nstime.h>
#include <ns3/string.h>
#include <ns3/type-id.h>
#include <ns3/uinteger.h>

#include <map>
#include <stdexcept>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint64_t FASTEST_PACING_BPS = 1'000'000'000'000; // ns-3's default of 4 Gbit/s pins BBR
constexpr uint32_t MIN_TIMEOUT_MS = 200;                   // Linux: TCP_RTO_MIN
constexpr uint32_t FIRST_TIMEOUT_S = 1;                    // RFC 6298
constexpr uint32_t DATA_RETRIES = 15;                      // Linux: tcp_retries2
constexpr uint32_t DELAYED_ACK_MS = 40;                    // Linux: TCP_DELACK_MIN
constexpr uint32_t INITIAL_WINDOW_SEGMENTS = 10;           // RFC 6928
constexpr uint32_t NO_THRESHOLD = UINT32_MAX;

// Linux's names, and ns-3's classes.
const std::map<std::string, std::string> ALGORITHMS = {
    {"bbr", "landspeed::Bbr"},           {"bic", "ns3::TcpBic"},
    {"cubic", "landspeed::Cubic"},       {"dctcp", "landspeed::Dctcp"},
    {"highspeed", "ns3::TcpHighSpeed"},  {"htcp", "landspeed::Htcp"},
    {"illinois", "landspeed::Illinois"}, {"reno", "ns3::TcpLinuxReno"},
    {"scalable", "landspeed::Scalable"}, {"vegas", "landspeed::Vegas"},
    {"westwood", "landspeed::Westwood"}, {"yeah", "landspeed::Yeah"},
};

TypeId AlgorithmOf(const std::string &name)
{
	auto found = ALGORITHMS.find(name);
	if (found != ALGORITHMS.end())
		return TypeId::LookupByName(found->second);
	std::string known;
	for (const std::string &each : CongestionControls())
		known += (known.empty() ? "" : ", ") + each;
	throw std::invalid_argument("no congestion control \"" + name +
				    "\" in the simulated world; it has " + known);
}

} // namespace

std::vector<std::string> CongestionControls()
{
	std::vector<std::string> names;
	names.reserve(ALGORITHMS.size());
	for (const auto &each : ALGORITHMS)
		names.push_back(each.first);
	return names;
}

TcpGrant SetTcpDefaults(const TcpSettings &settings)
{
	TypeId algorithm = AlgorithmOf(settings.congestion_control);
	TcpGrant grant{};
	if (settings.window_bytes) {
		grant.receive_window_bytes =
		    GrantedReceiveWindow(*settings.window_bytes, settings.mss_bytes);
		grant.send_buffer_bytes =
		    GrantedSendBuffer(*settings.window_bytes, settings.mss_bytes);
	} else {
		grant.receive_window_bytes =
		    AutotunedReceiveWindow(settings.autotuning_bytes, settings.mss_bytes);
		grant.send_buffer_bytes = grant.receive_window_bytes;
	}
	bool ecn = settings.ecn || settings.congestion_control == "dctcp";
	bool paced = settings.paced || settings.pacing_rate_bps.has_value();
	uint64_t pacing_bps = settings.pacing_rate_bps.value_or(FASTEST_PACING_BPS);

	Config::SetDefault("ns3::TcpL4Protocol::SocketType",
			   TypeIdValue(WindowValidation::GetTypeId()));
	Config::SetDefault("landspeed::WindowValidation::Algorithm", TypeIdValue(algorithm));
	Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
			   TypeIdValue(PrrRecovery::GetTypeId()));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(settings.mss_bytes));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(grant.receive_window_bytes));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(grant.send_buffer_bytes));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(INITIAL_WINDOW_SEGMENTS));
	Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold",
			   UintegerValue(NO_THRESHOLD));
	Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(FIRST_TIMEOUT_S)));
	Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(DATA_RETRIES));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(settings.segments_per_ack));
	Config::SetDefault("landspeed::TcpSocket::AcknowledgedSingly",
			   UintegerValue(AcknowledgedSingly(
			       settings.window_bytes.value_or(grant.receive_window_bytes),
			       grant.receive_window_bytes, settings.mss_bytes)));
	Config::SetDefault("ns3::TcpSocket::DelAckTimeout",
			   TimeValue(MilliSeconds(DELAYED_ACK_MS)));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(MIN_TIMEOUT_MS)));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));
	Config::SetDefault("ns3::TcpSocketState::MaxPacingRate",
			   DataRateValue(DataRate(pacing_bps)));
	Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(paced));
	Config::SetDefault("landspeed::Cubic::HyStart", BooleanValue(settings.hystart));
	Config::SetDefault("landspeed::Cubic::Paced",
			   BooleanValue(paced || settings.hystart_paced));
	return grant;
}

} // namespace landspeed
