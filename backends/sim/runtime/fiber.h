// Fibers: functions on stacks of their own that one thread runs in turn. A switch takes about 5 ns (x86-64 and AArch64; elsewhere
// ucontext).
#pragma once

#include <cstddef>
#include <memory>

namespace kiln::sim {

// A stack and where its function stands. For the thread that resumes it; between resumes it may move to another thread. The function
// itself may be left unfinished for good: what its frames own is then not destroyed.
class Fiber {
 public:
  // `stack_bytes` is rounded up to whole pages, which take memory once they are touched; a page that must not be touched lies below.
  // is_valid() is false when the system has no room for it.
  explicit Fiber(size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  bool is_valid() const { return stack_ != nullptr; }

  // The next resume() calls `function(argument)` on the fiber, whatever it ran before.
  void start(void (*function)(void*), void* argument);
  // Runs the fiber until it suspends or its function returns; not from a fiber.
  void resume();
  // Back to whoever resumed it; only from the fiber itself. The next resume() returns from here.
  void suspend();
  bool is_finished() const { return finished_; }  // nothing to resume

  // Its function may use the addresses from stack_limit() up to stack_top(); the page below must not be touched.
  std::byte* stack_limit() const { return stack_; }
  std::byte* stack_top() const { return stack_ + bytes_; }

 private:
  static void run(Fiber* fiber);
  struct Context;  // of the fallback and of the sanitizers

  std::byte* stack_ = nullptr;  // lowest usable byte
  size_t bytes_ = 0;
  void* sp_ = nullptr;          // where the fiber stands
  void* resumer_sp_ = nullptr;  // and where its resumer does
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool started_ = false, finished_ = true;
  std::unique_ptr<Context> context_;
};

}  // namespace kiln::sim
