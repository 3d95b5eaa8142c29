// Whether a sanitizer watches this build: KILN_ASAN, KILN_TSAN. GCC and clang say it in different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define KILN_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define KILN_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define KILN_TSAN 1
#endif
#endif
