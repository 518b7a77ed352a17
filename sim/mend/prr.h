#pragma once

#include <ns3/tcp-recovery-ops.h>

#include <cstdint>

namespace landspeed
{

// Proportional Rate Reduction (RFC 9937), in 64 bits. ns-3's multiplies two 32-bit byte counts,
// which overflows when 4 GiB < delivered × ssthresh: at 10 Gbit/s × 264 ms after the first segment.
// Below the threshold ns-3 sends a segment more than has arrived with each acknowledgment (RFC
// 6937's slow start reduction bound), also while its retransmissions are lost. docs/ns3/03-prr.md.
class PrrRecovery : public ns3::TcpRecoveryOps
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	void EnterRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t dupAckCount,
			   uint32_t unAckDataCount, uint32_t deliveredBytes) override;
#ifdef NS3_TELLS_MORE
	void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t deliveredBytes,
			bool isDupAck) override;
#else
	void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t deliveredBytes) override;
#endif
	// Of the acknowledgment that comes next: the oldest data was acknowledged, and no further
	// loss was found (safeACK).
	void Learn(bool safe);
	void ExitRecovery(ns3::Ptr<ns3::TcpSocketState> tcb) override;
	void UpdateBytesSent(uint32_t bytesSent) override;
	ns3::Ptr<ns3::TcpRecoveryOps> Fork() override;

private:
	void recover(const ns3::Ptr<ns3::TcpSocketState> &tcb, uint32_t delivered_bytes);

	uint64_t delivered_ = 0;   // prr_delivered
	uint64_t sent_ = 0;        // prr_out
	uint64_t flight_size_ = 1; // RecoverFS
	bool safe_ = false;
};

} // namespace landspeed
