#pragma once

#include <memory>
#include <unordered_map>

namespace landspeed
{

// What a class of the library needs and its header, which fixes the layout, has no member for: one
// Value per object. Looking up the same object again is a comparison.
template <class Key, class Value> class SideTable
{
public:
	Value &Of(const Key *key)
	{
		if (key != last_key_) {
			std::unique_ptr<Value> &slot = values_[key];
			if (!slot)
				slot = std::make_unique<Value>();
			last_key_ = key;
			last_value_ = slot.get();
		}
		return *last_value_;
	}

	void Drop(const Key *key)
	{
		values_.erase(key);
		if (key == last_key_)
			last_key_ = nullptr;
	}

private:
	std::unordered_map<const Key *, std::unique_ptr<Value>> values_;
	const Key *last_key_ = nullptr;
	Value *last_value_ = nullptr;
};

} // namespace landspeed
