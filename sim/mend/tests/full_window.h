// A socket's state with a full window of a long path, for tests of congestion controls.
#pragma once

#include <ns3/nstime.h>
#include <ns3/tcp-socket-state.h>

#include <cstdint>

constexpr uint32_t MSS = 8948;
constexpr uint32_t WINDOW_SEGMENTS = 40'000;

inline ns3::Ptr<ns3::TcpSocketState> FullWindow()
{
	auto state = ns3::CreateObject<ns3::TcpSocketState>();
	state->m_segmentSize = MSS;
	state->m_cWnd = WINDOW_SEGMENTS * MSS;
	state->m_lastRtt = ns3::MilliSeconds(264);
	return state;
}
