#include "field.h"

#include <algorithm>
#include <sstream>

namespace landspeed
{

void Field::fail(const std::string &what) const
{
	throw PlanError(path_ + ": " + what);
}

bool Field::has(const std::string &key) const
{
	return value_.contains(key) && !value_[key].is_null();
}

Field Field::at(const std::string &key) const
{
	if (!value_.is_object())
		fail("an object is wanted here");
	if (!has(key))
		throw PlanError(join(key) + " is missing");
	return {value_[key], join(key)};
}

std::vector<Field> Field::items() const
{
	if (!value_.is_array())
		fail("a list is wanted here");
	std::vector<Field> found;
	for (size_t i = 0; i < value_.size(); i++)
		found.emplace_back(value_[i], path_ + "[" + std::to_string(i) + "]");
	return found;
}

uint64_t Field::integer(uint64_t least, uint64_t most) const
{
	if (!value_.is_number_integer() || (value_ < 0))
		fail("a whole number of at least " + std::to_string(least) + " is wanted");
	const auto number = value_.get<uint64_t>();
	if (number < least || number > most)
		fail(std::to_string(number) + " is not between " + std::to_string(least) + " and " +
		     std::to_string(most));
	return number;
}

int64_t Field::time_ns(uint64_t least) const
{
	return static_cast<int64_t>(integer(least, INT64_MAX / 4096));
}

uint64_t Field::rate_bps() const
{
	return integer(1, 1'000'000'000'000'000);
}

double Field::number(double least, double most) const
{
	if (!value_.is_number() || value_.get<double>() < least || value_.get<double>() > most) {
		std::ostringstream range;
		range << least << " and " << most;
		fail("a number between " + range.str() + " is wanted");
	}
	return value_.get<double>();
}

double Field::probability() const
{
	return number(0, 1);
}

bool Field::boolean() const
{
	if (!value_.is_boolean())
		fail("true or false is wanted");
	return value_.get<bool>();
}

std::string Field::text() const
{
	if (!value_.is_string())
		fail("a string is wanted");
	return value_.get<std::string>();
}

size_t Field::one_of(const std::vector<std::string> &names) const
{
	const auto found = std::find(names.begin(), names.end(), text());
	if (found == names.end()) {
		std::string list;
		for (const auto &name : names)
			list += (list.empty() ? "" : ", ") + name;
		fail("'" + text() + "' is none of: " + list);
	}
	return static_cast<size_t>(found - names.begin());
}

std::string Field::join(const std::string &key) const
{
	return path_.empty() ? key : path_ + "." + key;
}

} // namespace landspeed
