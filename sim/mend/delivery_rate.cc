#include "mend/delivery_rate.h"

#include "mend/scoreboard.h"

#include <ns3/simulator.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(DeliveryRate);

TypeId DeliveryRate::GetTypeId()
{
	static TypeId id = TypeId("landspeed::DeliveryRate")
			       .SetParent<TcpRateOps>()
			       .AddConstructor<DeliveryRate>();
	return id;
}

void DeliveryRate::SkbSent(TcpTxItem *skb, bool isStartOfTransmission)
{
	if (isStartOfTransmission) // what was idle before is not in the interval
		rate_.m_firstSentTime = rate_.m_deliveredTime = Simulator::Now();
	auto &sent = skb->GetRateInformation();
	sent.m_firstSent = rate_.m_firstSentTime;
	sent.m_deliveredTime = rate_.m_deliveredTime;
	sent.m_delivered = rate_.m_delivered;
	sent.m_isAppLimited = limited_until_ > 0;
}

void DeliveryRate::SkbDelivered(TcpTxItem *skb)
{
	const auto &segment = *static_cast<const SentSegment *>(skb);
	auto &sent = skb->GetRateInformation();
	if (sent.m_deliveredTime == Time::Max())
		return; // counted when it was sacked
	rate_.m_delivered += segment.size;
	rate_.m_deliveredTime = Simulator::Now();
	rate_.m_txItemDelivered = static_cast<uint32_t>(sent.m_delivered);
	// Of those sent at the same time, the later one.
	if (!taken_ || segment.last_sent >= rate_.m_firstSentTime) {
		taken_ = true;
		before_ = sent.m_delivered;
		sample_.m_priorDelivered = static_cast<uint32_t>(sent.m_delivered);
		sample_.m_priorTime = sent.m_deliveredTime;
		sample_.m_isAppLimited = sent.m_isAppLimited;
		sample_.m_ackElapsed = Simulator::Now() - sent.m_deliveredTime;
		sample_.m_sendElapsed = segment.last_sent - sent.m_firstSent;
		rate_.m_firstSentTime = segment.last_sent;
	}
	sent.m_deliveredTime = Time::Max();
}

void DeliveryRate::CalculateAppLimited(uint32_t cWnd, uint32_t in_flight, uint32_t segmentSize,
				       const SequenceNumber32 &tailSeq,
				       const SequenceNumber32 &nextTx, uint32_t lostOut,
				       uint32_t retransOut)
{
	if (tailSeq - nextTx < static_cast<int32_t>(segmentSize) && in_flight < cWnd &&
	    lostOut <= retransOut)
		limited_until_ = std::max<uint64_t>(rate_.m_delivered + in_flight, 1);
	rate_.m_appLimited = static_cast<uint32_t>(limited_until_);
}

const TcpRateOps::TcpRateSample &DeliveryRate::GenerateSample(uint32_t delivered, uint32_t lost,
							      bool is_sack_reneg,
							      uint32_t priorInFlight,
							      const Time &minRtt)
{
	if (rate_.m_delivered > limited_until_)
		limited_until_ = 0;
	rate_.m_appLimited = static_cast<uint32_t>(limited_until_);
	const bool known = taken_ && !is_sack_reneg;
	sample_.m_ackedSacked = delivered;
	sample_.m_bytesLoss = lost;
	sample_.m_priorInFlight = priorInFlight;
	sample_.m_delivered = known ? static_cast<int32_t>(rate_.m_delivered - before_) : -1;
	// Segments are sent at least as slowly as they are acknowledged, or the other way round:
	// the slower of both is the path's rate.
	sample_.m_interval =
	    known ? std::max(sample_.m_sendElapsed, sample_.m_ackElapsed) : Seconds(0);
	if (sample_.m_interval < minRtt) // shorter than a round trip: not to be trusted
		sample_.m_interval = Seconds(0);
	sample_.m_deliveryRate = DataRate(0);
	if (sample_.m_interval.IsStrictlyPositive())
		sample_.m_deliveryRate = DataRate(static_cast<uint64_t>(
		    sample_.m_delivered * 8.0 / sample_.m_interval.GetSeconds()));
	taken_ = false;
	return sample_;
}

const TcpRateOps::TcpRateConnection &DeliveryRate::GetConnectionRate()
{
	return rate_;
}

} // namespace landspeed
