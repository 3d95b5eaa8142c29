#include "registry/registry.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "registry/backend.h"
#include "registry/loader.h"
#include "registry/names.h"

namespace kiln::registry {

using State = LazyBackend::State;

namespace {

// One step of a load, as what undoes it.
struct Change {
  enum class What : uint8_t { kAppended, kRemoved, kLazyAdded, kLazyState };
  What what;
  KindSlot* slot = nullptr;
  const Entry* entry = nullptr;
  LazyBackend* lazy = nullptr;
  State before = State::kPending;
};

// A load that this thread is in the middle of.
struct Load {
  LazyBackend* lazy;
  std::string origin;
  Load* parent;
  std::vector<Change> changes;
};

thread_local Load* current_load = nullptr;

// Deques, since readers keep the addresses of what is in them.
struct Registry {
  std::mutex writer;
  std::recursive_mutex loader;
  std::atomic<KindSlot*> slots = nullptr;
  std::deque<KindSlot> slot_storage;
  std::deque<Entry> entries;
  std::deque<EntryList> lists;
  std::deque<LazyBackend> lazies;
  uint64_t next_order = 0;
};

}  // namespace

// ---- changes; all under the writer mutex -----------------------------------------------------------------------

static void note(Change change) {
  if (current_load) current_load->changes.push_back(change);
}

static KindSlot* find_slot(const Registry& r, std::string_view kind) {
  for (KindSlot* s = r.slots.load(std::memory_order_acquire); s; s = s->next) {
    if (s->kind == kind) return s;
  }
  return nullptr;
}

static void publish(Registry& r, KindSlot& slot, const std::vector<const Entry*>& items) {
  EntryList& list = r.lists.emplace_back(std::max<size_t>(4, items.size() * 2));
  std::copy(items.begin(), items.end(), list.items.begin());
  list.size.store(items.size(), std::memory_order_relaxed);
  slot.entries.store(&list, std::memory_order_release);
}

static KindSlot* make_slot(Registry& r, std::string_view kind) {
  if (KindSlot* slot = find_slot(r, kind)) return slot;
  KindSlot& slot = r.slot_storage.emplace_back();
  slot.kind = kind;
  slot.next = r.slots.load(std::memory_order_relaxed);
  publish(r, slot, {});
  r.slots.store(&slot, std::memory_order_release);
  return &slot;
}

static void append(Registry& r, KindSlot& slot, const Entry* entry) {
  EntryList& list = *slot.entries.load(std::memory_order_relaxed);
  size_t size = list.size.load(std::memory_order_relaxed);
  if (size == list.items.size()) {
    std::vector<const Entry*> items(list.begin(), list.end());
    items.push_back(entry);
    return publish(r, slot, items);
  }
  list.items[size] = entry;
  list.size.store(size + 1, std::memory_order_release);
}

static std::vector<const Entry*> without(const KindSlot& slot, const Entry* entry) {
  std::vector<const Entry*> items(slot.list().begin(), slot.list().end());
  std::erase(items, entry);
  return items;
}

static const Entry* find_entry(const KindSlot& slot, std::string_view name) {
  const EntryList& list = slot.list();
  auto it = std::find_if(list.begin(), list.end(), [&](const Entry* e) { return e->codegen.name == name; });
  return it == list.end() ? nullptr : *it;
}

// Undoes a removal, unless someone registered that name meanwhile.
static void put_back(Registry& r, KindSlot& slot, const Entry* entry) {
  if (find_entry(slot, entry->codegen.name)) return;
  std::vector<const Entry*> items(slot.list().begin(), slot.list().end());
  auto later = [&](const Entry* e) { return e->order > entry->order; };
  items.insert(std::find_if(items.begin(), items.end(), later), entry);
  publish(r, slot, items);
}

static void set_state(LazyBackend& lazy, State state) {
  int change = (state != State::kLoaded) - (lazy.state != State::kLoaded);
  lazy.state = state;
  for (KindSlot* slot : lazy.slots) slot->unloaded.fetch_add(change, std::memory_order_release);
}

static void attach(LazyBackend& lazy, KindSlot& slot) {
  lazy.slots.push_back(&slot);
  slot.lazy.push_back(&lazy);
  if (lazy.state != State::kLoaded) slot.unloaded.fetch_add(1, std::memory_order_release);
}

static void detach(LazyBackend& lazy, KindSlot& slot) {
  if (lazy.state != State::kLoaded) slot.unloaded.fetch_sub(1, std::memory_order_release);
  std::erase(lazy.slots, &slot);
  std::erase(slot.lazy, &lazy);
}

static void undo(Registry& r, const std::vector<Change>& changes) {
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    switch (it->what) {
      case Change::What::kAppended: publish(r, *it->slot, without(*it->slot, it->entry)); break;
      case Change::What::kRemoved: put_back(r, *it->slot, it->entry); break;
      case Change::What::kLazyAdded: detach(*it->lazy, *it->slot); break;
      case Change::What::kLazyState: set_state(*it->lazy, it->before); break;
    }
  }
}

