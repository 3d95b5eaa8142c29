// Faults of the processor while a kernel runs (memory that is not there, a division by zero, too little stack) end the kernel with an
// error, not the process.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <memory>

namespace kiln::sim {

struct Warp;

// The warp whose fiber this thread runs.
extern thread_local Warp* running_warp;

// For one thread, while it runs kernels: signals get a stack of their own. The first one in the process also takes over the signals; those
// that come outside of kernels go where they went before. Does nothing under a sanitizer, which takes these signals itself.
class FaultGuard {
 public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> stack_;  // null: the thread had one
};

extern thread_local sigjmp_buf* fault_return;

// Runs `f` on the thread's own stack; false when it was left by a fault. What its frames own is then lost.
template <class F>
bool without_fault(F f) {
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    fault_return = nullptr;
    return false;
  }
  fault_return = &here;
  f();
  fault_return = nullptr;
  return true;
}

}  // namespace kiln::sim
