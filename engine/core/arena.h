// Arena: memory for text and arrays of trivial types that live as long as their graph. It is freed
// as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace evolve {

class Arena {
 public:
  // Returns a copy of the text that lives as long as the arena.
  std::string_view copy(std::string_view text) {
    std::span<char> out = allocate<char>(text.size());
    if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
    return {out.data(), out.size()};
  }
  template <typename T>
  std::span<T> copy(std::span<const T> items) {
    std::span<T> out = allocate<T>(items.size());
    std::copy(items.begin(), items.end(), out.begin());
    return out;
  }
  // Returns an array of `count` items, which the caller must fill.
  template <typename T>
  std::span<T> allocate(size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (count == 0) return {};
    void* memory = allocate_bytes(count * sizeof(T), alignof(T));
    return {static_cast<T*>(memory), count};
  }

 private:
  void* allocate_bytes(size_t size, size_t alignment) {
    constexpr size_t kBlock = 1 << 16;
    size_t padding = (alignment - reinterpret_cast<uintptr_t>(next_) % alignment) % alignment;
    if (next_ == nullptr || padding + size > left_) {
      left_ = std::max(kBlock, size);
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
      next_ = blocks_.back().get();  // aligned for every type by operator new
      padding = 0;
    }
    std::byte* out = next_ + padding;
    next_ = out + size;
    left_ -= padding + size;
    return out;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace evolve
