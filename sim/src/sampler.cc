#include "sampler.h"

#include "datagrams.h"
#include "streams.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ns3/simulator.h>
#include <stdexcept>

namespace landspeed
{

using ns3::NanoSeconds;
using ns3::Simulator;

namespace
{

constexpr char sample_header[] =
    "time_ns,stream,bytes,cwnd_packets,ssthresh_packets,srtt_us,rttvar_us,min_rtt_us,retransmits,"
    "lost_packets,in_flight_packets,state,delivery_rate_bps,pacing_rate_bps,busy_us,"
    "rwnd_limited_us,sndbuf_limited_us,rcv_space_bytes,snd_wnd_bytes,bytes_retransmitted,"
    "mss_bytes\n";
constexpr char link_header[] =
    "time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets,marks\n";

} // namespace

SampleFile::SampleFile(std::string name, const char *header) : name_(std::move(name)), out_(name_)
{
	out_ << header;
	check();
}

void SampleFile::check() const
{
	if (!out_)
		throw std::runtime_error(name_ + ": cannot be written: " + std::strerror(errno));
}

void SampleFile::close()
{
	out_.close();
	check();
}

std::string flow_folder(size_t flow)
{
	return "flows/" + std::to_string(flow);
}

Sampler::Sampler(const std::string &folder, const Plan &plan, const Network &network,
		 const Flows &flows)
    : network_(network), flows_(flows), links_(folder + "/links.csv", link_header)
{
	for (size_t i = 0; i < plan.flows.size(); i++) {
		const std::string own = folder + "/" + flow_folder(i);
		std::error_code error;
		std::filesystem::create_directories(own, error);
		if (error)
			throw std::runtime_error(own + ": cannot be made: " + error.message());
		const int64_t interval_ns = plan.flows[i].transfer.sample_interval_ns;
		series_.push_back({SampleFile(own + "/sender.csv", sample_header),
				   SampleFile(own + "/receiver.csv", sample_header), interval_ns});
		links_interval_ns_ = std::min(links_interval_ns_, interval_ns);
	}
}

void Sampler::begin(size_t flow)
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	if (links_last_ns_ < 0) {
		write_links();
		links_due_ns_ = now_ns + links_interval_ns_;
	}
	series_[flow].due_ns = now_ns + series_[flow].interval_ns;
	schedule();
}

/// One event waits: for what is due first.
void Sampler::schedule()
{
	int64_t first_ns = links_due_ns_;
	for (const auto &each : series_)
		first_ns = std::min(first_ns, each.due_ns);
	if (first_ns >= next_ns_)
		return;
	next_.Cancel();
	next_ns_ = first_ns;
	next_ = Simulator::Schedule(NanoSeconds(first_ns) - Simulator::Now(), &Sampler::tick, this);
}

void Sampler::tick()
{
	const int64_t now_ns = next_ns_;
	next_ns_ = INT64_MAX;
	for (size_t flow = 0; flow < series_.size(); flow++) {
		if (series_[flow].due_ns != now_ns)
			continue;
		write_flow(flow);
		series_[flow].due_ns += series_[flow].interval_ns;
	}
	if (links_due_ns_ == now_ns) {
		write_links();
		links_due_ns_ += links_interval_ns_;
	}
	schedule();
}

void Sampler::end(size_t flow)
{
	Series &series = series_[flow];
	if (series.due_ns == INT64_MAX)
		return;
	series.due_ns = INT64_MAX;
	if (Simulator::Now().GetNanoSeconds() - flows_.all()[flow]->start_ns() > series.last_ns)
		write_flow(flow);
}

void Sampler::finish()
{
	for (size_t flow = 0; flow < series_.size(); flow++)
		end(flow);
	if (flows_.start_ns() >= 0 && flows_.time_ns() > links_last_ns_)
		write_links();
	for (auto &series : series_) {
		series.sender.close();
		series.receiver.close();
	}
	links_.close();
}

/// What ns-3 cannot know is left empty, which is null in the parquet.
void Sampler::write_flow(size_t flow)
{
	Series &series = series_[flow];
	const Sending &sending = *flows_.all()[flow];
	const int64_t time_ns = Simulator::Now().GetNanoSeconds() - sending.start_ns();
	series.last_ns = time_ns;
	std::ofstream &sender = series.sender.out(), &receiver = series.receiver.out();
	if (const auto *datagrams = dynamic_cast<const Datagrams *>(&sending)) {
		constexpr char unknown[] = ",,,,,,,,,,,,,,,,,,\n";
		sender << time_ns << ",0," << datagrams->sent() * datagrams->payload_bytes()
		       << unknown;
		receiver << time_ns << ",0," << datagrams->bytes() << unknown;
		series.sender.check();
		series.receiver.check();
		return;
	}
	const auto &streams = dynamic_cast<const Streams &>(sending);
	for (const auto &stream : streams.all()) {
		const SocketView view = stream.sender->view();
		const uint64_t acked = stream.sender->Figures().acknowledged_bytes;
		sender << time_ns << ',' << stream.index << ',' << acked << ',' << view.cwnd_packets
		       << ',' << view.ssthresh_packets << ',' << view.srtt_us << ','
		       << view.rttvar_us << ',' << view.min_rtt_us << ',' << view.retransmits << ','
		       << view.lost_packets << ',' << view.in_flight_packets << ',' << view.state
		       << ",," << view.pacing_rate_bps << ",,,,," << view.snd_wnd_bytes << ','
		       << view.bytes_retransmitted << ',' << view.mss_bytes << '\n';
		receiver << time_ns << ',' << stream.index << ',' << stream.bytes
			 << ",,,,,,,,,,,,,,," << streams.grant().receive_window_bytes << ",,,"
			 << view.mss_bytes << '\n';
	}
	series.sender.check();
	series.receiver.check();
}

void Sampler::write_links()
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	links_last_ns_ = flows_.time_ns();
	std::ofstream &links = links_.out();
	for (const auto &info : network_.lanes) {
		if (info.config.link < 0)
			continue;
		const LaneCounters counters = info.lane->count(now_ns);
		links << links_last_ns_ << ',' << info.config.link << ','
		      << (info.config.forward ? 0 : 1) << ',' << counters.bytes << ','
		      << counters.packets << ',' << counters.drops << ',' << counters.backlog_bytes
		      << ',' << counters.backlog_packets << ',' << counters.marks << '\n';
	}
	links_.check();
}

} // namespace landspeed