static void add_lazy_locked(Registry& r, KindSlot& slot, std::string_view path) {
  auto it = std::find_if(r.lazies.begin(), r.lazies.end(), [&](const LazyBackend& l) { return l.path == path; });
  if (it == r.lazies.end()) {
    r.lazies.emplace_back().path = path;
    it = std::prev(r.lazies.end());
  }
  LazyBackend& lazy = *it;
  if (lazy.state == State::kLoaded) {
    note({Change::What::kLazyState, nullptr, nullptr, &lazy, lazy.state});
    set_state(lazy, State::kPending);
  }
  if (std::find(slot.lazy.begin(), slot.lazy.end(), &lazy) == slot.lazy.end()) {
    attach(lazy, slot);
    note({Change::What::kLazyAdded, &slot, nullptr, &lazy, lazy.state});
  }
}

// Made at the first use, with every manifest's kinds; never destroyed, since codegens may be used by other static destructors. Manifests
// are searched for first, outside the initialiser, whose lock must not be held meanwhile.
static Registry& registry() {
  const std::vector<Manifest>& all = manifests();
  static Registry& instance = [&all]() -> Registry& {
    auto* r = new Registry;
    for (bool with_key : {true, false}) {  // the more special first: the first match of a target serves it
      for (const Manifest& manifest : all) {
        if (manifest.key.empty() == with_key) continue;
        for (const std::string& kind : manifest.kinds) add_lazy_locked(*r, *make_slot(*r, kind), manifest.name);
      }
    }
    return *r;
  }();
  return instance;
}

// ---- calls -----------------------------------------------------------------------------------------------------

KindSlot* slot_for(std::string_view kind) {
  Registry& r = registry();
  if (KindSlot* slot = find_slot(r, kind)) return slot;
  std::lock_guard lock(r.writer);
  return make_slot(r, kind);
}

static bool in_use(const KindSlot& slot) { return !slot.lazy.empty() || slot.list().begin() != slot.list().end(); }

bool kind_in_use(std::string_view kind) {
  Registry& r = registry();
  std::lock_guard lock(r.writer);
  const KindSlot* slot = find_slot(r, kind);
  return slot && in_use(*slot);
}

