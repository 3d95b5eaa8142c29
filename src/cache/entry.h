// The bytes of one entry of the cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/cache.h"

namespace kiln::cache {

// The key as text: every field with its name and size, so that no two keys have the same, and the versions of Kiln and of this layout.
std::string text_of(const Key& key);

// XXH3's 128 bits of `bytes`, big-endian (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Not for secrets: what tells keys
// apart is their text, which each entry holds.
std::string digest(std::string_view bytes);

// An entry: 8 bytes "kilncach", the layout's version and the key text's size as little-endian 64-bit numbers, the key's text, the payload,
// and the digest of all before.
std::string encode(std::string_view key_text, std::string_view payload);

enum class State {
  kGood,
  kForeign,  // of another layout's version: not ours to judge
  kDamaged,
};
struct Decoded {
  State state = State::kDamaged;
  std::string_view key_text, payload;  // views of the entry's bytes, when good
};
Decoded decode(std::string_view entry);

}  // namespace kiln::cache
