#include "cache/entry.h"

#include <cstring>

#define XXH_INLINE_ALL  // header-only: the SDK for plug-ins has no library to link
#include <xxhash.h>

namespace kiln::cache {

namespace {

constexpr std::string_view kMagic = "kilncach";
constexpr uint64_t kLayout = 1;
constexpr size_t kNumber = 8, kHeader = 8 + 2 * kNumber, kDigest = 16;

void append_number(std::string& out, uint64_t v) {
  for (size_t i = 0; i < kNumber; ++i) out.push_back(static_cast<char>(v >> (8 * i)));
}

uint64_t number_at(std::string_view bytes, size_t at) {
  uint64_t v = 0;
  for (size_t i = 0; i < kNumber; ++i) v |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return v;
}

}  // namespace

std::string text_of(const Key& key) {
  std::string out;
  out.reserve(key.source.size() + key.options.size() + 256);
  auto field = [&](std::string_view name, std::string_view value) {
    out += name;
    out += ' ' + std::to_string(value.size()) + '\n';
    out += value;
    out += '\n';
  };
  field("kiln", KILN_VERSION);
  field("layout", std::to_string(kLayout));
  field("format", key.format);
  field("architecture", key.architecture);
  field("toolchain", key.toolchain);
  field("options", key.options);
  field("source", key.source);
  return out;
}

std::string digest(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)};
}

std::string encode(std::string_view key_text, std::string_view payload) {
  std::string out;
  out.reserve(kHeader + key_text.size() + payload.size() + kDigest);
  out += kMagic;
  append_number(out, kLayout);
  append_number(out, key_text.size());
  out += key_text;
  out += payload;
  return out += digest(out);
}

Decoded decode(std::string_view entry) {
  if (entry.size() < kHeader + kDigest || !entry.starts_with(kMagic)) return {};
  size_t end = entry.size() - kDigest;
  if (digest(entry.substr(0, end)) != entry.substr(end)) return {};
  if (number_at(entry, kMagic.size()) != kLayout) return {State::kForeign, {}, {}};
  uint64_t key_size = number_at(entry, kMagic.size() + kNumber);
  if (key_size > end - kHeader) return {};
  return {State::kGood, entry.substr(kHeader, key_size), entry.substr(kHeader + key_size, end - kHeader - key_size)};
}

}  // namespace kiln::cache
