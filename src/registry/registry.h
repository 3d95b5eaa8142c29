// The registry's state, and what targets and loaders need of it. The public calls are in kiln/device_codegen.h.
//
// Reading: a target holds its kind's KindSlot; a resolution loads one counter (are backends still to be loaded?), one pointer (the list)
// and walks it. Lists only grow in place; anything else publishes a new one. Nothing that a reader may hold is ever freed. Writing: one
// mutex, never held while a callback or a backend runs. Loading: one recursive lock, so that a kind's first users wait for its backends,
// and a backend may register and resolve while it loads. A load is a transaction: what its thread changes meanwhile is undone when it
// fails.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/device_codegen.h"

namespace kiln::registry {

struct Entry {
  DeviceCodegen codegen;
  std::string origin;  // as in Candidate
  std::string path;    // the import path whose load registered it; empty for the program's own
  uint64_t order = 0;  // position in registration order; an entry that a failed load had removed returns to it
};

// A list of entries in registration order. `size` grows; an item is written before the size that covers it.
struct EntryList {
  explicit EntryList(size_t capacity) : items(capacity) {}
  const Entry* const* begin() const { return items.data(); }
  const Entry* const* end() const { return items.data() + size.load(std::memory_order_acquire); }

  std::vector<const Entry*> items;
  std::atomic<size_t> size = 0;
};

struct KindSlot;

// A backend that is loaded at the first use of one of its kinds.
struct LazyBackend {
  enum class State : uint8_t { kPending, kLoading, kLoaded };
  std::string path;
  State state = State::kPending;
  std::vector<KindSlot*> slots;
};

struct KindSlot {
  std::string kind;
  std::atomic<EntryList*> entries = nullptr;  // never null once published
  std::atomic<int> unloaded = 0;              // lazy backends that are not loaded yet
  std::atomic<unsigned> loads = 0;            // begun so far
  std::vector<LazyBackend*> lazy;             // in registration order; under the writer mutex
  KindSlot* next = nullptr;

  const EntryList& list() const { return *entries.load(std::memory_order_acquire); }
  bool needs_loading() const { return unloaded.load(std::memory_order_acquire) != 0; }
};

// The slot of a kind, made when there is none; never freed.
KindSlot* slot_for(std::string_view kind);
// Whether the kind has an entry, or a lazy backend.
bool kind_in_use(std::string_view kind);
// Those kinds, sorted.
std::vector<std::string> kinds_in_use();

// As the public register_device_codegen and register_lazy_device_codegen.
Status add_lazy(std::string_view kind, std::string_view import_path);
Result<const Entry*> add_entry(std::string_view kind, DeviceCodegen codegen, bool override);
// Takes out the entry that `wanted` accepts; false when the kind has none.
bool remove_entry(std::string_view kind, const std::function<bool(const Entry&)>& wanted);

// Loads the kind's pending backends; the first failure is returned. With a report all are tried: it gets every backend of the kind, in
// order. `loads`, where given, gets KindSlot::loads as it was before another load could begin.
Status load_pending(KindSlot& slot, std::vector<KindBackend>* report = nullptr, unsigned* loads = nullptr);
// The kind's backends as they are, in order, with path and state; loads nothing and waits for no load.
std::vector<KindBackend> backends_of(KindSlot& slot);

// What a resolution fails with when no entry of the kind matches.
Error none_matches(KindSlot& slot);

}  // namespace kiln::registry
