#pragma once

#include <ns3/tcp-rate-ops.h>

#include <cstdint>

namespace landspeed
{

// How fast data is delivered, of which BBR makes its bandwidth (draft-cheng-iccrg-delivery-rate-
// estimation, and Linux's net/ipv4/tcp_rate.c since 5.18): of the segments that an acknowledgment
// covers, the one sent last makes the sample. ns-3 3.37, as Linux before, takes the first of those
// that were sent with as much delivered, and the next sample begins when that one was sent: with
// two segments to an acknowledgment and no more under way, it comes to two thirds of the rate.
// docs/ns3/16-delivery-rate.md. Its items are those of a SendBuffer.
class DeliveryRate : public ns3::TcpRateOps
{
public:
	static ns3::TypeId GetTypeId();

	void SkbSent(ns3::TcpTxItem *skb, bool isStartOfTransmission) override;
	void SkbDelivered(ns3::TcpTxItem *skb) override;
	void CalculateAppLimited(uint32_t cWnd, uint32_t in_flight, uint32_t segmentSize,
				 const ns3::SequenceNumber32 &tailSeq,
				 const ns3::SequenceNumber32 &nextTx, uint32_t lostOut,
				 uint32_t retransOut) override;
	const TcpRateSample &GenerateSample(uint32_t delivered, uint32_t lost, bool is_sack_reneg,
					    uint32_t priorInFlight,
					    const ns3::Time &minRtt) override;
	const TcpRateConnection &GetConnectionRate() override;

private:
	TcpRateConnection rate_;
	TcpRateSample sample_;
	uint64_t before_ = 0; // delivered when the sample's segment was sent
	bool taken_ = false;  // a segment made the sample since the last acknowledgment
	uint64_t limited_until_ =
	    0; // what is delivered up to there was application-limited; 0: it is not
};

} // namespace landspeed
