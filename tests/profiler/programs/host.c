/* Like an interpreter, links no MPI, and loads a module that does, with symbols that only the module sees. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void* module = dlopen(getenv("MODULE"), RTLD_NOW | RTLD_LOCAL);
  if (!module) return fprintf(stderr, "%s\n", dlerror()), 9;
  return ((int (*)(void))dlsym(module, "run"))();
}
