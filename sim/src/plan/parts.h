// The readers of the plan's parts. Each checks what can be known of its part alone.
#pragma once

#include "field.h"

namespace landspeed
{

Node node_read(const Field &field);
/// One end or the other is a node of the plan, by its name.
Link link_read(const Field &field, const std::vector<Node> &nodes);
/// `plan` has its nodes and links.
Flow flow_read(const Field &field, const Plan &plan);
Event event_read(const Field &field, size_t links);

/// The node whose name stands here.
size_t node_named(const Field &field, const std::vector<Node> &nodes);

} // namespace landspeed
