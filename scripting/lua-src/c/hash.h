/*
** The hash by which strings are told apart, eight bytes at a time. Lua's own leaves out every other byte of the names
** of locks' channels, which then fall into few lists. Of a long string some words stand for all.
*/

#ifndef hash_h
#define hash_h

#include <string.h>

typedef unsigned long long Word;

static Word word_at (const char *s) {
  Word w;
  memcpy(&w, s, 8);
  return w;
}

static Word half_at (const char *s) {
  unsigned int w;
  memcpy(&w, s, 4);
  return w;
}

#define SPREAD 0x9E3779B97F4A7C15ULL
#define mix(h,w) ((h) = ((h) ^ (w)) * SPREAD, (h) ^= (h) >> 32)

static unsigned int hashtext (const char *s, size_t l) {
  Word h = l;
  if (l >= 8) {
    size_t step = l < 256 ? 8 : l >> 5;
    size_t i;
    for (i = 0; i + 8 < l; i += step)
      mix(h, word_at(s + i));
    mix(h, word_at(s + l - 8));
  }
  else if (l >= 4)
    mix(h, half_at(s) << 32 | half_at(s + l - 4));
  else if (l > 0)
    mix(h, cast(Word, cast(unsigned char, s[0])) << 16 | cast(Word, cast(unsigned char, s[l >> 1])) << 8 |
           cast(unsigned char, s[l - 1]));
  return cast(unsigned int, h * SPREAD >> 32);
}

#endif
