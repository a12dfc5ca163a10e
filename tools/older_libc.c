// What programs that were compiled with a new C library need beside an older one, 2.28 or later, when they are linked
// for it (tools/wheel): names that their objects, libstdc++.a and libgcc_eh.a use and that came later.
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

char __libc_single_threaded = 0;  // 2.32: true while a program has one thread; false is always correct

// 2.33: functions before were macros around these, whose first argument is the version of the structure.
struct stat;
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);
int stat(const char* path, struct stat* into) { return __xstat(1, path, into); }
int lstat(const char* path, struct stat* into) { return __lxstat(1, path, into); }
int fstat(int file, struct stat* into) { return __fxstat(1, file, into); }
int stat64(const char* path, struct stat* into) { return __xstat(1, path, into); }
int lstat64(const char* path, struct stat* into) { return __lxstat(1, path, into); }
int fstat64(int file, struct stat* into) { return __fxstat(1, file, into); }

// 2.36
int getentropy(void*, size_t);
uint32_t arc4random(void) {
  uint32_t word = 0;
  while (getentropy(&word, sizeof word) != 0) {
  }
  return word;
}

// 2.35: how an exception finds the frames of a function. The structure is that of <dlfcn.h>; the unwinder reads the
// frames.
struct object {
  unsigned long long flags;
  void *start, *end, *map, *frames;
};
struct search {
  uintptr_t address;
  struct object* found;
};

static int contains(struct dl_phdr_info* loaded, size_t size, void* data) {
  struct search* search = data;
  const ElfW(Phdr)* frames = NULL;
  int inside = 0;
  (void)size;
  for (int i = 0; i < loaded->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &loaded->dlpi_phdr[i];
    const uintptr_t start = loaded->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) {
      frames = part;
    } else if (part->p_type == PT_LOAD && search->address - start < part->p_memsz) {
      inside = 1;
      search->found->start = (void*)start;
      search->found->end = (void*)(start + part->p_memsz);
    }
  }
  if (inside && frames) {
    search->found->frames = (void*)(loaded->dlpi_addr + frames->p_vaddr);
  }
  return inside && frames;
}

int find_object(void* address, struct object* found) __asm__("_dl_find_object");
int find_object(void* address, struct object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(contains, &search) ? 0 : -1;
}
