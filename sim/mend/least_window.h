// The window below which a congestion control does not go, as Linux's modules have it.
#pragma once

#include <cstdint>

namespace landspeed
{

constexpr uint32_t LEAST_SEGMENTS = 2;

} // namespace landspeed
