// A queue in one block of memory: what a path of a hundred thousand packets in flight needs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace landspeed
{

/// Elements are named by their position since the beginning; `head()` is the oldest one's.
template <typename T> class Ring
{
public:
	[[nodiscard]] bool empty() const
	{
		return head_ == tail_;
	}
	[[nodiscard]] uint64_t head() const
	{
		return head_;
	}
	[[nodiscard]] uint64_t tail() const
	{
		return tail_;
	}
	[[nodiscard]] T &at(uint64_t position)
	{
		return slots_[position & (slots_.size() - 1)];
	}
	[[nodiscard]] T &front()
	{
		return at(head_);
	}
	[[nodiscard]] T &back()
	{
		return at(tail_ - 1);
	}
	void push(T value)
	{
		if (tail_ - head_ == slots_.size())
			grow();
		at(tail_++) = std::move(value);
	}
	void pop()
	{
		at(head_++) = T{};
	}
	void pop_back()
	{
		at(--tail_) = T{};
	}
	/// Those from `position` on are named by one more.
	void insert(uint64_t position, T value)
	{
		push(T{});
		for (uint64_t i = tail_ - 1; i > position; i--)
			at(i) = std::move(at(i - 1));
		at(position) = std::move(value);
	}

private:
	void grow()
	{
		std::vector<T> larger(slots_.size() * 2);
		for (uint64_t i = head_; i < tail_; i++)
			larger[i & (larger.size() - 1)] = std::move(at(i));
		slots_.swap(larger);
	}

	std::vector<T> slots_ = std::vector<T>(64);
	uint64_t head_ = 0, tail_ = 0;
};

} // namespace landspeed
