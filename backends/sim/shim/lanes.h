// Threads of a CUDA text: each lane of a warp runs on a fiber of its own, which the warp's fiber resumes; where lanes meet, the warp calls
// the simulator's runtime for them.
#pragma once

#include <array>
#include <bit>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "backends/sim/device/text_abi.h"
#include "backends/sim/runtime/fiber.h"
#include "backends/sim/runtime/sim.h"
#include "backends/sim/shim/translate.h"

namespace kiln::sim {

// What a lane waits for the others for.
enum class Meet : uint8_t {
  kNone,
  kSyncWarp,
  kShuffle,
  kVote,
  kMatchAny,
  kMatchAll,
  kElect,
  kReduce,
  kBarrier,
  kBarrierArrive,
  kBarrierReduce,
  kClusterArrive,
  kClusterWait,
  kMma,
  kMmaSparse,
  kLoadMatrix,
  kStoreMatrix,
  kWmma,
  kWgmma,
  kSetMaxRegisters,
  kCopyWait,  // and below: for nobody
  kBulkWait,
  kActiveMask,  // after the others have gone as far as they can
  kTryWait,
  kSpin,
};

// A lane's part of an operation. Lanes with equal kind, members, form, mode, bytes and count meet.
struct Request {
  Meet kind = Meet::kNone;
  uint32_t members = 0;  // 0: all threads of the warp that have not exited
  int form = 0, mode = 0, bytes = 0, count = 0;
  int index = 0;
  bool predicate = false;
  uint32_t address = 0, metadata = 0;
  uint64_t value = 0, other = 0;
  void* d = nullptr;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  uint64_t result = 0;

  bool meets(const Request& r) const {
    return kind == r.kind && members == r.members && form == r.form && mode == r.mode && bytes == r.bytes && count == r.count;
  }
};

struct Thread : kiln_text::Lane {
  std::unique_ptr<Fiber> fiber;
  sim_warp* sim = nullptr;
  kiln_text::Body body = nullptr;
  void* const* args = nullptr;
  Request request;
};

using Threads = std::array<Thread, 32>;

template <class F>
void for_each_lane(sim_mask mask, F f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

constexpr size_t kThreadStackBytes = 128 << 10;

// One launch of a text's kernel: the stacks of its threads. sim_warp.forms[0] points to it.
class TextLaunch {
 public:
  explicit TextLaunch(std::span<const MatrixForm> forms, bool cooperative) : forms(forms), cooperative(cooperative) {}
  ~TextLaunch();
  // The threads of a warp that runs now; null when the system has no room for their stacks. Safe from any thread.
  Threads* threads_of(sim_warp* w);

  std::span<const MatrixForm> forms;
  bool cooperative;
  uint32_t workspace[4] = {};  // of a cooperative launch

  // Keeps the text of a failure; it lives as long as the launch. Safe from any thread.
  const char* keep(std::string message);

 private:
  std::mutex mutex_;
  std::list<std::string> messages_;
  std::map<sim_warp*, std::unique_ptr<Threads>> threads_;
};

// What the text calls (text_abi.h).
inline TextLaunch& launch_of(sim_warp* w) { return *static_cast<TextLaunch*>(const_cast<void*>(w->forms[0])); }

// Dynamic shared memory follows the static one of the text, aligned for every swizzle.
constexpr uint32_t dynamic_shared_offset(uint32_t static_bytes) { return (static_bytes + 1023) / 1024 * 1024; }

const kiln_text::Api& text_api();
void run_text_warp(void* warp, kiln_text::Body body, void* const* args, kiln_text::Lane** current, unsigned static_shared_bytes);

// Performs what the lanes of `mask` ask for, on the warp's fiber; `first` is one of them.
void perform(sim_warp* w, Threads& threads, sim_mask mask, const Request& first);
// Ends the kernel with a message. The frames that it leaves behind are never unwound, so the launch takes the message over; callers must
// not own other memory.
[[noreturn]] void fail(sim_warp* w, int lane, std::string message);

}  // namespace kiln::sim