std::vector<std::string> kinds_in_use() {
  Registry& r = registry();
  std::lock_guard lock(r.writer);
  std::vector<std::string> kinds;
  for (const KindSlot& slot : r.slot_storage) {
    if (in_use(slot)) kinds.push_back(slot.kind);
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

static Status check_kind(std::string_view kind) {
  if (is_name(kind)) return Ok{};
  return Error{Code::kInvalidArgument, "a target kind must be a name of letters, digits and _ - . that does not start with -", "", ""};
}

Result<const Entry*> add_entry(std::string_view kind, DeviceCodegen codegen, bool override) {
  if (Status s = check_kind(kind); !s) return s.error();
  if (codegen.name.empty()) return Error{Code::kInvalidArgument, "a device codegen needs a name", "", ""};
  Registry& r = registry();
  std::lock_guard lock(r.writer);
  KindSlot& slot = *make_slot(r, kind);
  const Entry* old = find_entry(slot, codegen.name);
  if (old && !override) {
    return Error{Code::kInvalidArgument, "device codegen '" + codegen.name + "' for target '" + slot.kind + "' is already registered", "",
                 "register it with override to replace it (" + old->origin + ")"};
  }
  Entry& entry = r.entries.emplace_back();
  entry.codegen = std::move(codegen);
  entry.origin = current_load ? current_load->origin : "registered by the program";
  if (current_load) entry.path = current_load->lazy->path;
  entry.order = r.next_order++;
  if (old) {  // one publication, so that no reader sees neither
    std::vector<const Entry*> items = without(slot, old);
    items.push_back(&entry);
    publish(r, slot, items);
    note({Change::What::kRemoved, &slot, old});
  } else {
    append(r, slot, &entry);
  }
  note({Change::What::kAppended, &slot, &entry});
  return &entry;
}

bool remove_entry(std::string_view kind, const std::function<bool(const Entry&)>& wanted) {
  Registry& r = registry();
  std::lock_guard lock(r.writer);
  KindSlot* slot = find_slot(r, kind);
  if (!slot) return false;
  for (const Entry* entry : slot->list()) {
    if (!wanted(*entry)) continue;
    publish(r, *slot, without(*slot, entry));
    note({Change::What::kRemoved, slot, entry});
    return true;
  }
  return false;
}

Status add_lazy(std::string_view kind, std::string_view import_path) {
  if (Status s = check_kind(kind); !s) return s;
  if (import_path.empty() || import_path.find('\0') != import_path.npos) {
    return Error{Code::kInvalidArgument, "an import path must not be empty or hold a NUL byte", "", ""};
  }
  Registry& r = registry();
  std::lock_guard lock(r.writer);
  add_lazy_locked(r, *make_slot(r, kind), import_path);
  return Ok{};
}

// Takes out what an earlier load of the same path registered, so that a backend may be loaded again.
static void begin_load(Registry& r, LazyBackend& lazy, Load& load) {
  std::lock_guard lock(r.writer);
  set_state(lazy, State::kLoading);
  for (KindSlot* slot : lazy.slots) slot->loads.fetch_add(1, std::memory_order_release);
  for (KindSlot& slot : r.slot_storage) {
    const EntryList& list = slot.list();  // stays as it is: removals publish other lists
    for (const Entry* entry : list) {
      if (entry->path != lazy.path) continue;
      publish(r, slot, without(slot, entry));
      load.changes.push_back({Change::What::kRemoved, &slot, entry});
    }
  }
}

static Status load(Registry& r, const KindSlot& slot, LazyBackend& lazy) {
  Load load{&lazy, origin_of(lazy.path), current_load, {}};
  begin_load(r, lazy, load);
  current_load = &load;
  Status status = run_backend(lazy.path);  // throws nothing
  current_load = load.parent;

  std::lock_guard lock(r.writer);
  if (!status) {
    undo(r, load.changes);
    set_state(lazy, State::kPending);
    Error error = status.error();
    error.message = "backend '" + lazy.path + "' for target '" + slot.kind + "' did not load: " + error.message;
    return error;
  }
  set_state(lazy, State::kLoaded);
  if (load.parent) {  // a failure of the outer load undoes this one too
    std::vector<Change>& outer = load.parent->changes;
    outer.insert(outer.end(), load.changes.begin(), load.changes.end());
    outer.push_back({Change::What::kLazyState, nullptr, nullptr, &lazy, State::kPending});
  }
  return status;
}

// ---- loading the backends of a kind ----------------------------------------------------------------------------

static KindBackend as_found(const LazyBackend& lazy) {
  KindBackend out;
  out.path = lazy.path;
  switch (lazy.state) {
    case State::kPending: out.state = KindBackend::State::kPending; break;
    case State::kLoading: out.state = KindBackend::State::kLoading; break;
    case State::kLoaded: out.state = KindBackend::State::kLoadedEarlier; break;
  }
  return out;
}

// Loads what is pending: nothing that was loaded while this thread waited, or that it is loading itself.
static void load_if_pending(Registry& r, const KindSlot& slot, LazyBackend& lazy, KindBackend& outcome) {
  if (outcome.state != KindBackend::State::kPending) return;
  Status status = load(r, slot, lazy);
  outcome.state = status ? KindBackend::State::kLoadedNow : KindBackend::State::kFailed;
  if (!status) outcome.error = status.error();
}

Status load_pending(KindSlot& slot, std::vector<KindBackend>* report, unsigned* loads) {
  Registry& r = registry();
  std::lock_guard loading(r.loader);
  for (size_t i = 0;; ++i) {  // by index: a loading backend may add more
    LazyBackend* lazy = nullptr;
    KindBackend outcome;
    {
      std::lock_guard lock(r.writer);
      if (i >= slot.lazy.size()) {
        if (loads) *loads = slot.loads.load(std::memory_order_relaxed);
        return Ok{};
      }
      lazy = slot.lazy[i];
      outcome = as_found(*lazy);
    }
    load_if_pending(r, slot, *lazy, outcome);
    if (outcome.error && !report) return *outcome.error;
    if (report) report->push_back(std::move(outcome));
  }
}

std::vector<KindBackend> backends_of(KindSlot& slot) {
  std::lock_guard lock(registry().writer);
  std::vector<KindBackend> out;
  for (const LazyBackend* lazy : slot.lazy) out.push_back(as_found(*lazy));
  return out;
}

}  // namespace kiln::registry
