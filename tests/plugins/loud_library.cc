// A library that cannot be opened in secret: its constructor writes the file that KILN_TEST_LOUD_FILE names.
#include <cstdio>
#include <cstdlib>

__attribute__((constructor)) static void shout() {
  const char* path = std::getenv("KILN_TEST_LOUD_FILE");
  std::FILE* file = path ? std::fopen(path, "w") : nullptr;
  if (file) std::fclose(file);
}
