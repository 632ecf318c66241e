/* The hash that orders the keys of a table: few strings are ever a key, so it is made for those alone. */

#include "lua.h"

#include "lobject.h"
#include "lstate.h"
#include "lstring.h"

unsigned int luaS_hashkey (TString *ts) {
  const char *str = getstr(ts);
  size_t l = ts->tsv.len;
  unsigned int h = cast(unsigned int, l);
  for (; l > 0; l--)
    h = h ^ ((h<<5)+(h>>2)+cast(unsigned char, str[l-1]));
  ts->tsv.hash = h;
  ts->tsv.hashed = 1;
  return h;
}
