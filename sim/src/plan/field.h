// A place in the plan's JSON: what stands there, checked, and how an error names it.
#pragma once

#include "plan.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace landspeed
{

using Json = nlohmann::json;

/// A place in the plan, so that an error can name it. Whatever is not as wanted is a PlanError.
class Field
{
public:
	Field(const Json &value, std::string path) : value_(value), path_(std::move(path))
	{
	}

	[[noreturn]] void fail(const std::string &what) const;
	[[nodiscard]] bool has(const std::string &key) const;
	[[nodiscard]] Field at(const std::string &key) const;
	[[nodiscard]] std::vector<Field> items() const;
	[[nodiscard]] uint64_t integer(uint64_t least, uint64_t most) const;
	/// A time of at most 26 days: sums over every link of a plan stay far within 64 bits.
	[[nodiscard]] int64_t time_ns(uint64_t least = 0) const;
	[[nodiscard]] uint64_t rate_bps() const;
	[[nodiscard]] double number(double least, double most) const;
	[[nodiscard]] double probability() const;
	[[nodiscard]] bool boolean() const;
	[[nodiscard]] std::string text() const;
	/// The position of the text in a list of those allowed.
	[[nodiscard]] size_t one_of(const std::vector<std::string> &names) const;

private:
	[[nodiscard]] std::string join(const std::string &key) const;

	const Json &value_;
	std::string path_;
};

} // namespace landspeed
