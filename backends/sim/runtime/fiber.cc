#include "backends/sim/runtime/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "backends/sim/runtime/sanitizer.h"

#ifdef KILN_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef KILN_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#define KILN_UCONTEXT 1
#endif

// kiln_sim_switch(from, to): keeps what a call must keep on the stack, stores the stack pointer in *from, and goes on where `to` stood.
// Rounding modes stay as they are: nothing here changes them.
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl kiln_sim_switch
.hidden kiln_sim_switch
.type kiln_sim_switch, @function
kiln_sim_switch:
  .cfi_startproc
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size kiln_sim_switch, .-kiln_sim_switch

// The first return of a fiber comes here, with the fiber in rbx and the function in r12; nothing called it.
.p2align 4
.globl kiln_sim_begin
.hidden kiln_sim_begin
.type kiln_sim_begin, @function
kiln_sim_begin:
  .cfi_startproc
  .cfi_undefined rip
  endbr64
  movq %rbx, %rdi
  call *%r12
  ud2
  .cfi_endproc
.size kiln_sim_begin, .-kiln_sim_begin
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl kiln_sim_switch
.hidden kiln_sim_switch
.type kiln_sim_switch, %function
kiln_sim_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size kiln_sim_switch, .-kiln_sim_switch

// The first return of a fiber comes here, with the fiber in x19 and the function in x20.
.p2align 4
.globl kiln_sim_begin
.hidden kiln_sim_begin
.type kiln_sim_begin, %function
kiln_sim_begin:
  mov x0, x19
  blr x20
  brk #0
.size kiln_sim_begin, .-kiln_sim_begin
)");
#endif
#ifndef KILN_UCONTEXT
extern "C" void kiln_sim_begin();
extern "C" void kiln_sim_switch(void** from, void* to);
#endif

namespace kiln::sim {

struct Fiber::Context {
#ifdef KILN_UCONTEXT
  ucontext_t fiber, resumer;
#endif
#ifdef KILN_TSAN
  void *fiber = nullptr, *resumer = nullptr;
#endif
#ifdef KILN_ASAN
  const void* resumer_stack = nullptr;
  size_t resumer_bytes = 0;
#endif
};

Fiber::Fiber(size_t stack_bytes) : context_(std::make_unique<Context>()) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (stack_bytes + page - 1) / page * page;
  void* memory = mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  if (mprotect(memory, page, PROT_NONE) != 0) {
    munmap(memory, bytes_ + page);
    return;
  }
  stack_ = static_cast<std::byte*>(memory) + page;
}

Fiber::~Fiber() {
#ifdef KILN_TSAN
  if (context_->fiber) __tsan_destroy_fiber(context_->fiber);
#endif
  if (!stack_) return;
#ifdef KILN_ASAN
  __asan_unpoison_memory_region(stack_, bytes_);
#endif
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  munmap(stack_ - page, bytes_ + page);
}

void Fiber::start(void (*function)(void*), void* argument) {
  function_ = function;
  argument_ = argument;
  bool waits_in_run = started_ && finished_;
  finished_ = false;
  if (waits_in_run) return;
  started_ = true;
#ifdef KILN_ASAN
  __asan_unpoison_memory_region(stack_, bytes_);  // frames that were left unfinished
#endif
#ifdef KILN_TSAN
  if (context_->fiber) __tsan_destroy_fiber(context_->fiber);
  context_->fiber = __tsan_create_fiber(0);
#endif
  [[maybe_unused]] std::byte* top = stack_ + bytes_;
#if defined(__x86_64__)
  auto* frame = reinterpret_cast<void**>(top) - 9;  // r15 r14 r13 r12 rbx rbp, where to return to, and 16 bytes to align
  std::memset(frame, 0, 9 * sizeof(void*));
  frame[3] = reinterpret_cast<void*>(&run);
  frame[4] = this;
  frame[6] = reinterpret_cast<void*>(&kiln_sim_begin);
  sp_ = frame;
#elif defined(__aarch64__)
  auto* frame = reinterpret_cast<void**>(top) - 20;
  std::memset(frame, 0, 20 * sizeof(void*));
  frame[0] = this;
  frame[1] = reinterpret_cast<void*>(&run);
  frame[11] = reinterpret_cast<void*>(&kiln_sim_begin);
  sp_ = frame;
#else
  getcontext(&context_->fiber);
  context_->fiber.uc_stack.ss_sp = stack_;
  context_->fiber.uc_stack.ss_size = bytes_;
  context_->fiber.uc_link = nullptr;
  auto self = reinterpret_cast<uintptr_t>(this);
  void (*begin)(unsigned, unsigned) = [](unsigned low, unsigned high) {
    run(reinterpret_cast<Fiber*>(static_cast<uintptr_t>(low) | static_cast<uintptr_t>(static_cast<uint64_t>(high) << 32)));
  };
  makecontext(&context_->fiber, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(static_cast<uint64_t>(self) >> 32));
#endif
}

void Fiber::run(Fiber* fiber) {
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber->context_->resumer_stack, &fiber->context_->resumer_bytes);
#endif
  while (true) {
    fiber->function_(fiber->argument_);
    fiber->finished_ = true;
    fiber->suspend();  // until it is started and resumed again
  }
}

void Fiber::resume() {
#ifdef KILN_TSAN
  context_->resumer = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(context_->fiber, 0);
#endif
#ifdef KILN_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_, bytes_);
#endif
#ifdef KILN_UCONTEXT
  swapcontext(&context_->resumer, &context_->fiber);
#else
  kiln_sim_switch(&resumer_sp_, sp_);
#endif
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
#ifdef KILN_TSAN
  __tsan_switch_to_fiber(context_->resumer, 0);
#endif
#ifdef KILN_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, context_->resumer_stack, context_->resumer_bytes);
#endif
#ifdef KILN_UCONTEXT
  swapcontext(&context_->fiber, &context_->resumer);
#else
  kiln_sim_switch(&sp_, resumer_sp_);
#endif
#ifdef KILN_ASAN
  __sanitizer_finish_switch_fiber(fake, &context_->resumer_stack, &context_->resumer_bytes);
#endif
}

}  // namespace kiln::sim
