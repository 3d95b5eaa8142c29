#include "backends/sim/runtime/faults.h"

#include <fmt/format.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <mutex>

#include "backends/sim/runtime/sanitizer.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

thread_local Warp* running_warp = nullptr;
thread_local sigjmp_buf* fault_return = nullptr;

#if defined(KILN_ASAN) || defined(KILN_TSAN) || !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__linux__)

FaultGuard::FaultGuard() = default;
FaultGuard::~FaultGuard() = default;

#else

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
constexpr size_t kStackBytes = 64 << 10;

struct sigaction before[3];  // what the signals did, written once
thread_local int fault_signal = 0;
thread_local const std::byte* fault_address = nullptr;

std::string text_of(Warp& w) {
  if (fault_signal == SIGFPE) return "an integer is divided by zero";
  const std::byte* limit = w.fiber->stack_limit();
  if (fault_address < limit && fault_address >= limit - (1 << 16))
    return fmt::format("the arrays of its threads need more than the {} bytes that there are for a warp", w.fiber->stack_top() - limit);
  Cluster& c = *w.block->cluster;
  std::ptrdiff_t offset = fault_address - w.block->shared;
  if (offset >= 0 && offset < (1 << SIM_RANK_SHIFT))
    return fmt::format("byte {} of shared memory is read or written, of which the block has {}", offset, c.launch.params.shared_bytes);
  return "memory is read or written that is not there";
}

// Where a warp goes on after a fault, at the top of its stack: what it had there is lost.
[[noreturn]] void end_warp(Warp* w) {
  running_warp = w;
  w->block->cluster->fail(fault_signal == SIGFPE ? "trap" : "out_of_bounds", *w, -1, 0, [w] { return text_of(*w); });
}

[[noreturn]] void end_agent(sigjmp_buf* where) { siglongjmp(*where, 1); }

// Makes the interrupted code go on in `function(argument)`, with the stack from `top` down.
void redirect(ucontext_t* context, void (*function)(), void* argument, uintptr_t top) {
  top &= ~uintptr_t{15};
#if defined(__x86_64__)
  context->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 8);  // as after a call
  context->uc_mcontext.gregs[REG_RDI] = reinterpret_cast<greg_t>(argument);
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
#else
  context->uc_mcontext.sp = top;
  context->uc_mcontext.regs[0] = reinterpret_cast<uintptr_t>(argument);
  context->uc_mcontext.pc = reinterpret_cast<uintptr_t>(function);
#endif
}

uintptr_t stack_pointer(const ucontext_t* context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RSP]) - 128;  // below what leaf functions use
#else
  return context->uc_mcontext.sp;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
  auto* c = static_cast<ucontext_t*>(context);
  fault_signal = signal;
  fault_address = static_cast<const std::byte*>(info->si_addr);
  bool is_of_code = info->si_code > 0;  // and not sent by someone
  if (is_of_code && running_warp) {
    Warp* w = std::exchange(running_warp, nullptr);
    redirect(c, reinterpret_cast<void (*)()>(&end_warp), w, reinterpret_cast<uintptr_t>(w->fiber->stack_top()));
  } else if (is_of_code && fault_return) {
    redirect(c, reinterpret_cast<void (*)()>(&end_agent), std::exchange(fault_return, nullptr), stack_pointer(c));
  } else {
    // Not ours: as if this had never been here. What faulted is run again and faults again.
    for (size_t i = 0; i < 3; ++i) {
      if (kSignals[i] == signal) sigaction(signal, &before[i], nullptr);
    }
    if (!is_of_code) raise(signal);
  }
}

void take_signals() {
  struct sigaction action = {};
  action.sa_sigaction = &handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &before[i]);
}

}  // namespace

FaultGuard::FaultGuard() {
  static std::once_flag once;
  std::call_once(once, take_signals);
  stack_t stack = {};
  sigaltstack(nullptr, &stack);
  if (!(stack.ss_flags & SS_DISABLE)) return;
  stack_ = std::make_unique<std::byte[]>(kStackBytes);
  stack = {};
  stack.ss_sp = stack_.get();
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
}

FaultGuard::~FaultGuard() {
  if (!stack_) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

#endif

}  // namespace kiln::sim
